// The numbers of PPO's loss for one tile of rows, beside those of the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/env/mirror.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// The samples of one tile, gathered from the block.
template <class Real>
struct TileBatch {
  int rows = 0;
  // The last rows, which another policy collected (relabelled.h). Ratios and KL of the others are
  // reported.
  int relabelled = 0;
  int own_rows() const { return rows - relabelled; }
  bool has_proximal = false;                // proximal_log_probs are set, and count
  AlignedVector<Real> observations;         // [kTileRows, D]
  AlignedVector<std::uint8_t> valid;        // [kTileRows, outputs] of masked actions, or empty
  AlignedVector<Real> critic_observations;  // [kTileRows, critic's D], or empty
  AlignedVector<Real> actions;              // [A, kTileRows]
  AlignedVector<Real> old_log_probs;        // [kTileRows]
  AlignedVector<Real> old_values;           // [values, kTileRows]
  AlignedVector<Real> advantages;           // [kTileRows] after normalisation, if on
  AlignedVector<Real> value_targets;        // [values, kTileRows]
  AlignedVector<Real> old_means;            // [outputs, kTileRows], Box only
  std::vector<Real> old_log_std;            // [A], if deviations are parameters
  AlignedVector<Real> mirrored_means;       // [outputs, kTileRows] images of means, Box only
  AlignedVector<std::int32_t> policies;     // [kTileRows], with several policies
  AlignedVector<Real> entropy_delta;        // [outputs, kTileRows] scratch, with several policies

  // Scratch of the loss: one number per sample, except terms
  // [PolicyDistribution::term_rows(), kTileRows], value_losses [values, kTileRows], and
  // normalisers and head_entropies [A, kTileRows].
  AlignedVector<Real> log_probs, normalisers, head_entropies, entropies, terms;
  AlignedVector<Real> proximal_log_probs, proximal_ratios;
  AlignedVector<Real> log_ratios, ratios, d_log_probs, policy_losses, value_losses;

  TileBatch(int observation_size, int action_size, int outputs, int critic_observation_size = 0,
            int values = 1, bool masked = false);
  // A tile for a network of this shape.
  explicit TileBatch(const NetworkShape& shape);
  // Replaces observations and actions by their mirror images. A Gaussian's `means` [outputs,
  // kTileRows] leave their images in mirrored_means; null: they do not.
  void reflect(const Mirror& mirror, const Real* means);
  NetworkInput<Real> input() const {
    const Real* policy = observations.data();
    NetworkInput<Real> both(policy,
                            critic_observations.empty() ? policy : critic_observations.data());
    if (!valid.empty()) both.valid = valid.data();
    if (!policies.empty()) both.policies = policies.data();
    return both;
  }
  std::size_t bytes() const {
    return valid.size() + policies.size() * sizeof(std::int32_t) +
           sizeof(Real) *
               (observations.size() + critic_observations.size() + 3 * actions.size() +
                terms.size() + 3 * value_losses.size() + 10 * kTileRows + old_means.size() +
                old_log_std.size() + mirrored_means.size() + entropy_delta.size());
  }
};

}  // namespace broadloom
