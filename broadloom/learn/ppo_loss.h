// PPO's clipped loss and its gradient over one tile of rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/env/mirror.h"
#include "broadloom/learn/ppo_formulas.h"
#include "broadloom/learn/ppo_tile.h"
#include "broadloom/learn/ratio_sums.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

class Relabelled;

struct PpoCoefficients {
  double clip_coef = 0.2;
  bool clip_vloss = true;
  double ent_coef = 0.01;
  double vf_coef = 0.5;
  // Weights of extrinsic and intrinsic advantages.
  double ext_coef = 1.0;
  double int_coef = 0.0;
  // Clip range of the value; 0: clip_coef.
  double clip_vloss_coef = 0.0;
  // Learns from the clipped value alone (Stable-Baselines3, skrl), not from the larger loss.
  bool clips_value_alone = false;
  // Weight of the squared distance of a Gaussian's means beyond +-kMeanBound (rl_games); if it is
  // squashed, of its means before the tanh.
  double bounds_coef = 0.0;
  // Sums KL(old policy || policy) of a Box's policies; the block needs its means.
  bool analytic_kl = false;
  // Learns from the mirror image of each sample, too (RSL-RL's augmentation).
  bool mirror_samples = false;
  // Weight of the mean squared distance between a Gaussian's means in the image of a state, and the
  // image of its means in the state (RSL-RL's mirror loss). The latter is a constant.
  double mirror_coef = 0.0;
  // With several policies (NetworkShape::policies): the first one's addition to ent_coef. It falls
  // evenly to 0, which is the leader's.
  double follower_entropy = 0.0;

  double entropy_coef(int policy, int policies) const {
    if (policies < 2) return ent_coef;
    return ent_coef + follower_entropy * (policies - 1 - policy) / (policies - 1);
  }
  bool uses_mirror() const { return mirror_samples || mirror_coef > 0.0; }
  // Largest change of value number v before its loss is clipped; infinity: it never is.
  BROADLOOM_HD double value_clip(int v) const {
    if (v > 0 || !clip_vloss) return portable::kInfinity;
    return clip_vloss_coef > 0.0 ? clip_vloss_coef : clip_coef;
  }
};

// Sums over samples; divide by the minibatch size for means.
struct PpoSums : RatioSums {
  double policy_loss = 0.0;
  double value_loss = 0.0;
  double int_value_loss = 0.0;  // of the intrinsic value, if any
  double entropy = 0.0;
  double analytic_kl = 0.0;  // of a Box's policies, if PpoCoefficients ask for it
  double relabelled = 0.0;   // samples that ratios and KL leave out

  BROADLOOM_HD void add(const PpoSums& other) {
    RatioSums::add(other);
    policy_loss += other.policy_loss;
    value_loss += other.value_loss;
    int_value_loss += other.int_value_loss;
    entropy += other.entropy;
    analytic_kl += other.analytic_kl;
    relabelled += other.relabelled;
  }
};

// Weights of the parts of a tile's loss.
struct TileWeights {
  double losses = 1.0;   // of policy and value
  double entropy = 1.0;  // bonus
  double mirror = 0.0;   // of the squared distance to the batch's mirrored_means
};

// Forward, loss, backward. Adds the tile's share of the gradient of
//   mean over the minibatch of
//       max(-A r, -A clip(r, 1-c, 1+c)) - ent_coef H + vf_coef L_V + bounds_coef L_B
// to grads [P] and its sums to `sums`; L_V is half the squared error, or with clip_vloss half the
// larger of the squared errors of V and of V kept near the old value. (Schulman et al. 2017, arXiv
// 1707.06347, eq. 7 and 9; value clipping as in CleanRL.) L_B sums max(0, |mean| - 1.1)^2 over a
// Gaussian's means, as rl_games' bound_loss. If the critic has a second value, half its squared
// error is added to L_V, never clipped. If the tile has log-probabilities of a proximal policy p, r
// is clipped against it (Hilton et al. 2022, arXiv 2110.00641):
//       max(-A r, -A clip(r / q, 1-c, 1+c) q), q = p / old
// without the authors' cap of 100 on r, which is for old data. samples: size of the whole
// minibatch. transposed: see ActorCritic::refresh_transposed. side: of the loss and of the network.
// Calls for both sides in turn, into the same grads and sums, give the bits of kBoth.
template <class Real>
void ppo_tile_gradient(const ActorCritic& network, const PpoCoefficients& coefficients, int samples,
                       const Real* params, const Real* transposed, TileBatch<Real>& batch,
                       TileWorkspace<Real>& work, Real* grads, PpoSums& sums,
                       NetworkSide side = NetworkSide::kBoth, const TileWeights& weights = {});

