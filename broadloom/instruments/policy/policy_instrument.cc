#include "broadloom/instruments/policy/policy_instrument.h"

#include <algorithm>
#include <cmath>

#include "broadloom/instruments/probe_states.h"
#include "broadloom/nn/categorical_heads.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

BlockPieces pieces_of(const InstrumentSetup& setup) {
  return {setup.network, setup.num_steps, setup.num_envs, setup.sequence};
}

std::size_t probe_tiles(const InstrumentSetup& setup) {
  return static_cast<std::size_t>(NetworkRows::tiles(static_cast<std::size_t>(probe_rows(setup))));
}

}  // namespace

PolicyInstrument::PolicyInstrument(const InstrumentSetup& setup)
    : shape_(setup.network.shape()),
      outputs_(static_cast<std::size_t>(setup.network.shape().action_outputs)),
      rows_(probe_rows(setup)),
      probe_(setup.probe),
      network_rows_(setup.network, setup.threads),
      pieces_(pieces_of(setup)),
      moments_(probe_tiles(setup) * outputs_),
      shifts_(static_cast<std::size_t>(pieces_.count())) {
  const std::size_t policy = outputs_ * kTileRows;
  const std::size_t terms =
      static_cast<std::size_t>(PolicyDistribution::term_rows(shape_)) * kTileRows;
  const std::size_t actions = static_cast<std::size_t>(setup.action_size) * kTileRows;
  for (int t = 0; t < setup.threads; ++t) {
    scratch_.push_back(
        {PolicyDivergence(shape_), std::vector<float>(policy), std::vector<float>(actions),
         std::vector<float>(terms), std::vector<float>(actions), std::vector<float>(actions),
         std::vector<float>(kTileRows), std::vector<double>(kTileRows),
         std::vector<float>(outputs_), std::vector<float>(outputs_),
         std::vector<float>(pieces_.tile_states()), std::vector<float>(pieces_.tile_states())});
  }
}

std::size_t PolicyInstrument::bytes(const InstrumentSetup& setup) {
  const std::size_t outputs = static_cast<std::size_t>(setup.network.shape().action_outputs);
  const std::size_t terms =
      static_cast<std::size_t>(PolicyDistribution::term_rows(setup.network.shape()));
  const std::size_t per_row =
      (outputs + terms + 3 * setup.action_size + 1) * sizeof(float) + sizeof(double);
  const BlockPieces pieces = pieces_of(setup);
  const std::size_t scratch = kTileRows * per_row +
                              2 * (outputs + pieces.tile_states()) * sizeof(float) +
                              PolicyDivergence::bytes(setup.network.shape());
  return NetworkRows::bytes(setup.network, setup.threads) + setup.threads * scratch +
         probe_tiles(setup) * outputs * sizeof(Moments) +
         static_cast<std::size_t>(pieces.count()) * sizeof(Shift);
}

void PolicyInstrument::after_update(const InstrumentView& view) {
  numbers_.variance = probe_variance(view);
  if (shape_.action_values) {
    numbers_.kl = numbers_.kl_k1 = numbers_.kl_k3 = kNone;
    numbers_.min_ratio = numbers_.max_ratio = numbers_.ess = kNone;
    return;
  }
  const Shift shift = block_shift(view);
  const double count = static_cast<double>(view.block.size());
  numbers_.kl = shift.kl / count;
  numbers_.kl_k1 = shift.ratios.old_approx_kl / count;
  numbers_.kl_k3 = shift.ratios.approx_kl / count;
  numbers_.min_ratio = shift.ratios.min_ratio;
  numbers_.max_ratio = shift.ratios.max_ratio;
  numbers_.ess = shift.ratios.ess_percent(count);
}

// Deviations that are parameters, the other half of a Gaussian's outputs, do not depend on the
// state.
double PolicyInstrument::probe_variance(const InstrumentView& view) {
  const std::size_t size = static_cast<std::size_t>(view.block.D);
  NetworkRows::over_tiles(static_cast<std::size_t>(rows_), view.pool,
                          [&](int tile, std::size_t first, int count, int thread) {
                            const TileWorkspace<float>& work = network_rows_.forward(
                                thread, view.params.data(), view.obs_normalizer,
                                probe_.data() + first * size, count, NetworkSide::kPolicy);
                            take_probe_tile(work.policy.data(), count, scratch_[thread],
                                            &moments_[static_cast<std::size_t>(tile) * outputs_]);
                          });
  double variances = 0.0;
  for (std::size_t o = 0; o < outputs_; ++o) {
    Moments all;
    for (std::size_t i = o; i < moments_.size(); i += outputs_) {
      all.sum += moments_[i].sum;
      all.squares += moments_[i].squares;
    }
    const double mean = all.sum / rows_;
    variances += std::max(0.0, all.squares / rows_ - mean * mean);
  }
  const auto constant = static_cast<std::size_t>(shape_.has_log_std() ? shape_.box_size() : 0);
  return variances / static_cast<double>(outputs_ + constant);
}

