// A critic refitted to what the policy's episodes really return: what a block's gradient would be
// worth if the critic were not the one that training left.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "broadloom/evaluate/policy.h"
#include "broadloom/learn/learner.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/block_shape.h"
#include "research/lab/critics.h"
#include "research/lab/episodes.h"

namespace broadloom {

// Half the squared error of the values, against advantages + values; the policy's side stays.
struct CriticLoss {
  struct Tile {
    explicit Tile(int observation_size)
        : observations(static_cast<std::size_t>(kTileRows) * observation_size),
          targets(kTileRows) {}
    std::size_t bytes() const { return sizeof(float) * (observations.size() + targets.size()); }
    int rows = 0;
    AlignedVector<float> observations;  // [kTileRows, D]
    AlignedVector<float> targets;       // [kTileRows]
  };
  struct Sums {
    double loss = 0.0;
    void add(const Sums& other) { loss += other.loss; }
  };
  struct Context {};

  static Tile make_tile(const ActorCritic& network, int, int) {
    return Tile(network.shape().critic_input_size());
  }
  static void gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide, Tile& tile);
  static void add_gradient(const ActorCritic& network, int samples, const float* params,
                           const float* transposed, Tile& tile, TileWorkspace<float>& work,
                           float* grads, Sums& sums, NetworkSide side);
};

// Starts from the policy's own critic and learns from blocks, one after the other, with a learning
// rate that falls to zero over them. Same bits for any number of threads.
class CriticFit : private MinibatchRules<CriticLoss> {
 public:
  // The network's sides are apart: a shared body is the policy's, too, and may not move.
  // shape: of every block; count: how many blocks there will be.
  CriticFit(const Policy& policy, BlockShape shape, std::int64_t count, ThreadPool& pool);

  // block: advantages + values are what the values shall be. Eight epochs: 60,000
  // samples a second and core on two layers of 64.
  Status learn(const RolloutBlock& block);

  const float* params() const { return learner_.params.data(); }  // [P]
  // Before it learns from these episodes: how much of their returns it explains. advantages +
  // values are the returns.
  void look(std::unique_ptr<RolloutBlock> returns);
  // The episodes it looked at last, and what share of the variance of their returns it explained;
  // null, and not a number, where there were none.
  const RolloutBlock* held_out() const { return held_out_.get(); }
  double explained_variance() const { return explained_; }

 private:
  CriticLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override { return {}; }
  void describe(const CriticLoss::Sums&, MinibatchReport&) const override {}
  Status before_step(const MinibatchReport&, const CriticLoss::Sums& sums, Learner&) override;

  const ActorCritic& network_;
  ThreadPool& pool_;
  std::int64_t count_, epochs_ = 0;
  Learner learner_;
  MinibatchUpdate<CriticLoss> update_;
  std::unique_ptr<RolloutBlock> held_out_;
  double explained_ = std::numeric_limits<double>::quiet_NaN();
};

// The policy's critic refitted on episodes that nothing else is measured on: on the first half of
// them to their returns (Monte Carlo), then to lambda-returns of what it has become, which vary
// less and have the same expectation where it is right. on_round: may be empty; told the share that
// is done.
Result<std::unique_ptr<CriticFit>> fit_critic(const Policy& policy, CompleteEpisodes& episodes,
                                              double gamma, ThreadPool& pool,
                                              const std::function<void(double)>& on_round);

// The steps of a block's environments that count, as a block of one step: observations, and what
// the values shall be. They are spread evenly over those steps, as many as every environment has at
// least, so that all such blocks are alike in size.
std::unique_ptr<RolloutBlock> with_targets(const CompleteEpisodes& episodes,
                                           const FrozenBlock& block);

}  // namespace broadloom
