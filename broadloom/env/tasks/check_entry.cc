#include "broadloom/env/tasks/check_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "broadloom/env/frame_stack.h"
#include "broadloom/env/plugins/library.h"

namespace broadloom {
namespace {

constexpr int kMostNamespaces = 2;       // "gymnasium/ALE/Pong-v5", without a package
constexpr std::size_t kLongestId = 100;  // fits into the name of a run's folder
constexpr int kMostChoices = 1 << 20;    // of one choice of an action

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || std::string_view("-_.").find(c) != std::string_view::npos;
  };
  return !name.empty() && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), allowed);
}

// Whether `id` is "plugin:<file>:<task>". The file was found before. Names of runs replace
// characters that files cannot have by '_' (cli/run_dir.h).
bool is_plugin_task(const std::string& id) {
  const std::size_t colon = id.rfind(':');
  return id.starts_with(kPluginPrefix) && colon >= kPluginPrefix.size() &&
         is_name(std::string_view(id).substr(colon + 1));
}

// Ids appear in names of folders, in tables, TOML and shell commands. Namespaces as in Gymnasium,
// "MinAtar/Breakout-v1", are allowed; names of folders have '_' there (cli/run_dir.h).
Status check_id(const std::string& id) {
  if (is_plugin_task(id)) return {};
  std::string_view rest = id;
  int namespaces = 0;
  bool named = true, has_package = false;
  while (named) {
    // After a library's name, a package may follow: "gymnasium/package:Mine/Task-v0".
    const std::size_t end = rest.find_first_of(namespaces == 1 && !has_package ? "/:" : "/");
    named = is_name(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    has_package |= rest[end] == ':';
    if (rest[end] == '/') named = named && ++namespaces <= kMostNamespaces;
    rest.remove_prefix(end + 1);
  }
  if (named && id.size() <= kLongestId) return {};
  return invalid(fmt::format(
      "an environment cannot be registered as '{}', since folders get its name; expected letters, "
      "digits, '-', '_' and '.', a letter or digit first, after at most two namespaces that end "
      "with '/'; at most {} characters in all, such as 'Hover-v0' or 'Mine/Hover-v0'",
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

bool may_be_bytes(const std::string& name, const Space& space) {
  return name != "action" && space.kind == SpaceKind::kBox;
}

std::int64_t product_of(const std::vector<int>& extents) {
  std::int64_t product = 1;
  for (const int extent : extents) product *= extent;
  return product;
}

// Describes the fault of a frame stack; empty: none.
std::string find_frame_fault(const Space& space) {
  if (space.frames == 1) return {};
  const std::size_t dimensions = space.extents().size();
  const int last = space.extents().back();
  const int most = space.dtype == Dtype::kU8 ? kMostPixelNumbers : kMostPixelFloats;
  if (space.kind != SpaceKind::kBox || (dimensions != 1 && dimensions != 3) || space.frames < 1 ||
      space.frames > kMostFrames || last % space.frames != 0 || last > most) {
    return fmt::format(
        "declares a stack of {} frames, expected 1 to {} frames of a Box, [height, width, "
        "frames x channels] or [frames x numbers], with at most {} numbers per pixel",
        space.frames, kMostFrames, most);
  }
  return {};
}

// For a space with several choices. refuse: makes the error from a reason.
template <class Refuse>
Status check_choices(const Space& space, const std::string& name, const Refuse& refuse) {
  const bool is_hybrid = space.kind == SpaceKind::kHybrid;
  const char* const kind = is_hybrid ? "hybrid" : "MultiDiscrete";
  if (name != "action") return refuse(fmt::format("is {}, expected Discrete or a Box", kind));
  if (is_hybrid && (space.leading_choices < 1 || space.leading_choices >= space.size)) {
    return refuse(
        fmt::format("is hybrid with {} leading choices among {} numbers, expected at "
                    "least one choice, and a number after them",
                    space.leading_choices, space.size));
  }
  if (is_hybrid && space.dtype != Dtype::kF32)
    return refuse("is hybrid of uint8, expected float32");
  for (std::size_t i = 0; i < static_cast<std::size_t>(space.choice_count()); ++i) {
    const float highest = space.high[i];
    if (space.low[i] == 0.0f && highest >= 0.0f && highest < kMostChoices &&
        highest == std::floor(highest))
      continue;
    return refuse(
        fmt::format("is {} with number {} from {} to {}, expected choices from 0 to a whole number "
                    "of at most {}",
                    kind, i, space.low[i], highest, kMostChoices - 1));
  }
  return {};
}

// As in the source of an exported policy.
std::string plain_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

// "" if the groups of a dictionary are well described.
std::string find_group_fault(const Space& space, std::string_view name) {
  if (space.groups.empty()) return {};
  if (name != "observation") return "has groups, expected them for observations alone";
  if (space.dtype != Dtype::kF32 || space.extents().size() != 1 || space.frames != 1) {
    return "has groups, expected one dimension of float32 without frames";
  }
  int next = 0;
  for (const ObservationGroup& group : space.groups) {
    if (!is_name(group.name)) {
      return fmt::format("has a group '{}', expected a name of letters, digits, '-', '_' and '.'",
                         group.name);
    }
    const auto same = [&](const ObservationGroup& other) {
      return plain_name(other.name) == plain_name(group.name);
    };
    if (std::count_if(space.groups.begin(), space.groups.end(), same) > 1) {
      return fmt::format(
          "has two groups with the name '{}', expected names that differ in letters or digits",
          group.name);
    }
    const bool bytes = group.dtype == Dtype::kU8;
    const bool is_choice = group.dtype == Dtype::kI64 && group.shape.size() == 1;
    const bool is_known = bytes || is_choice || group.dtype == Dtype::kF32;
    const bool has_scale =
        bytes ? group.full_scale >= 1.0f && group.full_scale <= 255.0f : group.full_scale == 1.0f;
    if (!is_known || !has_scale || group.first != next || group.size < 1 ||
        product_of(group.shape) != group.size) {
      return fmt::format(
          "has a group '{}' of shape ({}) at number {}, with {} numbers divided by {:g}; expected "
          "float32, uint8 or one-hot at number {}, as many as its shape says, divided by 1 or up "
          "to 255",
          group.name, fmt::join(group.shape, ", "), group.first, group.size, group.full_scale,
          next);
    }
    next += group.size;
  }
  if (next == space.size) return {};
  return fmt::format("has {} numbers, but its groups have {}", space.size, next);
}

Status check_space(const std::string& id, const char* name, const Space& space) {
  const auto refuse = [&](const std::string& reason) {
    return invalid(
        fmt::format("environment '{}' cannot be registered: its {} space {}; correct its "
                    "spec()",
                    id, name, reason));
  };
  if (space.size < 1) return refuse(fmt::format("has size {}, expected at least 1", space.size));
  if (space.dtype != Dtype::kF32 && (space.dtype != Dtype::kU8 || !may_be_bytes(name, space))) {
    return refuse("has a wrong dtype, expected float32, or uint8 for a Box of observations");
  }
  if (space.masked && (space.kind == SpaceKind::kBox || std::string_view(name) != "action")) {
    return refuse("is masked, which only choices of actions can be");
  }
  if (space.kind == SpaceKind::kDiscrete) return {};
  if (product_of(space.extents()) != space.size) {
    return refuse(fmt::format("has the shape ({}), which is not {} numbers",
                              fmt::join(space.extents(), ", "), space.size));
  }
  if (const std::string wrong = find_frame_fault(space); !wrong.empty()) return refuse(wrong);
  const std::size_t size = static_cast<std::size_t>(space.size);
  if (space.low.size() != size || space.high.size() != size) {
    return refuse(fmt::format(
        "has {} numbers with {} lower and {} upper bounds, expected one of each per number", size,
        space.low.size(), space.high.size()));
  }
  if (space.kind == SpaceKind::kMultiDiscrete || space.kind == SpaceKind::kHybrid) {
    BROADLOOM_TRY(check_choices(space, name, refuse));
  }
  if (const std::string wrong = find_group_fault(space, name); !wrong.empty()) return refuse(wrong);
  for (auto i = static_cast<std::size_t>(space.choice_count()); i < size; ++i) {
    const bool bytes = space.dtype == Dtype::kU8;
    if (bytes && !(space.low[i] >= 0.0f && space.high[i] <= 255.0f)) {
      return refuse(
          fmt::format("is uint8 and has bounds [{}, {}] at number {}, expected bounds in [0, 255]",
                      space.low[i], space.high[i], i));
    }
    if (space.low[i] <= space.high[i]) continue;
    return refuse(fmt::format("has bounds [{}, {}] at number {}, expected low <= high",
                              space.low[i], space.high[i], i));
  }
  return {};
}

// A Box of size 0 means no critic observation.
Status check_critic_space(const EnvSpec& spec) {
  const Space& space = spec.critic_observation;
  if (space.size == 0 && space.kind == SpaceKind::kBox) return {};
  if (space.kind == SpaceKind::kBox) return check_space(spec.id, "critic observation", space);
  return invalid(
      fmt::format("environment '{}' cannot be registered: its critic observation is Discrete, "
                  "expected a Box; let observe_critic() write it one-hot",
                  spec.id));
}

const std::string& name_of(const std::string& name) { return name; }
const std::string& name_of(const RewardTerm& term) { return term.name; }
const std::string& name_of(const Measure& measure) { return measure.name; }

// Names become columns of logs and keys of records. what: for the message, "says that episodes end
// by"
template <class Entry>
Status check_names(const EnvSpec& spec, const char* what, const std::vector<Entry>& entries,
                   const char* besides = "") {
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const std::string& name = name_of(*entry);
    const bool is_first = std::none_of(entries.begin(), entry,
                                       [&](const Entry& other) { return name_of(other) == name; });
    if (is_name(name) && is_first) continue;
    return invalid(
        fmt::format("environment '{}' cannot be registered: it {} '{}', expected different names "
                    "of letters, digits, '-', '_' and '.'{}",
                    spec.id, what, name, besides));
  }
  return {};
}

// Steps index this list, and truncated episodes end by its last reason.
Status check_reasons(const EnvSpec& spec) {
  constexpr std::size_t kMostOwn = 127;  // an EpisodeEnd holds one byte
  BROADLOOM_TRY(check_names(spec, "says that episodes end by", spec.end_reasons,
                            ", none of them time_limit"));
  if (!spec.end_reasons.empty() && spec.end_reasons.back() == "time_limit" &&
      spec.end_reasons.size() <= kMostOwn + 1) {
    return {};
  }
  return invalid(
      fmt::format("environment '{}' cannot be registered: its end_reasons are [{}], expected at "
                  "most {} reasons of its own, then 'time_limit'",
                  spec.id, fmt::join(spec.end_reasons, ", "), kMostOwn));
}

bool is_text(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Records store weights as numbers and units as text.
Status check_weights_and_units(const EnvSpec& spec) {
  for (const RewardTerm& term : spec.reward_terms) {
    if (std::isfinite(term.weight)) continue;
    return invalid(fmt::format(
        "environment '{}' cannot be registered: its reward term '{}' has a weight of {}, expected "
        "a finite number",
        spec.id, term.name, term.weight));
  }
  for (const Measure& measure : spec.measures) {
    if (measure.unit.empty() || is_text(measure.unit)) continue;
    return invalid(fmt::format(
        "environment '{}' cannot be registered: it measures '{}' in '{}', expected a unit of "
        "printable ASCII",
        spec.id, measure.name, measure.unit));
  }
  return {};
}

// Studies divide by the difference of the two scores.
Status check_scores(const EnvSpec& spec) {
  if (spec.has_score_range &&
      !(std::isfinite(spec.random_score) && std::isfinite(spec.reference_score) &&
        spec.random_score != spec.reference_score)) {
    return invalid(
        fmt::format("environment '{}' cannot be registered: its score range is {} to {}, expected "
                    "two different finite numbers",
                    spec.id, spec.random_score, spec.reference_score));
  }
  if (spec.has_reward_threshold && !std::isfinite(spec.reward_threshold)) {
    return invalid(
        fmt::format("environment '{}' cannot be registered: its reward_threshold is {}, expected a "
                    "finite number",
                    spec.id, spec.reward_threshold));
  }
  return {};
}

// Sentences and tables contain these names. what: "its context has"
template <class Entry>
Status check_ranges(const EnvSpec& spec, const char* what, const std::vector<Entry>& ranges) {
  for (const Entry& one : ranges) {
    if (is_text(one.name) && std::isfinite(one.low) && std::isfinite(one.high) &&
        one.low <= one.high) {
      continue;
    }
    return invalid(
        fmt::format("environment '{}' cannot be registered: {} '{}' in [{}, {}], expected a name "
                    "of printable ASCII and finite bounds with low <= high",
                    spec.id, what, one.name, one.low, one.high));
  }
  return {};
}

// Tables have one line for each of these. `upstream` may have several: Python's holds the text of
// arguments, and that of an array has line breaks.
Status check_lines(const EnvSpec& spec) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  const std::pair<const char*, const std::string*> lines[] = {
      {"summary", &spec.summary}, {"engine", &spec.engine}, {"terrain", &spec.terrain}};
  for (const auto& [name, line] : lines) {
    if (std::none_of(line->begin(), line->end(), is_control)) continue;
    return invalid(
        fmt::format("environment '{}' cannot be registered: its {} has a line break or another "
                    "control character; expected one line of text",
                    spec.id, name));
  }
  return {};
}

Status check_limit(const EnvSpec& spec) {
  if (spec.max_episode_steps >= 0) return {};
  return invalid(
      fmt::format("environment '{}' cannot be registered: its max_episode_steps is {}, expected at "
                  "least 0 (0: no limit)",
                  spec.id, spec.max_episode_steps));
}

}  // namespace

Status check_entry(const EnvEntry& entry) {
  BROADLOOM_TRY(check_functions(entry));
  const Result<EnvSpec> made = entry.make_spec({});
  if (!made.ok() && !entry.wants_options) {
    return {
        made.status().kind(),
        fmt::format("environment '{}' cannot be registered, its default options are refused: {}",
                    entry.spec.id, made.status().message())};
  }
  BROADLOOM_TRY(check_id(entry.spec.id));
  if (!made.ok()) return {};  // specs under other options are checked when they are used
  const EnvSpec& spec = made.value();
  if (spec.id != entry.spec.id) {
    return invalid(
        fmt::format("an environment cannot be registered under two ids: EnvEntry::spec has '{}', "
                    "make_spec() gives '{}'; use one id",
                    entry.spec.id, spec.id));
  }
  return check_spec(spec);
}

Status check_spec(const EnvSpec& spec) {
  BROADLOOM_TRY(check_reasons(spec));
  BROADLOOM_TRY(check_names(spec, "has a reward term", spec.reward_terms));
  BROADLOOM_TRY(check_names(spec, "measures", spec.measures));
  BROADLOOM_TRY(check_weights_and_units(spec));
  BROADLOOM_TRY(check_ranges(spec, "its context has", spec.context));
  BROADLOOM_TRY(check_ranges(spec, "it has the command", spec.commands));
  BROADLOOM_TRY(check_lines(spec));
  BROADLOOM_TRY(check_limit(spec));
  BROADLOOM_TRY(check_scores(spec));
  BROADLOOM_TRY(check_space(spec.id, "observation", spec.observation));
  BROADLOOM_TRY(check_critic_space(spec));
  return check_space(spec.id, "action", spec.action);
}

}  // namespace broadloom
