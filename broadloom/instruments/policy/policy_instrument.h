// The instrument "policy": how much the policy distinguishes states, and how far an update moved
// it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/network_rows.h"
#include "broadloom/instruments/policy/policy_shift.h"

namespace broadloom {

struct PolicyNumbers {
  // Population variance over the probe states, averaged over the policy's outputs, after the
  // update. Outputs are the probabilities of all actions, or a Gaussian's means and standard
  // deviations, as Moalla et al. 2024 stack them. Deviations do not depend on the state here, so
  // they add zeros.
  double variance = 0.0;
  // Policy after the update against the policy that collected the block, over all its transitions.
  // r is the ratio of their probabilities of the action taken.
  double kl = 0.0;     // mean of KL(old || new), exactly
  double kl_k1 = 0.0;  // mean of -log r
  double kl_k3 = 0.0;  // mean of (r - 1) - log r
  double min_ratio = 0.0;
  double max_ratio = 0.0;
  double ess = 0.0;  // RatioSums::ess_percent

  template <class Visitor>
  void visit(Visitor&& v) const;
};

// The block is normalised as when the policy acted, the probe as for the next block. Cost: a
// forward pass over the probe and two over the block.
//
// A network with memory takes each probe state as the first of an episode. It passes over the block
// in sequences, from the states that were kept when it acted, as in training.
//
// Action values have no probabilities: their policy takes the largest one, with probability 1 for
// `variance`. The other numbers are NaN.
class PolicyInstrument final : public Instrument {
 public:
  static constexpr InstrumentNeeds kNeeds{.probe = true, .policy = true, .one_policy = true};
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  explicit PolicyInstrument(const InstrumentSetup& setup);
  static std::size_t bytes(const InstrumentSetup& setup);
  static void declare_numbers(const InfoVisitor& declare) {
    declare_numbers_of<PolicyNumbers>(declare);
  }

  void before_update(const InstrumentView&) override {}
  void after_update(const InstrumentView& view) override;
  void visit_numbers(const NumberVisitor& visit) const override { numbers_.visit(visit); }
  const PolicyNumbers& numbers() const { return numbers_; }

 private:
  // Buffers of one thread, in addition to NetworkRows.
  struct Scratch {
    PolicyDivergence divergence;
    std::vector<float> old_policy;                   // [outputs, kTileRows]
    std::vector<float> actions;                      // [A, kTileRows]
    std::vector<float> terms;                        // [term_rows(), kTileRows]
    std::vector<float> normalisers, head_entropies;  // [A, kTileRows]
    std::vector<float> log_probs;                    // [kTileRows]
    std::vector<double> kl;                          // [kTileRows]
    std::vector<float> old_log_std, log_std;         // [outputs], if they are parameters
    std::vector<float> old_states, states;           // [kTileRows, S] of a network with memory
  };
  // Sums of one output over the probe rows of a tile.
  struct Moments {
    double sum = 0.0, squares = 0.0;
  };

  // Sums over rows of the block.
  struct Shift {
    double kl = 0.0;
    RatioSums ratios;
  };

  double probe_variance(const InstrumentView& view);
  void take_probe_tile(const float* policy, int rows, Scratch& scratch, Moments* moments) const;
  Shift block_shift(const InstrumentView& view);
  Shift tile_shift(const InstrumentView& view, std::size_t first, int count, int thread);
  void new_log_probs(const InstrumentView& view, const float* policy, std::size_t first, int count,
                     Scratch& scratch) const;

  NetworkShape shape_;
  std::size_t outputs_;
  int rows_;
  std::span<const float> probe_;  // [rows, D]
  NetworkRows network_rows_;
  BlockPieces pieces_;
  std::vector<Scratch> scratch_;  // [threads]
  std::vector<Moments> moments_;  // [tiles of the probe, outputs]
  std::vector<Shift> shifts_;     // [pieces of the block]
  PolicyNumbers numbers_;
};

template <class Visitor>
void PolicyNumbers::visit(Visitor&& v) const {
  v(NumberInfo{"policy/variance", "Variance of the policy"}, variance);
  v(NumberInfo{"policy/kl", "KL of the whole update", "nats"}, kl);
  v(NumberInfo{"policy/kl_k1", "KL of the whole update, mean of -log r", "nats"}, kl_k1);
  v(NumberInfo{"policy/kl_k3", "KL of the whole update, mean of (r - 1) - log r", "nats"}, kl_k3);
  v(NumberInfo{"policy/min_ratio", "Smallest ratio of new and old policy"}, min_ratio);
  v(NumberInfo{"policy/max_ratio", "Largest ratio of new and old policy"}, max_ratio);
  v(NumberInfo{"policy/ess", "Effective sample size after the update", "%"}, ess);
}

}  // namespace broadloom
