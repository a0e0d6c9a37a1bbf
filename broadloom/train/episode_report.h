// What a run reports of its ended episodes beyond their means: by stratum, and where a curriculum
// stands.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/episode_tracker.h"

namespace broadloom {

// Where there are strata and success is known:
inline constexpr NumberInfo kStratumSuccess{"success_rate/<stratum>",
                                            "Success of training episodes, <stratum>"};
// With a curriculum: over the environments stepped, 0 being the lowest, and their share on each
// level.
inline constexpr NumberInfo kMeanLevel{"mean_level", "Mean level of the environments"};
inline constexpr NumberInfo kLevelShare{"level_share/<stratum>",
                                        "Environments on the level <stratum>"};

// The numbers of a run, under names that hold for all of it, none known yet.
std::vector<NamedNumber> stratum_numbers(const EnvSpec& spec,
                                         const std::vector<std::string>& levels);

// Brings such numbers up to date: levels of the first num_envs environments, which are those that
// are stepped. Allocates nothing; O(strata * 100 + N).
void refresh_stratum_numbers(const EpisodeTracker& episodes, const VecEnv& envs, int num_envs,
                             std::vector<NamedNumber>& numbers);

}  // namespace broadloom
