// What steps of a block came to, in the numbers that environments count: what each term of the
// reward paid, and what they measure besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/core/number_info.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/rank_cut.h"

namespace broadloom {

inline constexpr NumberInfo kRewardTerm{"reward/<term>", "Reward of a step, <term>"};
inline constexpr NumberInfo kMeasure{"measure/<name>", "Mean over steps, <name>"};

// The numbers that a run reports of it, not numbers before the first block: in the order of
// EnvSpec::counted(). None where the environments count nothing.
std::vector<NamedNumber> counted_numbers(const EnvSpec& spec);

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

}  // namespace broadloom