void PolicyInstrument::take_probe_tile(const float* policy, int rows, Scratch& scratch,
                                       Moments* moments) const {
  const auto logits = static_cast<std::size_t>(shape_.logits());
  if (shape_.action_values) {
    categorical_mode(policy, shape_.action_outputs, rows, scratch.actions.data());
    std::fill(scratch.terms.begin(), scratch.terms.end(), 0.0f);
    for (int r = 0; r < rows; ++r) {
      scratch.terms[static_cast<std::size_t>(scratch.actions[r]) * kTileRows + r] = 1.0f;
    }
  } else if (shape_.has_choices()) {
    const CategoricalHeads heads(shape_.heads());
    heads.normalisers(policy, rows, scratch.normalisers.data());
    heads.entropies(policy, scratch.normalisers.data(), rows, scratch.terms.data(),
                    scratch.head_entropies.data(), scratch.log_probs.data());
  }
  for (std::size_t o = 0; o < outputs_; ++o) {
    moments[o] = {};
    const float* const values = o < logits ? scratch.terms.data() : policy;
    for (int r = 0; r < rows; ++r) {
      const double value = values[o * kTileRows + r];
      moments[o].sum += value;
      moments[o].squares += value * value;
    }
  }
}

PolicyInstrument::Shift PolicyInstrument::block_shift(const InstrumentView& view) {
  view.pool.run(pieces_.count(), [&](int piece, int thread) {
    Shift& shift = shifts_[piece] = {};
    Scratch& scratch = scratch_[thread];
    pieces_.over(piece, view.block, {&scratch.old_states, &scratch.states},
                 [&](std::size_t first, int count) {
                   const Shift tile = tile_shift(view, first, count, thread);
                   shift.kl += tile.kl;
                   shift.ratios.add(tile.ratios);
                 });
  });
  Shift sums;
  for (const Shift& tile : shifts_) {
    sums.kl += tile.kl;
    sums.ratios.add(tile.ratios);
  }
  return sums;
}

PolicyInstrument::Shift PolicyInstrument::tile_shift(const InstrumentView& view, std::size_t first,
                                                     int count, int thread) {
  Scratch& scratch = scratch_[thread];
  NetworkInput<float> x = view.block.observations.view(first, static_cast<std::size_t>(count),
                                                       network_rows_.tile(thread));
  x.valid = view.block.valid_row(first);
  const float* before = view.params_before.data();
  const float* after = view.params.data();
  const auto policy_of = [&](const float* params, std::vector<float>& states) {
    return network_rows_
        .forward(thread, params, nullptr, x, count, NetworkSide::kPolicy, nullptr, &states)
        .policy.data();
  };
  const float* old_policy = policy_of(before, scratch.old_states);
  std::copy_n(old_policy, scratch.old_policy.size(), scratch.old_policy.begin());
  const float* policy = policy_of(after, scratch.states);
  if (shape_.has_log_std()) {
    view.network.log_std(before, scratch.old_log_std.data());
    view.network.log_std(after, scratch.log_std.data());
  }
  scratch.divergence(scratch.old_policy.data(), policy, scratch.old_log_std.data(),
                     scratch.log_std.data(), count, scratch.kl.data());
  new_log_probs(view, policy, first, count, scratch);
  Shift sums;
  for (int r = 0; r < count; ++r) sums.kl += scratch.kl[r];
  add_ratios(&view.block.log_probs[first], scratch.log_probs.data(), count, sums.ratios);
  return sums;
}

// Computes log-probabilities with the functions that the collector used for the block.
void PolicyInstrument::new_log_probs(const InstrumentView& view, const float* policy,
                                     std::size_t first, int count, Scratch& scratch) const {
  const std::size_t size = static_cast<std::size_t>(view.block.A);
  for (std::size_t a = 0; a < size; ++a) {
    for (int r = 0; r < count; ++r) {
      scratch.actions[a * kTileRows + r] = view.block.actions[(first + r) * size + a];
    }
  }
  const PolicyRows<float> rows{.outputs = policy,
                               .log_std = scratch.log_std.data(),
                               .actions = scratch.actions.data(),
                               .rows = count,
                               .terms = scratch.terms.data(),
                               .normalisers = scratch.normalisers.data(),
                               .head_entropies = scratch.head_entropies.data()};
  PolicyDistribution(shape_).log_probs(rows, scratch.log_probs.data());
}

}  // namespace broadloom
