// A held-out estimate of the true policy gradient, which blocks are compared with.
//
// Its samples are drawn from the distribution of states that stationary blocks have, and weighed by
// what really followed them: the discounted return to the end of the episode, the time limit being
// an end, minus V(s), which changes no expectation. Nothing is bootstrapped. Its groups are
// independent of each other and of all blocks, so that its own noise can be taken out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/lab/frozen.h"

namespace broadloom {

// Blocks of 2 L steps, L the time limit, whose environments begin in states of the pool: from each
// of the first L steps on an episode ends within the block.
class CompleteEpisodes {
 public:
  static constexpr int kGroups = 32;  // of a block's environments, alike in size

  // What is given must outlive this. limit: L >= 1. budget: transitions to collect in all, one
  // block at least. Other seeds, and the studies' blocks, share no random number with these.
  CompleteEpisodes(const Policy& policy, const StartPool& starts, int limit, std::int64_t budget,
                   std::uint64_t seed, ThreadPool& pool);

  std::int64_t rounds() const { return rounds_; }
  BlockShape shape() const { return {kGroups * envs_, 2 * limit_}; }
  int used_steps() const { return limit_; }
  int envs_of_a_group() const { return envs_; }
  Result<std::unique_ptr<RolloutBlock>> collect(std::int64_t round);

 private:
  BlockSource source_;
  int limit_, envs_;
  std::int64_t rounds_;
};

struct ReferenceGradient {
  // Means of the groups' samples: of weight times score, so uphill, as 1/B sum g_i of a block.
  std::vector<std::vector<double>> groups;  // [H][P]
  std::int64_t samples = 0;                 // of all groups

  // Of another one's solution, without noise. gradient: [P].
  static ReferenceGradient exact(std::vector<double> gradient) {
    return {{std::move(gradient)}, 0};
  }
};

// on_round: may be empty; told the share that is done.
Result<ReferenceGradient> measure_reference(const Policy& policy, CompleteEpisodes& episodes,
                                            double gamma, ThreadPool& pool,
                                            const std::function<void(double)>& on_round);

// The discounted return from every step of environment n to its episode's end, [T]; 0 from steps
// whose episode does not end within the block.
void returns_to_end(const RolloutBlock& block, int n, double gamma, std::vector<double>& out);

}  // namespace broadloom
