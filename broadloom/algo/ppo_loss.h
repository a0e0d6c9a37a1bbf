// PPO's clipped loss and its gradient over one tile of rows.
#pragma once

#include <limits>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

struct PpoCoefficients {
  double clip_coef = 0.2;
  bool clip_vloss = true;
  double ent_coef = 0.01;
  double vf_coef = 0.5;
};

// The samples of one tile, gathered from the block.
template <class Real>
struct TileBatch {
  int rows = 0;
  AlignedVector<Real> observations;         // [kTileRows, D]
  AlignedVector<Real> critic_observations;  // [kTileRows, of what only the critic reads] or empty
  AlignedVector<Real> actions;              // [A, kTileRows]
  AlignedVector<Real> old_log_probs;        // [kTileRows]
  AlignedVector<Real> old_values;           // [kTileRows]
  AlignedVector<Real> advantages;  // [kTileRows] as the policy loss uses them (normalised or not)
  AlignedVector<Real> value_targets;  // [kTileRows]

  // Scratch of the loss, one number a sample but for terms [outputs, kTileRows].
  AlignedVector<Real> log_probs, normalisers, entropies, terms;
  AlignedVector<Real> log_ratios, ratios, d_log_probs, policy_losses, value_losses;

  TileBatch(int observation_size, int action_size, int outputs, int critic_observation_size = 0);
  NetworkInput<Real> input() const {
    const Real* policy = observations.data();
    return {policy, critic_observations.empty() ? policy : critic_observations.data()};
  }
  std::size_t bytes() const {
    return sizeof(Real) * (observations.size() + critic_observations.size() + actions.size() +
                           terms.size() + 12 * kTileRows);
  }
};

// Sums over samples but for the last three; divide by the minibatch size for means. r is the policy
// ratio of a sample, pi(a|s) over that of the policy that collected it.
struct LossSums {
  double policy_loss = 0.0;
  double value_loss = 0.0;
  double entropy = 0.0;
  double old_approx_kl = 0.0;    // k1: -log r (Schulman 2020, "Approximating KL divergence")
  double approx_kl = 0.0;        // k3: (r - 1) - log r
  double clipped = 0.0;          // samples with |r - 1| > clip_coef
  double ratios = 0.0;           // r
  double squared_ratios = 0.0;   // r^2
  double max_ratio_error = 0.0;  // max |r - 1|
  double min_ratio = std::numeric_limits<double>::infinity();
  double max_ratio = 0.0;

  void add(const LossSums& other);
  // max_ratio_error becomes the larger; one that is not a number counts as the largest, and stays.
  void keep_ratio_error(double error);

  // Effective sample size of the ratios as importance weights, (sum r)^2 / sum r^2, in per cent of
  // the samples: 100 where all ratios are equal, 100 / samples where one outweighs all others
  // (Martino, Elvira and Louzada 2017, "Effective sample size for importance sampling based on
  // discrepancy measures").
  double ess_percent(double samples) const {
    return 100.0 * (ratios / squared_ratios) * (ratios / samples);
  }
};

// Forward, loss, backward. Adds the tile's share of the gradient of
//   mean over the minibatch of  max(-A r, -A clip(r, 1-c, 1+c)) - ent_coef H + vf_coef L_V
// to grads [P] and its sums to `sums`; L_V is half the squared error, or with clip_vloss half the
// larger of the squared errors of V and of V kept within clip_coef of the old value. (Schulman et
// al. 2017, arXiv 1707.06347, eq. 7 and 9; value clipping as in CleanRL.) samples: size of the
// whole minibatch. transposed: see ActorCritic::refresh_transposed. side: of the loss and of the
// network; both sides one after the other, into the same grads and sums, give the bits of kBoth.
template <class Real>
void ppo_tile_gradient(const ActorCritic& network, const PpoCoefficients& coefficients, int samples,
                       const Real* params, const Real* transposed, TileBatch<Real>& batch,
                       TileWorkspace<Real>& work, Real* grads, LossSums& sums,
                       NetworkSide side = NetworkSide::kBoth);

}  // namespace broadloom
