// Losses of a minibatch as LossWork (gradient_work.h) runs them, with the bits of PpoLoss, PqnLoss
// and RndLoss.
//
// A loss has Sums, its sums over samples, and kMayRound, whether its network may use tensor cores.
// Its functions are:
//   seen(block)                 the network's input: read(row, i, width) is number i of a row
//   fetch_ahead(block, row)     one thread: prefetches the row's data
//   row(of)                     one thread per row: outputs to derivatives, and the row's terms
//   add(block, of, sums, log_std)  all threads of a block: adds the rows' terms to sums, which
//                               begin empty, and writes the derivatives [outputs] of a Gaussian
//                               policy's log_std
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "broadloom/learn/ppo_formulas.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/pqn_formulas.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/learn/rnd_formulas.h"
#include "broadloom/learn/rnd_loss.h"
#include "broadloom/nn/distribution_formulas.h"
#include "cuda/collect/device_rollout.h"
#include "cuda/learn/tile_terms.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// A tile as a loss sees it.
struct LossTile {
  const DeviceNetwork& network;
  const float* params;
  const DeviceRollout& rollout;
  const AdvantageShift* shift;  // of the minibatch
  int samples;                  // of the minibatch
  int rows, stride;             // of the tile; stride is the room for rows
  bool has_policy, has_values;  // whether this side has a policy, values, or both
  float* outputs;               // [outputs, stride] of the policy, or action values
  float* values;                // [values, stride] of the value head
  float* shares;                // [outputs, stride] scratch
  TileTerms terms;
};

// Calls f(i) for each of a tile's sums, one warp per sum. Warps take several sums if there are
// fewer warps.
template <class Block, class F>
BROADLOOM_HD void warp_each(Block& block, int numbers, F&& f) {
  for (int i = block.thread() / kWarp; i < numbers; i += block.threads() / kWarp) f(i);
}

// One row of a tile.
struct LossRow {
  const LossTile& tile;
  std::size_t row;  // row in the rollout block
  int r;            // row in the tile
  float* outputs;   // elements are tile.stride apart
  float* shares;
  TileTerms::Row terms;

  BROADLOOM_HD LossRow(const LossTile& loss_tile, std::size_t in_block, int in_tile)
      : tile(loss_tile),
        row(in_block),
        r(in_tile),
        outputs(loss_tile.outputs + in_tile),
        shares(loss_tile.shares + in_tile),
        terms(loss_tile.terms.row(in_tile)) {}
};

struct PpoKernelLoss {
  using Sums = PpoSums;
  static constexpr bool kMayRound = true;
  PpoCoefficients coefficients;

  BROADLOOM_HD const DeviceObservations& seen(const DeviceRollout& block) const {
    return block.observations;
  }
  BROADLOOM_HD void fetch_ahead(const DeviceRollout& block, std::size_t row) const {
    block.fetch_ahead(row);
  }

