// Numbers that a run reports in addition to its updates: success by stratum, curriculum levels and
// sums over steps. Also lists all numbers that a run can report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/core/number_info.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/episode_tracker.h"
#include "broadloom/rollout/rank_cut.h"

namespace broadloom {

// With strata and known success:
inline constexpr NumberInfo kStratumSuccess{"success_rate/<stratum>",
                                            "Success of training episodes, <stratum>"};
// With a curriculum: the mean level of the stepped environments, 0 is the lowest, and their share
// on each level.
inline constexpr NumberInfo kMeanLevel{"mean_level", "Mean level of the environments"};
inline constexpr NumberInfo kLevelShare{"level_share/<stratum>",
                                        "Environments on the level <stratum>"};

// The numbers of a run without values yet. Names do not change during the run.
std::vector<NamedNumber> stratum_numbers(const EnvSpec& spec,
                                         const std::vector<std::string>& levels);

// Updates these numbers; levels are of the first num_envs environments, which are stepped.
// Allocates nothing. Cost: O(strata * 100 + N).
void refresh_stratum_numbers(const EpisodeTracker& episodes, const VecEnv& envs, int num_envs,
                             std::vector<NamedNumber>& numbers);

inline constexpr NumberInfo kRewardTerm{"reward/<term>", "Reward of a step, <term>"};
inline constexpr NumberInfo kMeasure{"measure/<name>", "Mean over steps, <name>"};

// The numbers that environments sum over steps, in the order of EnvSpec::counted(). NaN before the
// first block; empty if environments count nothing.
std::vector<NamedNumber> counted_numbers(const EnvSpec& spec);

// Sums over the steps of a block: each reward term, and each measure.
class StepSums {
 public:
  explicit StepSums(const VecEnv& envs);

  // Drops the counts so far, which belong to no block. Called after environments are made, restored
  // or reset.
  void begin(VecEnv& envs) { take(envs, 0, static_cast<int>(envs_)); }

  // Writes means over the transitions of a block to counted_numbers(); a reward term is multiplied
  // by its weight. Ranks exchange the sums of their environments and get the same bits. Cost: O(N *
  // counted).
  void take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange, std::int64_t transitions,
                  std::vector<NamedNumber>& numbers);

 private:
  void take(VecEnv& envs, int begin, int end);

  std::size_t envs_, counted_;
  std::vector<double> sums_;  // [N, counted] of the block
};

// Numbers of a line of metrics.jsonl that are not in IterationReport.
inline constexpr NumberInfo kIterationInfo{"iteration", "Iterations", "", kNoTag};
inline constexpr NumberInfo kGlobalStepInfo{"global_step", "Environment steps", "", kNoTag};
inline constexpr NumberInfo kWallTimeInfo{"wall_time", "Unix time", "s", kNoTag};
inline constexpr NumberInfo kStepsPerSecondInfo{"steps_per_second", "Environment steps per second",
                                                "", "charts/SPS"};

// All numbers of loop, update and instruments, in the order of metrics.jsonl with all instruments
// on. Some names are patterns with <...>.
std::vector<NumberInfo> declared_numbers();

}  // namespace broadloom