// As ppo_tile_gradient(), with mirror images: policy and value losses are means over samples and
// images, the entropy is that of the samples. `sums` are those of the samples. Replaces the batch
// by its image. Costs twice as much.
template <class Real>
void ppo_mirrored_gradient(const ActorCritic& network, const PpoCoefficients& coefficients,
                           const Mirror& mirror, int samples, const Real* params,
                           const Real* transposed, TileBatch<Real>& batch,
                           TileWorkspace<Real>& work, Real* grads, PpoSums& sums,
                           NetworkSide side = NetworkSide::kBoth);

// After a forward pass of the policy: sets the tile's log-probabilities.
void set_log_probs(const ActorCritic& network, TileBatch<float>& batch, TileWorkspace<float>& work);

// Sets the tile's log-probabilities of the policy with other parameters. Overwrites `work`.
void set_proximal(const ActorCritic& network, const float* params, TileBatch<float>& batch,
                  TileWorkspace<float>& work);

// One value output of the critic for a tile, [kTileRows] each.
template <class Real>
struct ValueRows {
  int rows;
  Real clip;        // largest change of a value before its loss is clipped
  bool clip_alone;  // the clipped value's loss counts even if it is the smaller one
  const Real *values, *old_values, *targets;
  Real *losses, *d_values;
};

// The advantage of sample i that the policy learns from, before normalisation. With intrinsic
// rewards, the weighted sum of both advantages.
inline float learnt_advantage(const RolloutBlock& block, const PpoCoefficients& c, std::size_t i) {
  if (!block.with_intrinsic) return block.advantages[i];
  return learnt_advantage(c.ext_coef, c.int_coef, block.advantages[i], block.int_advantages[i]);
}

// Normalisation of advantages: (advantage - mean) * scale.
struct AdvantageShift {
  float mean = 0.0f;
  float scale = 1.0f;

  // From the mean and the sum of squared deviations of at least two samples.
  BROADLOOM_HD static AdvantageShift from_moments(double mean, double squares, int samples) {
    return {static_cast<float>(mean),
            static_cast<float>(1.0 / (std::sqrt(squares / (samples - 1)) + 1e-8))};
  }
};

// PPO's loss in the form that PartialGradients needs.
struct PpoLoss {
  using Tile = TileBatch<float>;
  using Sums = PpoSums;
  using Context = AdvantageShift;  // of a minibatch

  static Tile make_tile(const ActorCritic& network, int /*observation_size*/, int /*action_size*/) {
    return Tile(network.shape());
  }
  // Samples beside those of the block have indices from block.size() on (relabelled.h).
  std::size_t samples(const RolloutBlock& block) const;
  std::size_t transitions(const RolloutBlock& block) const;  // samples that are no fillers
  bool is_filler(const RolloutBlock& block, std::size_t i) const;
  float advantage(const RolloutBlock& block, std::size_t i) const;  // as learnt_advantage()
  // Gathers what a side needs of the samples at indices [rows]; relabelled ones come last.
  void gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
              const AdvantageShift& advantages, NetworkSide side, Tile& tile) const;
  void gather_targets(const RolloutBlock& valued, const std::int32_t* indices, int begin, int end,
                      const AdvantageShift& advantages, NetworkSide side, Tile& tile) const;
  void gather_rows(const RolloutBlock& block, const std::int32_t* indices, NetworkSide side,
                   Tile& tile) const;
  void add_gradient(const ActorCritic& network, int samples, const float* params,
                    const float* transposed, Tile& tile, TileWorkspace<float>& work, float* grads,
                    PpoSums& sums, NetworkSide side) const {
    if (proximal != nullptr && side != NetworkSide::kValue) {
      set_proximal(network, proximal, tile, work);
    }
    if (mirror != nullptr) {
      return ppo_mirrored_gradient(network, coefficients, *mirror, samples, params, transposed,
                                   tile, work, grads, sums, side);
    }
    ppo_tile_gradient(network, coefficients, samples, params, transposed, tile, work, grads, sums,
                      side);
  }

  PpoCoefficients coefficients;
  // [A] of the policy that collected, if deviations are parameters.
  std::vector<float> old_log_std = {};
  // Gives old values and targets the critic's unit; null: they have it.
  ValueNormalizer* values = nullptr;
  // The environment's mirror, if the coefficients use it; else null.
  const Mirror* mirror = nullptr;
  // Parameters of the proximal policy; null: the policy that collected.
  const float* proximal = nullptr;
  // Samples that another policy collected; null: none. They are the leader's here.
  const Relabelled* relabelled = nullptr;
};

}  // namespace broadloom
