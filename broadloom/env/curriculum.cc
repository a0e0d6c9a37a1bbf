#include "broadloom/env/curriculum.h"

#include <fmt/format.h>

#include <algorithm>

#include "broadloom/core/config_table.h"
#include "broadloom/core/random.h"
#include "broadloom/env/curriculum_formulas.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/strata.h"

namespace broadloom {
namespace {

Status check_levels(const std::vector<std::string>& levels, const EnvSpec& spec) {
  if (spec.strata.empty()) {
    return invalid(
        fmt::format("curriculum: got {}, but there are no strata; describe each level in "
                    "a table [strata.<name>], or leave the curriculum out",
                    fmt::join(levels, ",")));
  }
  if (levels.size() < 2) {
    return invalid(
        fmt::format("curriculum: got '{}' alone, expected at least 2 strata, the easiest "
                    "first",
                    levels.front()));
  }
  for (auto level = levels.begin(); level != levels.end(); ++level) {
    if (std::find(spec.strata.begin(), spec.strata.end(), *level) == spec.strata.end()) {
      return invalid("curriculum: " + unknown_key_error("stratum", *level, spec.strata).message());
    }
    if (std::find(levels.begin(), level, *level) != level) {
      return invalid(fmt::format("curriculum: got '{}' twice; name each stratum once", *level));
    }
  }
  return {};
}

Status check_thresholds(const CurriculumOptions& options) {
  if (options.episodes < 1) {
    return invalid(
        fmt::format("curriculum_episodes: got {}, expected at least 1", options.episodes));
  }
  if (options.down >= 0.0 && options.down <= options.up && options.up <= 1.0) return {};
  return invalid(
      fmt::format("curriculum_down and curriculum_up: got {} and {}, expected shares of "
                  "successes with 0 <= curriculum_down <= curriculum_up <= 1",
                  to_text(options.down), to_text(options.up)));
}

}  // namespace

Status check_curriculum(const CurriculumOptions& options, const EnvSpec& spec,
                        StrataSampling sampling) {
  if (options.levels.empty()) return {};
  BROADLOOM_TRY(check_levels(options.levels, spec));
  BROADLOOM_TRY(check_thresholds(options));
  if (!spec.names_success) {
    return invalid(
        fmt::format("curriculum: {} does not report which episodes succeeded, and levels depend on "
                    "that; give it a function success(), or leave the curriculum out",
                    spec.id));
  }
  if (sampling != StrataSampling::kStratified) return {};
  return invalid(
      "strata_sampling: got 'stratified' with a curriculum, which chooses the strata, so rounds "
      "cannot be balanced; use 'sampled'");
}

Curriculum::Curriculum(const CurriculumOptions& options, const std::vector<std::string>& strata,
                       int num_envs)
    : rule_{static_cast<std::int32_t>(options.levels.size()), options.up, options.down,
            options.episodes} {
  for (const std::string& level : options.levels) {
    const auto found = std::find(strata.begin(), strata.end(), level);
    strata_.push_back(static_cast<std::int32_t>(found - strata.begin()));
  }
  if (!empty()) standings_.resize(static_cast<std::size_t>(num_envs));
}

void Curriculum::episode_ended(int env, bool success, Random random) {
  standings_[env] = standing_after(rule_, standings_[env], success, random);
}

void Curriculum::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  static_assert(sizeof(LevelStanding) == 3 * sizeof(std::int32_t));
  if (empty()) return;
  const auto num_envs = static_cast<std::int64_t>(standings_.size());
  const double counted = rule_.episodes - 1.0;  // the next episode completes the count
  out.push_back(
      {prefix + ".curriculum",
       Dtype::kI32,
       {num_envs, 3},
       standings_.data(),
       {in_column(0, 3, Dtype::kI32, 0.0, rule_.levels - 1.0),
        in_column(1, 3, Dtype::kI32, 0.0, counted), in_column(2, 3, Dtype::kI32, 0.0, counted)}});
}

}  // namespace broadloom
