// A critic refitted to the actual returns of the policy's episodes. It shows how good a block's
// gradient would be with another critic than the one that training left.
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

// Half the squared error of the values, against advantages + values. The policy's side stays fixed.
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
  void gather(const RolloutBlock& block, const std::int32_t* indices, int rows, const Context&,
              NetworkSide, Tile& tile) const;
  static void add_gradient(const ActorCritic& network, int samples, const float* params,
                           const float* transposed, Tile& tile, TileWorkspace<float>& work,
                           float* grads, Sums& sums, NetworkSide side);

  ValueUnit unit = {};  // of the critic's outputs
};

// Starts from the policy's own critic and learns from blocks, one after another. The learning rate
// falls to zero over them. The bits do not depend on the number of threads.
class CriticFit : private MinibatchRules<CriticLoss> {
 public:
  // The network's sides must be apart: a shared body also belongs to the policy, and must not move.
  // shape: of every block. count: total number of blocks.
  CriticFit(const Policy& policy, BlockShape shape, std::int64_t count, ThreadPool& pool);

  // block: advantages + values are the targets. Eight epochs, at 60,000 samples a second and core
  // for two layers of 64.
  Status learn(const RolloutBlock& block);

  const float* params() const { return learner_.params.data(); }  // [P]
  // Refers to the fit and to the policy.
  Critic critic() const {
    return network_critic(network_, learner_.params.data(), pool_, value_norm_);
  }
  // Call it before the fit learns from these episodes: measures how much of their returns it
  // explains. advantages + values are the returns.
  void look(std::unique_ptr<RolloutBlock> returns);
  // The episodes of the last look(), and the share of their returns' variance that the fit
  // explained. Null, and NaN, if there were none.
  const RolloutBlock* held_out() const { return held_out_.get(); }
  double explained_variance() const { return explained_; }

 private:
  CriticLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override { return {}; }
  void describe(const CriticLoss::Sums&, MinibatchReport&) const override {}
  Status before_step(const MinibatchReport&, const CriticLoss::Sums& sums, Learner&) override;

  const ActorCritic& network_;
  const ValueNormalizer* value_norm_;
  ThreadPool& pool_;
  std::int64_t count_, epochs_ = 0;
  Learner learner_;
  MinibatchUpdate<CriticLoss> update_;
  std::unique_ptr<RolloutBlock> held_out_;
  double explained_ = std::numeric_limits<double>::quiet_NaN();
};

// Refits the policy's critic on episodes that serve no other measurement. The first half has their
// returns (Monte Carlo) as targets. The second half has lambda-returns of the fit itself, which
// vary less and have the same expectation if the fit is right. on_round: may be empty; called with
// the share that is done; an error ends the work.
Result<std::unique_ptr<CriticFit>> fit_critic(const Policy& policy, CompleteEpisodes& episodes,
                                              double gamma, ThreadPool& pool,
                                              const std::function<Status(double)>& on_round);

// The counted steps of a block's environments as a block of one step: observations and value
// targets. It takes evenly spread steps, fewest_steps() times the number of environments, so all
// such blocks have the same size.
std::unique_ptr<RolloutBlock> with_targets(const CompleteEpisodes& episodes,
                                           const FrozenBlock& block);

}  // namespace broadloom
