// Scores grad log pi of some steps of an environment, as factors.
#pragma once

#include <algorithm>
#include <vector>

#include "broadloom/evaluate/policy.h"
#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Use one per thread.
class StepScores {
 public:
  explicit StepScores(const Policy& policy) : maker_(policy.network, {}) {
    maker_.set_params(policy.params);
  }

  // Scores of environment n at these places in time, in that order. Valid until the next call.
  const GradientFactors<float>& factors_of(const RolloutBlock& block, int n,
                                           const std::vector<int>& steps) {
    const std::size_t D = static_cast<std::size_t>(block.D), A = static_cast<std::size_t>(block.A);
    observations_.resize(steps.size() * D);
    actions_.resize(steps.size() * A);
    valid_.resize(steps.size() * static_cast<std::size_t>(block.M));
    for (std::size_t r = 0; r < steps.size(); ++r) {
      const std::size_t i = block.index(steps[r], n);
      block.observations.read(i, 1, &observations_[r * D]);
      std::copy_n(&block.actions[i * A], A, &actions_[r * A]);
      block.copy_valid(i, r, valid_);
    }
    NetworkInput<float> input(observations_.data());
    if (block.M > 0) input.valid = valid_.data();
    maker_.make(input, actions_.data(), nullptr, nullptr, static_cast<int>(steps.size()), factors_);
    return factors_;
  }

 private:
  FactorMaker<float> maker_;
  GradientFactors<float> factors_;
  std::vector<float> observations_, actions_;
  std::vector<std::uint8_t> valid_;
};

}  // namespace broadloom
