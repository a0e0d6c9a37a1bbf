#include "broadloom/learn/distill_loss.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/portable_math.h"

namespace broadloom {

void DistillLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                         const Context&, NetworkSide, Tile& tile) {
  tile.rows = rows;
  const std::size_t outputs = static_cast<std::size_t>(block.mean_size());
  const std::size_t actions = static_cast<std::size_t>(block.A);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    block.observations.read(i, 1, &tile.observations[r * static_cast<std::size_t>(block.D)]);
    for (std::size_t o = 0; o < outputs; ++o) {
      tile.labels[o * kTileRows + r] = block.labels[i * outputs + o];
    }
    for (std::size_t a = 0; a < actions; ++a) {
      tile.actions[a * kTileRows + r] = block.actions[i * actions + a];
    }
    if (block.M > 0) {
      std::copy_n(block.valid_row(i), block.M, &tile.valid[r * static_cast<std::size_t>(block.M)]);
    }
    tile.old_log_probs[r] = block.log_probs[i];
  }
}

namespace {

// The logarithm of the sum of exponentials of `count` logits, one per row of the tile.
template <class Real>
double log_sum(const Real* logits, int count) {
  double largest = logits[0], sum = 0.0;
  for (int i = 1; i < count; ++i) largest = std::max<double>(largest, logits[i * kTileRows]);
  for (int i = 0; i < count; ++i) sum += portable::exp(logits[i * kTileRows] - largest);
  return largest + portable::log(sum);
}

// The cross entropy of one head and row. deltas: out, derivatives of share times it.
template <class Real>
double head_loss(const Real* labels, const Real* logits, int count, double share, Real* deltas) {
  const double of_teacher = log_sum(labels, count), of_student = log_sum(logits, count);
  double loss = 0.0;
  for (int i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(i) * kTileRows;
    const double p = portable::exp(labels[place] - of_teacher);
    const double log_q = static_cast<double>(logits[place]) - of_student;
    if (p > 0.0) loss -= p * log_q;  // an invalid action has probability 0 and log_q of -1e30
    deltas[place] = static_cast<Real>(share * (portable::exp(log_q) - p));
  }
  return loss;
}

// The distance of one number's means. delta: out, the derivative of share times it.
template <class Real>
double mean_loss(bool is_huber, Real mean, Real label, Real share, Real& delta) {
  const Real error = mean - label;
  const double wide = static_cast<double>(error);
  if (!is_huber) {
    delta = share * Real(2) * error;
    return wide * wide;
  }
  delta = share * std::clamp(error, Real(-1), Real(1));
  return std::abs(wide) < 1.0 ? 0.5 * wide * wide : std::abs(wide) - 0.5;
}

template <class Real>
void compare_log_probs(const NetworkShape& shape, DistillTile<Real>& tile,
                       const TileWorkspace<Real>& work, DistillSums& sums) {
  PolicyDistribution(shape).log_probs({.outputs = work.policy.data(),
                                       .log_std = work.log_std.data(),
                                       .actions = tile.actions.data(),
                                       .rows = tile.rows,
                                       .terms = tile.terms.data(),
                                       .normalisers = tile.normalisers.data(),
                                       .head_entropies = nullptr},
                                      tile.log_probs.data());
  for (int r = 0; r < tile.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    DistillSums one;
    one.max_log_prob_error =
        std::abs(static_cast<double>(tile.log_probs[row] - tile.old_log_probs[row]));
    sums.add(one);
  }
}

// Row r of the tile: its loss, and the derivatives of its outputs.
template <class Real>
double row_loss(const NetworkShape& shape, const DistillCoefficients& c, Real share, int r,
                const DistillTile<Real>& tile, TileWorkspace<Real>& work) {
  const Real *labels = &tile.labels[static_cast<std::size_t>(r)],
             *outputs = &work.policy[static_cast<std::size_t>(r)];
  Real* deltas = &work.policy_delta[static_cast<std::size_t>(r)];
  double loss = 0.0;
  for (const int choices : shape.heads()) {
    loss += head_loss(labels, outputs, choices, static_cast<double>(share), deltas);
    const std::size_t next = static_cast<std::size_t>(choices) * kTileRows;
    labels += next;
    outputs += next;
    deltas += next;
  }
  const int numbers = shape.box_size();
  double distances = 0.0;
  for (int a = 0; a < numbers; ++a) {
    const std::size_t place = static_cast<std::size_t>(a) * kTileRows;
    distances += mean_loss(c.is_huber, outputs[place], labels[place],
                           share / static_cast<Real>(numbers), deltas[place]);
  }
  return numbers > 0 ? loss + distances / numbers : loss;
}

}  // namespace

template <class Real>
void distill_tile_gradient(const ActorCritic& network, const DistillCoefficients& c, int samples,
                           bool compares, const Real* params, const Real* transposed,
                           DistillTile<Real>& tile, TileWorkspace<Real>& work, Real* grads,
                           DistillSums& sums) {
  const NetworkShape& shape = network.shape();
  const Real share = static_cast<Real>(c.steps) / static_cast<Real>(samples);
  network.forward(params, tile.input(), tile.rows, work, NetworkSide::kPolicy);
  DistillSums tile_sums;
  for (int r = 0; r < tile.rows; ++r) {
    tile_sums.loss += row_loss(shape, c, share, r, tile, work);
  }
  if (compares) compare_log_probs(shape, tile, work, tile_sums);
  sums.add(tile_sums);
  network.backward(params, transposed, tile.input(), tile.rows, work, grads, NetworkSide::kPolicy);
}

template void distill_tile_gradient(const ActorCritic&, const DistillCoefficients&, int, bool,
                                    const float*, const float*, DistillTile<float>&,
                                    TileWorkspace<float>&, float*, DistillSums&);
template void distill_tile_gradient(const ActorCritic&, const DistillCoefficients&, int, bool,
                                    const double*, const double*, DistillTile<double>&,
                                    TileWorkspace<double>&, double*, DistillSums&);

}  // namespace broadloom
