// A critic refitted to what the policy's episodes really return: what a block's gradient would be
// worth if the critic were not the one that training left.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "broadloom/algo/learner.h"
#include "broadloom/algo/minibatch_update.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/lab/reference_gradient.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/block_shape.h"

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

  // block: advantages + values are what the values shall be. Takes a quarter of a million samples
  // a second and core on two layers of 64.
  Status learn(const RolloutBlock& block);

  const float* params() const { return learner_.params.data(); }  // [P]
  // Share of the returns' variance that the critic explains, on the newest block before it was
  // learnt from; not a number while there was none before it.
  double explained_variance() const { return explained_; }
  // Of the policy's own critic, on that block.
  double own_explained_variance() const { return own_explained_; }

 private:
  CriticLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override { return {}; }
  void describe(const CriticLoss::Sums&, MinibatchReport&) const override {}
  Status before_step(const MinibatchReport&, const CriticLoss::Sums& sums, Learner&) override;
  double explained(const RolloutBlock& block);

  const ActorCritic& network_;
  ThreadPool& pool_;
  std::int64_t count_, learnt_ = 0;
  Learner learner_;
  MinibatchUpdate<CriticLoss> update_;
  double explained_ = std::numeric_limits<double>::quiet_NaN();
  double own_explained_ = std::numeric_limits<double>::quiet_NaN();
};

// The policy's critic refitted on episodes that nothing else is measured on. on_round: may be
// empty; told the share that is done.
Result<std::unique_ptr<CriticFit>> fit_critic(const Policy& policy, CompleteEpisodes& episodes,
                                              double gamma, ThreadPool& pool,
                                              const std::function<void(double)>& on_round);

// The first `steps` steps of a block as one of their own, with the discounted returns to the end of
// the episodes as what the values shall be: advantages + values. Every episode that is under way in
// them ends within the block.
std::unique_ptr<RolloutBlock> with_returns(const RolloutBlock& block, int steps, double gamma);

}  // namespace broadloom
