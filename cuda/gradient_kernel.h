// PPO's gradient over a minibatch on the device, with the bits of PartialGradients<PpoLoss>
// (algo/partial_gradients.h, algorithms/ppo_loss.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/algorithms/ppo_formulas.h"
#include "broadloom/algorithms/ppo_loss.h"
#include "broadloom/nn/distribution_formulas.h"
#include "cuda/collect_kernels.h"
#include "cuda/tile_backward.h"
#include "cuda/tile_sums.h"

namespace broadloom::cuda {

inline constexpr int kGradientThreads = 256;
// Shared memory that any device gives unasked.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;

// Where a minibatch is, and where its gradient goes.
struct GradientPlaces {
  const std::int32_t* indices;  // [samples] into the block
  const AdvantageShift* shift;  // of the minibatch
  int samples, partials;        // partial_gradient_count() of them: the host's cut, and its bits
  float* partial_grads;         // [partials, P]
  PpoSums* sums;                // [partials, 2] of each side
  float* spill;                 // [2 partials, work] where shared memory is too small; or null
};

// One block a partial gradient and side, so that the two bodies go side by side. Each walks its
// tiles of kTileRows rows in order: forward, loss, backward, all in shared memory, which at 64-64
// with four observations and two outputs takes 39 KB; what is wider works in `spill`, which stays
// in the cache that multiprocessors share. Weights are read through the cache: at 64-64 both bodies
// are 36 KB. There are as many blocks as the host has tasks, 8 to 128: no more than that can keep
// the host's order of sums, in which a partial gradient is one chain over its rows.
struct GradientKernel {
  DeviceNetwork network;
  const float* params;
  DeviceRollout rollout;
  PpoCoefficients loss;
  GradientPlaces places;

  // Floats of a block's work, after the numbers that are summed.
  static int work_size(const DeviceNetwork& network) {
    const int actor = TilePlaces(network.actor, kTileRows).size + network.outputs * kTileRows;
    const int critic = TilePlaces(network.critic, kTileRows).size;
    return actor > critic ? actor : critic;
  }
  static bool spills(const DeviceNetwork& network) {
    return TileTerms::kBytes + sizeof(float) * work_size(network) > kUsualSharedBytes;
  }
  static KernelShape shape(const DeviceNetwork& network, int partials) {
    const std::size_t work = spills(network) ? 0 : sizeof(float) * work_size(network);
    return {2 * partials, kGradientThreads, TileTerms::kBytes + work};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int p = block.index() / 2, side = block.index() % 2;
    const DeviceBody& body = network.body(side);
    float* const grads = places.partial_grads + static_cast<std::size_t>(p) * network.parameters;
    for (int i = body.begin + block.thread(); i < body.end; i += block.threads()) grads[i] = 0.0f;
    PpoSums& sums = places.sums[2 * p + side];
    if (block.thread() == 0) {
      sums = PpoSums();
      for (int a = 0; side == 0 && !network.is_discrete && a < network.outputs; ++a) {
        grads[network.log_std + a] = 0.0f;
      }
    }
    block.sync();
    const int tiles = (places.samples + kTileRows - 1) / kTileRows;
    for (int tile = p * tiles / places.partials; tile < (p + 1) * tiles / places.partials; ++tile) {
      run_tile(block, tile * kTileRows, side, grads, sums);
      block.sync();
    }
  }

