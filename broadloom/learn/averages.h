// Averages over the steps and blocks of a run, for PPO that does not depend on the block's size
// (Hilton, Cobbe and Schulman 2022, arXiv 2110.00641). The formulas are those of the authors'
// program, openai/ppo-ewma.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// An exponentially weighted average of parameters: of the first ones, and of those after each step.
struct ParameterAverage {
  // Takes the first parameters, unless it has some. Allocates only if allocate() did not.
  void begin(const float* params, std::size_t count);
  void allocate(std::size_t count) { mean.resize(count); }
  // Adds the parameters after a step; all earlier weights are multiplied by decay.
  void add(const float* params, double decay);
  void append_state(const std::string& name, std::vector<TensorRef>& out);

  AlignedVector<float> mean;  // [P], or empty
  double weight = 0.0;        // sum of all weights; 0: no parameters yet
};

// Mean and variance of numbers that come in blocks; each block multiplies the weights of all
// earlier ones by decay.
struct RunningMoments {
  // squares: the sum of squared deviations from the block's mean.
  void add(double mean, double squares, std::int64_t count, double decay);
  double mean() const { return sums[1] / sums[0]; }
  double var() const { return std::max(0.0, (sums[2] - sums[1] * mean()) / sums[0]); }
  void append_state(const std::string& name, std::vector<TensorRef>& out);

  double sums[3] = {};  // of weights, numbers and squares
};

}  // namespace broadloom
