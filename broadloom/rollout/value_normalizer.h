// Normalisation of the critic's values: the critic learns and outputs V in units of the returns'
// running statistics. A block's values and bootstraps are in units of rewards.
//
// The statistics are those of rl_games' RunningMeanStd: population moments that begin with one
// sample of mean 0 and variance 1, and a divisor sqrt(var + 1e-5). They change once per block,
// after its advantages. First its values enter, then its returns (advantage + value).
//
// kRunning takes the order of rl_games' unmasked blocks and of skrl: old values are normalised
// before the returns enter, and returns after. The update then equals theirs. With kPopart both are
// normalised after the returns enter, in the unit that the rescaled critic outputs. So the value
// clip begins at a change of 0.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/nn/parameters.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/value_formulas.h"

namespace broadloom {

enum class ValueNorm {
  kRunning,  // as rl_games: clipped to +-5 deviations, both ways
  // Changes the value head with the statistics, so that no value changes (van Hasselt et al. 2016,
  // arXiv 1602.07714, eq. 7: w' = w s / s', b' = (s b + m - m') / s'). Not clipped.
  kPopart,
};

class ValueNormalizer {
 public:
  explicit ValueNormalizer(ValueNorm kind);

  // The unit of the critic's outputs.
  ValueUnit unit() const;
  // values [count]: from outputs of the critic to values.
  void denormalize(float* values, std::size_t count) const;
  // Likewise the block's values, last values and those of its truncations.
  void denormalize(RolloutBlock& block) const;

  // Takes the values and returns of the block's transitions into the statistics. kPopart also
  // changes `head`, of one output, in params. The sums have the order of the block's rows.
  void take(const RolloutBlock& block, const LinearSlice& head, float* params);
  // For the loss, after take(): a value of the block and a target in the critic's unit.
  float old_output(float value) const { return learnt_.old_values.output(value); }
  float target(float value) const { return learnt_.targets.output(value); }
  const LearntUnits& learnt() const { return learnt_; }

  const RunningMeanStd& statistics() const { return statistics_; }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) {
    statistics_.append_state(prefix, out);
  }

 private:
  ValueNorm kind_;
  RunningMeanStd statistics_;
  LearntUnits learnt_;
};

}  // namespace broadloom
