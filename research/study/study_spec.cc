#include "research/study/study_spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "broadloom/config/keys.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostSeedsOfRange = 100000;

Status bad_seeds(const std::string& text) {
  return {ErrorKind::kInvalidConfig,
          fmt::format("seeds: got '{}', expected a count (10 is 1 to 10), a range (11-20) or a "
                      "list (3,5,7) of seeds below 2^63",
                      text)};
}

bool parse_seed(const std::string& text, std::uint64_t& out) {
  return parse_text(text, out).ok() &&
         out <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

bool add_range(const std::string& item, std::vector<std::uint64_t>& out) {
  const std::size_t dash = item.find('-');
  std::uint64_t first = 0, last = 0;
  if (!parse_seed(item.substr(0, dash), first)) return false;
  last = first;
  if (dash != std::string::npos && !parse_seed(item.substr(dash + 1), last)) return false;
  if (last < first || last - first >= kMostSeedsOfRange || out.size() > kMostSeedsOfRange)
    return false;
  for (std::uint64_t seed = first; seed <= last; ++seed) out.push_back(seed);
  return true;
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_seeds(const std::string& text) {
  std::vector<std::string> items;
  if (!parse_text(text, items).ok() || items.empty()) return bad_seeds(text);
  std::vector<std::uint64_t> seeds;
  const bool is_count = items.size() == 1 && items[0].find('-') == std::string::npos;
  for (const std::string& item : items) {
    if (!add_range(is_count ? "1-" + item : item, seeds)) return bad_seeds(text);
  }
  if (seeds.size() > kMostSeedsOfRange) return bad_seeds(text);
  std::vector<std::uint64_t> sorted = seeds;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return seeds;
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("seeds: {} is given twice; a repeated run has the same bits and would "
                            "count double; leave one out",
                            *twice));
}

Status add_axis(const std::string& key, const std::vector<std::string>& values,
                std::vector<StudyAxis>& axes) {
  if (values.empty()) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("grid: {} has no values, so the grid would be empty; give some", key)};
  }
  for (const StudyAxis& axis : axes) {
    if (axis.name != key) continue;
    return {ErrorKind::kInvalidConfig,
            fmt::format("grid: {} is given twice; put all its values into one list", key)};
  }
  StudyAxis axis{key, {}};
  for (const std::string& value : values) axis.values.push_back({"", {{key, value}}});
  axes.push_back(std::move(axis));
  return {};
}

std::string varied_by(const StudySpec& spec, std::string_view key) {
  // max_envs uses the base's num_steps unless the shapes set it.
  const bool base_steps = spec.shapes.max_envs > 0 && spec.shapes.num_steps == 0;
  const bool is_shape = role_of(key) == Role::kShape && !(key == "num_steps" && base_steps);
  if (is_shape && !spec.shapes.empty()) return "the shapes";
  for (const StudyAxis& axis : spec.axes) {
    const bool always =
        std::all_of(axis.values.begin(), axis.values.end(), [&](const StudyAxis::Value& value) {
          return std::any_of(value.set.begin(), value.set.end(),
                             [&](const auto& entry) { return entry.first == key; });
        });
    if (always && !axis.values.empty()) return axis.name == "variant" ? "the variants" : "the grid";
  }
  return "";
}

Status check_tuned_key(const std::string& key) {
  const Role role = role_of(key);
  if (role != Role::kShape && role != Role::kMinibatches && role != Role::kBudget &&
      role != Role::kTask) {
    return {};
  }
  return invalid(fmt::format(
      "tuned: got {}, which changes the task, the block or the steps; expected a key that leaves "
      "them alone, such as learning_rate",
      key));
}

}  // namespace broadloom