  BROADLOOM_HD void row(const LossRow& sample) const {
    for (int v = 0; sample.tile.has_values && v < sample.tile.network.values; ++v) value(sample, v);
    if (!sample.tile.has_policy) return;
    const DeviceRollout& block = sample.tile.rollout;
    const float* const drawn = block.actions + sample.row * static_cast<std::size_t>(block.A);
    return sample.tile.network.is_discrete ? categorical(sample, static_cast<int>(drawn[0]))
                                           : gaussian(sample, drawn);
  }

  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, PpoSums& sums, float* log_std) const {
    const int log_stds = tile.has_policy && !tile.network.is_discrete ? tile.network.outputs : 0;
    const int dimensions = kPolicyNumbers + tile.network.values;  // numbers before those of log_std
    warp_each(block, dimensions + log_stds, [&](int i) {
      if (i >= dimensions) return add_log_std(block, tile, i - dimensions, log_std);
      if (i < kPolicyNumbers) {
        if (!tile.has_policy) return;
        return add_policy_terms(block, i, coefficients.clip_coef, tile.terms, tile.rows, sums);
      }
      if (!tile.has_values) return;
      const int v = i - kPolicyNumbers;
      const double sum = tile.terms.sum(block, TileTerms::kValueLoss + v, tile.rows);
      if (block.thread() % kWarp == 0) (v == 0 ? sums.value_loss : sums.int_value_loss) += sum;
    });
  }

 private:
  BROADLOOM_HD static float share(const LossTile& tile) {
    return 1.0f / static_cast<float>(tile.samples);
  }
  BROADLOOM_HD float entropy_weight(const LossTile& tile) const {
    return static_cast<float>(-coefficients.ent_coef) * share(tile);
  }
  template <class Block>
  BROADLOOM_HD void add_log_std(Block& block, const LossTile& tile, int a, float* log_std) const {
    const float* const shares = tile.shares + a * tile.stride;
    const float sum = lane_sum<float, 16>(block, tile.rows, [&](int r) { return shares[r]; });
    if (block.thread() % kWarp != 0) return;
    log_std[a] = sum + entropy_weight(tile) * static_cast<float>(tile.rows);
  }
  BROADLOOM_HD SamplePolicyLoss policy(const LossRow& sample, float log_prob) const {
    const DeviceRollout& block = sample.tile.rollout;
    const float advantage =
        (block.learnt[sample.row] - sample.tile.shift->mean) * sample.tile.shift->scale;
    return SamplePolicyLoss(static_cast<float>(1.0 - coefficients.clip_coef),
                            static_cast<float>(1.0 + coefficients.clip_coef), share(sample.tile),
                            log_prob, block.log_probs[sample.row], advantage);
  }

  BROADLOOM_HD void categorical(const LossRow& sample, int action) const {
    const CategoricalRow row(sample.outputs, sample.tile.network.outputs, sample.tile.stride);
    const float entropy = row.entropy();
    const SamplePolicyLoss one = policy(sample, row.log_prob(action));
    // backward() reads each logit before it overwrites it.
    row.backward(action, one.d_log_prob, entropy_weight(sample.tile), entropy, sample.outputs);
    sample.terms.set(one, entropy);
  }

  BROADLOOM_HD void gaussian(const LossRow& sample, const float* drawn) const {
    const DeviceNetwork& network = sample.tile.network;
    const float* const log_std = sample.tile.params + network.log_std;
    float log_prob = 0.0f;
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianDimension row{sample.outputs[a * sample.tile.stride], log_std[a]};
      log_prob = row.add_log_prob(log_prob, row.scaled(drawn[a]));
    }
    const SamplePolicyLoss one = policy(sample, log_prob);
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianDimension row{sample.outputs[a * sample.tile.stride], log_std[a]};
      const float scaled = row.scaled(drawn[a]);
      sample.outputs[a * sample.tile.stride] = row.d_mean(one.d_log_prob, scaled);
      sample.shares[a * sample.tile.stride] = GaussianDimension::d_log_std(one.d_log_prob, scaled);
    }
    sample.terms.set(one, gaussian_row_entropy(log_std, network.outputs));
  }

  // Output 1 values intrinsic rewards, and is never clipped.
  BROADLOOM_HD void value(const LossRow& sample, int v) const {
    const float clip = v == 0 && coefficients.clip_vloss
                           ? static_cast<float>(coefficients.clip_coef)
                           : std::numeric_limits<float>::infinity();
    const DeviceRollout& block = sample.tile.rollout;
    const float old_value = (v == 0 ? block.values : block.int_values)[sample.row];
    const float advantage = (v == 0 ? block.advantages : block.int_advantages)[sample.row];
    float& value = sample.tile.values[v * sample.tile.stride + sample.r];
    const SampleValueLoss one(clip, static_cast<float>(coefficients.vf_coef) * share(sample.tile),
                              value, old_value, advantage + old_value);
    value = one.d_value;
    sample.terms.set(TileTerms::kValueLoss + v, one.loss);
  }
};