 private:
  template <class Block>
  BROADLOOM_HD void run_tile(Block& block, int first, int side, float* grads, PpoSums& sums) const {
    TileTerms terms(block.template shared<double>());
    float* const work = places.spill != nullptr
                            ? places.spill + static_cast<std::size_t>(block.index()) * spill_size
                            : reinterpret_cast<float*>(terms.end());
    const DeviceBody& body = network.body(side);
    const TilePlaces at(body, kTileRows);
    const std::int32_t* const indices = places.indices + first;
    const int left = places.samples - first, rows = left < kTileRows ? left : kTileRows;
    const int width = rollout.D;
    for (int e = block.thread(); e < rows * width; e += block.threads()) {
      const std::size_t row = static_cast<std::size_t>(indices[e / width]);
      work[at.x + e / width * TilePlaces::row(width) + e % width] =
          rollout.observations[row * static_cast<std::size_t>(width) + e % width];
    }
    block.sync();
    forward_tile(block, body, network.activation, params, at, work, rows);
    float* const shares = work + at.size;  // [outputs, kTileRows] of log_std's derivative
    if (block.thread() < rows) {
      const std::size_t row = static_cast<std::size_t>(indices[block.thread()]);
      float* const outputs = work + at.outputs + block.thread();
      if (side == 0) {
        policy_row(row, outputs, shares + block.thread(), terms.of(block.thread()));
      } else {
        value_row(row, outputs, terms.of(block.thread()));
      }
    }
    block.sync();
    if (side == 0) {
      add_policy_terms(block.thread(), loss.clip_coef, terms, rows, sums);
      add_log_std(block.thread(), shares, rows, grads);
    } else if (block.thread() == 0) {
      sums.value_loss += terms.sum(0, rows);
    }
    backward_tile(block, body, network.activation, params, at, work, rows, grads);
  }

  BROADLOOM_HD float share() const { return 1.0f / static_cast<float>(places.samples); }
  BROADLOOM_HD float entropy_weight() const { return static_cast<float>(-loss.ent_coef) * share(); }

  // From a row's outputs [outputs, kTileRows] to their derivatives.
  BROADLOOM_HD void policy_row(std::size_t row, float* outputs, float* shares,
                               const TileTerms::Row& terms) const {
    const float advantage = (rollout.advantages[row] - places.shift->mean) * places.shift->scale;
    const float low = static_cast<float>(1.0 - loss.clip_coef);
    const float high = static_cast<float>(1.0 + loss.clip_coef);
    const float old_log_prob = rollout.log_probs[row];
    if (network.is_discrete) {
      const CategoricalRow policy(outputs, network.outputs, kTileRows);
      const int action = static_cast<int>(rollout.actions[row]);
      const float entropy = policy.entropy();
      const PolicyLossOfOne one(low, high, share(), policy.log_prob(action), old_log_prob,
                                advantage);
      // Reads each logit before it writes there.
      policy.backward(action, one.d_log_prob, entropy_weight(), entropy, outputs);
      return terms.set(one, entropy);
    }
    const float* const drawn = rollout.actions + row * static_cast<std::size_t>(rollout.A);
    float log_prob = 0.0f;
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianDimension policy{outputs[a * kTileRows], params[network.log_std + a]};
      log_prob = policy.add_log_prob(log_prob, policy.scaled(drawn[a]));
    }
    const PolicyLossOfOne one(low, high, share(), log_prob, old_log_prob, advantage);
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianDimension policy{outputs[a * kTileRows], params[network.log_std + a]};
      const float scaled = policy.scaled(drawn[a]);
      outputs[a * kTileRows] = policy.d_mean(one.d_log_prob, scaled);
      shares[a * kTileRows] = GaussianDimension::d_log_std(one.d_log_prob, scaled);
    }
    terms.set(one, gaussian_row_entropy(params + network.log_std, network.outputs));
  }

  BROADLOOM_HD void value_row(std::size_t row, float* output, const TileTerms::Row& terms) const {
    const float clip = loss.clip_vloss ? static_cast<float>(loss.clip_coef)
                                       : std::numeric_limits<float>::infinity();
    const float old_value = rollout.values[row];
    const ValueLossOfOne one(clip, static_cast<float>(loss.vf_coef) * share(), *output, old_value,
                             rollout.advantages[row] + old_value);
    *output = one.d_value;
    terms.set(0, one.loss);
  }

  // One thread a dimension.
  BROADLOOM_HD void add_log_std(int a, const float* shares, int rows, float* grads) const {
    if (network.is_discrete || a >= network.outputs) return;
    const float sum = lane_sum<float, 16>(rows, [&](int r) { return shares[a * kTileRows + r]; });
    grads[network.log_std + a] += sum + entropy_weight() * static_cast<float>(rows);
  }

 public:
  std::size_t spill_size = static_cast<std::size_t>(work_size(network));
};

}  // namespace broadloom::cuda
