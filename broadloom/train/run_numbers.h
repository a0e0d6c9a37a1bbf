// Numbers that a run reports beyond its updates: of episodes by stratum, of a curriculum, of what
// steps count; and the list of all numbers that a run can report.
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

inline constexpr NumberInfo kRewardTerm{"reward/<term>", "Reward of a step, <term>"};
inline constexpr NumberInfo kMeasure{"measure/<name>", "Mean over steps, <name>"};

// The numbers that a run reports of it, not numbers before the first block: in the order of
// EnvSpec::counted(). None where the environments count nothing.
std::vector<NamedNumber> counted_numbers(const EnvSpec& spec);

// What steps of a block came to, in the numbers that environments count: what each term of the
// reward paid, and what they measure besides.
class StepSums {
 public:
  explicit StepSums(const VecEnv& envs);

  // What they have counted until now belongs to no block: as they are made, restored, begun anew.
  void begin(VecEnv& envs) { take(envs, 0, static_cast<int>(envs_)); }

  // After a block of so many transitions: means over these into counted_numbers(), of a reward term
  // weight times term. Each rank takes from the environments of its cut and gives it to the others;
  // all come to the same bits. O(N * counted).
  void take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange, std::int64_t transitions,
                  std::vector<NamedNumber>& numbers);

 private:
  void take(VecEnv& envs, int begin, int end);

  std::size_t envs_, counted_;
  std::vector<double> sums_;  // [N, counted] of the block
};

// Those of a line of metrics.jsonl that no iteration reports.
inline constexpr NumberInfo kIterationInfo{"iteration", "Iterations", "", kNoTag};
inline constexpr NumberInfo kGlobalStepInfo{"global_step", "Environment steps", "", kNoTag};
inline constexpr NumberInfo kWallTimeInfo{"wall_time", "Unix time", "s", kNoTag};
inline constexpr NumberInfo kStepsPerSecondInfo{"steps_per_second", "Environment steps per second",
                                                "", "charts/SPS"};

// As the loop, the update and the instruments declare them, in the order of metrics.jsonl with all
// instruments on. Some are forms.
std::vector<NumberInfo> declared_numbers();

}  // namespace broadloom