struct PqnKernelLoss {
  using Sums = PqnSums;
  static constexpr bool kMayRound = true;
  double vf_coef = 1.0;

  BROADLOOM_HD const DeviceObservations& seen(const DeviceRollout& block) const {
    return block.observations;
  }
  BROADLOOM_HD void fetch_ahead(const DeviceRollout& block, std::size_t row) const {
    block.fetch_ahead(row);
  }

  BROADLOOM_HD void row(const LossRow& sample) const {
    const DeviceRollout& block = sample.tile.rollout;
    const int outputs = sample.tile.network.outputs;
    const int action = static_cast<int>(block.actions[sample.row]);
    const float old_value = block.values[sample.row],
                value = sample.outputs[action * sample.tile.stride];
    const float weight = static_cast<float>(vf_coef) / static_cast<float>(sample.tile.samples);
    const float moved = largest_of(sample.outputs, outputs, sample.tile.stride) - old_value;
    const SamplePqnLoss<float> one(weight, value, block.advantages[sample.row] + old_value);
    for (int a = 0; a < outputs; ++a) {
      sample.outputs[a * sample.tile.stride] = a == action ? one.d_value : 0.0f;
    }
    sample.terms.set(kLoss, one.loss);
    sample.terms.set(kValue, value);
    sample.terms.set(kMoved, std::fabs(static_cast<double>(moved)));
  }

  // Adds in the order of rows, as on the host.
  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, PqnSums& sums, float*) const {
    warp_each(block, kMoved + 1, [&](int i) {
      if (block.thread() % kWarp != 0) return;
      if (i == kLoss) sums.td_loss += chain(tile, kLoss);
      if (i == kValue) sums.q_values += chain(tile, kValue);
      for (int r = 0; i == kMoved && r < tile.rows; ++r) {
        const double moved = tile.terms.at(kMoved, r);
        if (!(moved <= sums.max_value_error)) sums.max_value_error = moved;
      }
    });
  }

 private:
  enum { kLoss, kValue, kMoved };
  BROADLOOM_HD static double chain(const LossTile& tile, int term) {
    double sum = 0.0;
    for (int r = 0; r < tile.rows; ++r) sum += tile.terms.at(term, r);
    return sum;
  }
};

// The loss of RND's predictor.
struct RndKernelLoss {
  using Sums = RndSums;
  static constexpr bool kMayRound = false;
  ObservationScale scale;  // normalises the next observations
  const float* targets;    // [B, outputs] of RND's target network

  BROADLOOM_HD NextSeen seen(const DeviceRollout& block) const { return {block.next(), scale}; }
  BROADLOOM_HD void fetch_ahead(const DeviceRollout& block, std::size_t row) const {
    cuda::fetch_ahead(block.int_rewards + row);
  }

  BROADLOOM_HD void row(const LossRow& sample) const {
    const int outputs = sample.tile.network.outputs;
    const float weight = rnd_weight<float>(outputs, sample.tile.samples);
    const float* const target = targets + sample.row * static_cast<std::size_t>(outputs);
    float sum = 0.0f;
    for (int o = 0; o < outputs; ++o) {
      float& output = sample.outputs[o * sample.tile.stride];
      sum = add_rnd_error(sum, output, target[o]);
      output = weight * (output - target[o]);
    }
    const float novelty = rnd_novelty(sum);
    sample.terms.set(kLoss, rnd_sample_loss(novelty, outputs));
    sample.terms.set(kChange,
                     rnd_novelty_change(novelty, sample.tile.rollout.int_rewards[sample.row]));
  }

  // Adds in the order of rows, as on the host.
  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, RndSums& sums, float*) const {
    if (block.thread() != 0) return;
    for (int r = 0; r < tile.rows; ++r) {
      sums.loss += tile.terms.at(kLoss, r);
      sums.keep_change(tile.terms.at(kChange, r));
    }
  }

 private:
  enum { kLoss, kChange };
};

}  // namespace broadloom::cuda
