// Losses of a minibatch as LossWork (gradient_work.h) runs them, with the bits of PpoLoss, PqnLoss
// and RndLoss.
//
// A loss has Sums, its sums over samples, and kMayRound, whether its network may use tensor cores.
// Its functions are:
//   kept()                      arrays [outputs] of numbers that it keeps of a row
//   seen(block, side)           a side's input: read(row, i, width) is number i of a row
//   fetch_ahead(block, row)     one thread: prefetches the row's data
//   row(of)                     one thread per row: outputs to derivatives, and the row's terms
//   add(block, of, sums, log_std)  all threads of a block: adds the rows' terms to sums, which
//                               begin empty, and writes the derivatives [outputs] of a Gaussian
//                               policy's log_std
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/learn/ppo_formulas.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/pqn_formulas.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/learn/rnd_formulas.h"
#include "broadloom/learn/rnd_loss.h"
#include "broadloom/nn/distribution_formulas.h"
#include "broadloom/rollout/value_formulas.h"
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
  float* kept;                  // [kept, outputs, stride] what the loss keeps of the rows
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
  TileTerms::Row terms;

  BROADLOOM_HD LossRow(const LossTile& loss_tile, std::size_t in_block, int in_tile)
      : tile(loss_tile),
        row(in_block),
        r(in_tile),
        outputs(loss_tile.outputs + in_tile),
        terms(loss_tile.terms.row(in_tile)) {}
};

struct PpoKernelLoss {
  using Sums = PpoSums;
  static constexpr bool kMayRound = true;
  PpoCoefficients coefficients;
  const LearntUnits* units = nullptr;  // of the critic's outputs; null: values are outputs

  int kept() const { return coefficients.analytic_kl ? 3 : 1; }
  BROADLOOM_HD const DeviceObservations& seen(const DeviceRollout& block, int side) const {
    return block.read_by(side);
  }
  BROADLOOM_HD void fetch_ahead(const DeviceRollout& block, std::size_t row) const {
    block.fetch_ahead(row);
  }

