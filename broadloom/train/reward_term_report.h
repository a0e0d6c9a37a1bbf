// What each term of the reward paid in a block, for environments that count it.
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

class RewardTermReport {
 public:
  // Has no numbers where the environments do not count (EnvSpec::counts_reward_terms).
  explicit RewardTermReport(const VecEnv& envs);

  // What they have paid until now belongs to no block: as they are made, restored, begun anew.
  void begin(VecEnv& envs) { take(envs, 0, static_cast<int>(count_)); }

  // After a block of so many transitions. Each rank takes from the environments of its cut and
  // gives it to the others; all come to the same bits. O(N * terms).
  void take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange, std::int64_t transitions);

  // Means over the block's transitions, weight times term, in the order of EnvSpec::reward_terms;
  // not numbers before the first block.
  const std::vector<NamedNumber>& numbers() const { return numbers_; }

 private:
  void take(VecEnv& envs, int begin, int end);

  std::size_t count_, terms_;
  std::vector<double> sums_;  // [N, terms] of the block
  std::vector<NamedNumber> numbers_;
};

}  // namespace broadloom
