// What a run reports of its ended episodes beyond their means: by stratum, and where a curriculum
// stands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/episode_tracker.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

using NamedNumber = std::pair<std::string, double>;

// The numbers of a run, under names that hold for all of it, none known yet:
//   success_rate/<stratum>   where there are strata and success is known
//   mean_level               over all environments, 0 being the lowest; with a curriculum
//   level_share/<stratum>    of the environments, for each level
std::vector<NamedNumber> stratum_numbers(const EnvSpec& spec,
                                         const std::vector<std::string>& levels);

// Brings such numbers up to date. Allocates nothing; O(strata * 100 + N).
void refresh_stratum_numbers(const EpisodeTracker& episodes, const VecEnv& envs,
                             std::vector<NamedNumber>& numbers);

}  // namespace broadloom
