#include "broadloom/envs/check_entry.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace broadloom {
namespace {

constexpr std::size_t kLongestId = 100;  // a run's folder has it in its name, with room for more

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Folders of runs are named after it, and tables, TOML and the shell show it.
Status check_id(const std::string& id) {
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || std::string_view("-_.").find(c) != std::string_view::npos;
  };
  if (!id.empty() && id.size() <= kLongestId && is_letter_or_digit(id.front()) &&
      std::all_of(id.begin(), id.end(), allowed)) {
    return {};
  }
  return invalid(fmt::format(
      "an environment cannot be registered as '{}': folders are named after it; expected "
      "letters, digits, '-', '_' and '.', a letter or digit first, at most {} in all, "
      "such as 'Hover-v0'",
      id, kLongestId));
}

Status check_functions(const EnvEntry& entry) {
  const char* missing = !entry.make        ? "factory (make)"
                        : !entry.make_spec ? "make_spec"
                        : !entry.options   ? "options"
                                           : nullptr;
  if (missing == nullptr) return {};
  return invalid(
      fmt::format("environment '{}' cannot be registered: its {} is empty; give it a function, or "
                  "let make_entry<Env>() or simulator_entry() make the entry",
                  entry.spec.id, missing));
}

Status check_space(const std::string& id, const char* name, const Space& space) {
  const auto refuse = [&](const std::string& why) {
    return invalid(
        fmt::format("environment '{}' cannot be registered: its {} space {}; correct its "
                    "spec()",
                    id, name, why));
  };
  if (space.size < 1) return refuse(fmt::format("has size {}, expected at least 1", space.size));
  if (space.kind == SpaceKind::kDiscrete) return {};
  const std::size_t size = static_cast<std::size_t>(space.size);
  if (space.low.size() != size || space.high.size() != size) {
    return refuse(
        fmt::format("is a Box of {} numbers with {} lower and {} upper bounds, expected "
                    "one of each a number",
                    size, space.low.size(), space.high.size()));
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (space.low[i] <= space.high[i]) continue;
    return refuse(fmt::format("has bounds [{}, {}] at number {}, expected low <= high",
                              space.low[i], space.high[i], i));
  }
  return {};
}

}  // namespace

Status check_entry(const EnvEntry& entry) {
  BROADLOOM_TRY(check_functions(entry));
  const Result<EnvSpec> made = entry.make_spec({});
  if (!made.ok()) {
    return {
        made.status().kind(),
        fmt::format("environment '{}' cannot be registered, its default options are refused: {}",
                    entry.spec.id, made.status().message())};
  }
  BROADLOOM_TRY(check_id(entry.spec.id));
  const EnvSpec& spec = made.value();
  if (spec.id != entry.spec.id) {
    return invalid(fmt::format(
        "an environment cannot be registered under two ids: EnvEntry::spec says '{}', make_spec() "
        "says '{}'; make both the same",
        entry.spec.id, spec.id));
  }
  BROADLOOM_TRY(check_space(spec.id, "observation", spec.observation));
  return check_space(spec.id, "action", spec.action);
}

}  // namespace broadloom
