// Episodes of a frozen policy, and the effect of their time limit on returns.
//
// Training that bootstraps at the time limit (truncation_mode = bootstrap) values the steps that
// would have followed. It optimises the return of the policy continued past the limit, in the
// states before the limit (Pardo et al. 2018, arXiv 1712.00378, section 3). Under the other modes,
// the limit is an end. So a return here looks `beyond` steps past the limit, or none.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/frozen.h"

namespace broadloom {

struct TimeLimit {
  int steps = 0;   // L >= 1
  int beyond = 0;  // steps that returns look past it; 0: the limit is an end
  int longest() const { return steps + beyond; }
};

// Number of steps after which a discount of gamma has fallen to a hundredth. A return that looks
// that far past the limit misses at most this share, for a step right before the limit. 0: more
// than 10,000 steps.
int steps_to_a_hundredth(double gamma);

// Discounted return from every step of environment n to its episode's end, [T]. 0 for steps whose
// episode does not end within the block.
void returns_to_end(const RolloutBlock& block, int n, double gamma, std::vector<double>& out);

// Steps of environment n that training would have seen, as places in time: the first limit.steps of
// each episode. The step after such a step is one that ended an episode, or met the limit.
std::vector<int> steps_within(const FrozenBlock& block, int n, const TimeLimit& limit);

// kInvalidConfig if an environment ended an episode at a time limit of its own, although it was
// told to continue for limit.longest() steps.
Status check_continued(const FrozenBlock& block, const TimeLimit& limit);

// Blocks whose environments begin with a reset. All episodes that begin within the first L steps
// are complete, with L the time limit.
//
// Their number is fixed before they are complete. So the mean over their steps equals the mean over
// all episodes (Wald's identity). It is also the mean of a stationary environment (renewal reward;
// Ross, Stochastic Processes, 2nd ed., 3.6).
class CompleteEpisodes {
 public:
  static constexpr int kGroups = 32;  // of a block's environments, all of one size

  // The arguments must outlive this object. budget: total transitions; at least one block. Other
  // seeds, and the studies' blocks, share no random number with these.
  CompleteEpisodes(const Policy& policy, const TimeLimit& limit, std::int64_t budget,
                   std::uint64_t seed, ThreadPool& pool);

  const TimeLimit& limit() const { return limit_; }
  std::int64_t rounds() const { return rounds_; }
  BlockShape shape() const { return {kGroups * envs_, limit_.steps + limit_.longest()}; }
  int envs_of_a_group() const { return envs_; }
  // Counted steps of environment n: of complete episodes, before the limit. At least L.
  std::vector<int> steps_of(const FrozenBlock& block, int n) const;
  int fewest_steps() const { return limit_.steps; }
  Result<std::unique_ptr<FrozenBlock>> collect(std::int64_t round);

 private:
  TimeLimit limit_;
  BlockSource source_;
  int envs_;
  std::int64_t rounds_;
};

}  // namespace broadloom