  BROADLOOM_HD void row(const LossRow& sample) const {
    for (int v = 0; sample.tile.has_values && v < sample.tile.network.values; ++v) value(sample, v);
    if (!sample.tile.has_policy) return;
    const DeviceRollout& block = sample.tile.rollout;
    const float* const drawn = block.actions + sample.row * static_cast<std::size_t>(block.A);
    if (block.choices.count > 0) return categorical(sample, drawn);
    if (sample.tile.network.uses_pairs) return pairs(sample, drawn);
    return gaussian(sample, drawn);
  }

  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, PpoSums& sums, float* log_std) const {
    const int log_stds = tile.has_policy && tile.network.has_log_std ? tile.network.outputs : 0;
    const int dimensions = kPolicyNumbers + tile.network.values;  // numbers before those of log_std
    const int with_log_stds = dimensions + log_stds;
    const bool has_kl = coefficients.analytic_kl && tile.has_policy;
    warp_each(block, with_log_stds + (has_kl ? 1 : 0), [&](int i) {
      if (i == with_log_stds) {
        if (block.thread() % kWarp == 0) sums.analytic_kl += analytic_kl(tile);
        return;
      }
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
    const float* const shares = kept_array(tile, kShares, a);
    float slope = 0.0f;
    if (tile.network.uses_pairs) {  // in the order of rows, as on the host
      for (int r = 0; r < tile.rows; ++r) slope += shares[r];
    } else {
      const float sum = lane_sum<float, 16>(block, tile.rows, [&](int r) { return shares[r]; });
      slope = sum + entropy_weight(tile) * static_cast<float>(tile.rows);
    }
    if (block.thread() % kWarp != 0) return;
    log_std[a] = tile.network.deviation.slope(tile.params[tile.network.log_std + a], slope);
  }
  BROADLOOM_HD SamplePolicyLoss policy(const LossRow& sample, float log_prob) const {
    const DeviceRollout& block = sample.tile.rollout;
    const float advantage =
        (block.learnt[sample.row] - sample.tile.shift->mean) * sample.tile.shift->scale;
    return SamplePolicyLoss(static_cast<float>(1.0 - coefficients.clip_coef),
                            static_cast<float>(1.0 + coefficients.clip_coef), share(sample.tile),
                            log_prob, block.log_probs[sample.row], advantage);
  }

  // Log-probability and entropy are sums over the choices, in their order.
  BROADLOOM_HD void categorical(const LossRow& sample, const float* drawn) const {
    const ActionChoices& choices = sample.tile.rollout.choices;
    const int stride = sample.tile.stride, count = choices.options[0];
    if (choices.M > 0) {
      choices.mask(choices.valid + sample.row * static_cast<std::size_t>(choices.M), sample.outputs,
                   stride);
    }
    const CategoricalRow first(sample.outputs, count, stride);
    const float first_entropy = first.entropy();
    float log_prob = first.log_prob(static_cast<int>(drawn[0])), entropy = first_entropy;
    float* logits = sample.outputs + count * stride;
    for (int c = 1; c < choices.count; logits += choices.options[c++] * stride) {
      const CategoricalRow row(logits, choices.options[c], stride);
      log_prob += row.log_prob(static_cast<int>(drawn[c]));
      entropy += row.entropy();
    }
    const SamplePolicyLoss one = policy(sample, log_prob);
    // backward() reads each logit before it overwrites it.
    const float weight = entropy_weight(sample.tile);
    first.backward(static_cast<int>(drawn[0]), one.d_log_prob, weight, first_entropy,
                   sample.outputs);
    logits = sample.outputs + count * stride;
    for (int c = 1; c < choices.count; logits += choices.options[c++] * stride) {
      const CategoricalRow row(logits, choices.options[c], stride);
      row.backward(static_cast<int>(drawn[c]), one.d_log_prob, weight, row.entropy(), logits);
    }
    sample.terms.set(one, entropy);
  }

  // Arrays [outputs, stride] of what a row of a Box keeps: its shares of the derivatives of
  // log_std, and for the analytic KL its means, old and new. If all deviations are outputs, the KL
  // itself takes the places of the first means.
  enum Kept { kShares, kOldMeans, kMeans };
  BROADLOOM_HD static float* kept_array(const LossTile& tile, Kept array, int a) {
    return tile.kept + (array * tile.network.outputs + a) * tile.stride;
  }

  BROADLOOM_HD void gaussian(const LossRow& sample, const float* drawn) const {
    const LossTile& tile = sample.tile;
    const int outputs = tile.network.outputs, stride = tile.stride, r = sample.r;
    float log_prob = 0.0f, entropy = 0.0f;
    for (int a = 0; a < outputs; ++a) {
      const GaussianDimension row = dimension(sample, a);
      log_prob = row.add_log_prob(log_prob, row.scaled(drawn[a]));
      entropy = row.add_entropy(entropy);
    }
    const SamplePolicyLoss one = policy(sample, log_prob);
    const float bounds_weight = static_cast<float>(coefficients.bounds_coef) * share(tile);
    for (int a = 0; a < outputs; ++a) {
      const GaussianDimension row = dimension(sample, a);
      const float scaled = row.scaled(drawn[a]);
      float& d_mean = sample.outputs[a * stride];
      d_mean = row.d_mean(one.d_log_prob, scaled);
      if (coefficients.bounds_coef > 0.0) d_mean += bounds_slope(bounds_weight, row.mean);
      kept_array(tile, kShares, a)[r] = GaussianDimension::d_log_std(one.d_log_prob, scaled);
      if (coefficients.analytic_kl) keep_means(sample, a, row.mean);
    }
    sample.terms.set(one, entropy);
  }
  BROADLOOM_HD static GaussianDimension dimension(const LossRow& sample, int a) {
    return sample.tile.network.dimension(sample.tile.params, sample.outputs, sample.tile.stride, a);
  }

  // The outputs of the policy that drew a row.
  BROADLOOM_HD static const float* old_outputs(const LossRow& sample) {
    return sample.tile.rollout.means +
           sample.row * static_cast<std::size_t>(sample.tile.network.outputs);
  }
  BROADLOOM_HD static void keep_means(const LossRow& sample, int a, float mean) {
    kept_array(sample.tile, kOldMeans, a)[sample.r] = old_outputs(sample)[a];
    kept_array(sample.tile, kMeans, a)[sample.r] = mean;
  }
  BROADLOOM_HD static void keep_kl(const LossRow& sample, double kl) {
    const std::int64_t bits = wide::bits_of(kl);
    kept_array(sample.tile, kOldMeans, 0)[sample.r] =
        element::of_bits(static_cast<std::uint32_t>(bits >> 32));
    kept_array(sample.tile, kMeans, 0)[sample.r] =
        element::of_bits(static_cast<std::uint32_t>(bits));
  }
  BROADLOOM_HD static double kept_kl(const LossTile& tile, int r) {
    const std::uint64_t high = element::bits_of(kept_array(tile, kOldMeans, 0)[r]);
    const std::uint64_t low = element::bits_of(kept_array(tile, kMeans, 0)[r]);
    return wide::of_bits(static_cast<std::int64_t>(high << 32 | low));
  }

  BROADLOOM_CALLED BROADLOOM_HD void pairs(const LossRow& sample, const float* drawn) const {
    const LossTile& tile = sample.tile;
    const DeviceNetwork& network = tile.network;
    const int stride = tile.stride, count = network.pairs.count;
    double log_prob = 0.0, kl = 0.0, entropy = 0.0;
    for (int a = 0; a < count; ++a) {
      const PairDimension row = pair(sample, a);
      log_prob += row.log_prob(drawn[a]);
      if (!coefficients.analytic_kl || network.has_log_std) continue;
      const float* const old = old_outputs(sample);
      kl += PairDimension{row.shape, old[a], old[count + a]}.kl(row);
    }
    const SamplePolicyLoss one = policy(sample, static_cast<float>(log_prob));
    const float bonus = entropy_weight(tile);
    const float bounds_weight = static_cast<float>(coefficients.bounds_coef) * share(tile);
    for (int a = 0; a < count; ++a) {
      const PairDimension row = pair(sample, a);
      const PairSlopes slopes = row.slopes(drawn[a]);
      const auto derivative = [&](double score, double of_entropy) {
        return element::mul_add(one.d_log_prob, static_cast<float>(score),
                                bonus * static_cast<float>(of_entropy));
      };
      entropy += slopes.entropy;
      float& d_first = sample.outputs[a * stride];
      d_first = derivative(slopes.score_first, slopes.entropy_first);
      if (coefficients.bounds_coef > 0.0) d_first += bounds_slope(bounds_weight, row.first);
      (network.has_log_std ? kept_array(tile, kShares, a)[sample.r]
                           : sample.outputs[(count + a) * stride]) =
          derivative(slopes.score_second, slopes.entropy_second);
      if (coefficients.analytic_kl && network.has_log_std) keep_means(sample, a, row.first);
    }
    if (coefficients.analytic_kl && !network.has_log_std) keep_kl(sample, kl);
    sample.terms.set(one, static_cast<float>(entropy));
  }
  BROADLOOM_HD static PairDimension pair(const LossRow& sample, int a) {
    return sample.tile.network.pair(sample.tile.params, sample.outputs, sample.tile.stride, a);
  }

  // One chain, as on the host.
  BROADLOOM_HD static double analytic_kl(const LossTile& tile) {
    const DeviceNetwork& network = tile.network;
    double total = 0.0;
    if (!network.has_log_std) {
      for (int r = 0; r < tile.rows; ++r) total += kept_kl(tile, r);
      return total;
    }
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianKl kl(tile.rollout.old_log_std[a],
                          network.deviation.log_std(tile.params[network.log_std + a]));
      const float *const before = kept_array(tile, kOldMeans, a), *const now =
                                                                      kept_array(tile, kMeans, a);
      for (int r = 0; r < tile.rows; ++r) total += kl.row(before[r], now[r]);
    }
    return total;
  }

  // Output 1 values intrinsic rewards.
  BROADLOOM_HD void value(const LossRow& sample, int v) const {
    const DeviceRollout& block = sample.tile.rollout;
    float old_value = (v == 0 ? block.values : block.int_values)[sample.row];
    float target = (v == 0 ? block.advantages : block.int_advantages)[sample.row] + old_value;
    if (units != nullptr) {
      old_value = units->old_values.output(old_value);
      target = units->targets.output(target);
    }
    float& value = sample.tile.values[v * sample.tile.stride + sample.r];
    const SampleValueLoss one(
        static_cast<float>(coefficients.value_clip(v)), coefficients.clips_value_alone,
        static_cast<float>(coefficients.vf_coef) * share(sample.tile), value, old_value, target);
    value = one.d_value;
    sample.terms.set(TileTerms::kValueLoss + v, one.loss);
  }
};

struct PqnKernelLoss {
  using Sums = PqnSums;
  static constexpr bool kMayRound = true;
  double vf_coef = 1.0;

  static int kept() { return 1; }
  BROADLOOM_HD const DeviceObservations& seen(const DeviceRollout& block, int) const {
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

  static int kept() { return 1; }
  BROADLOOM_HD NextSeen seen(const DeviceRollout& block, int) const {
    return {block.next(), scale};
  }
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
