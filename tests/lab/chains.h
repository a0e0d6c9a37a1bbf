// Blocks of gradients with known correlations, which the studies must find.
#pragma once

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "research/lab/block_rows.h"

namespace broadloom {

// g[n, t] = mean + x[n, t], equal in all dimensions. x has variance 1. Within an environment it is
// an AR(1) chain in time with coefficient rho; all environments share a part `shared` of the
// variance at each time step (white in time).
struct CorrelatedChain {
  int dimension = 4;
  double mean = 0.0;  // of every dimension
  double rho = 0.0;
  double shared = 0.0;

  double sample_variance() const { return dimension; }
  double squared_norm() const { return dimension * mean * mean; }
  // Sum over t != u of the covariance of x[n, t] and x[n, u], over T, without the shared part.
  double within(int num_steps) const {
    double sum = 0.0;
    for (int k = 1; k < num_steps; ++k) {
      sum += 2.0 * (num_steps - k) * (1.0 - shared) * std::pow(rho, k);
    }
    return dimension * sum;
  }
};

// One block, as rows with explicit gradients in `extras` and weights 1.
inline BlockRows chain_block(const CorrelatedChain& chain, BlockShape shape, std::uint64_t seed,
                             int block) {
  BlockRows rows;
  rows.shape = shape;
  rows.parameter_count = static_cast<std::size_t>(chain.dimension);
  rows.weights.assign(1, std::vector<float>(static_cast<std::size_t>(shape.batch()), 1.0f));
  rows.factors.resize(1);
  GradientFactors<float>& factors = rows.factors[0];
  factors.rows = shape.batch();
  factors.extra_runs = {{0, chain.dimension}};
  factors.extra_size = chain.dimension;
  factors.extras.resize(static_cast<std::size_t>(shape.batch()) * chain.dimension);
  rows.trajectory.resize(static_cast<std::size_t>(shape.batch()));
  Random random(seed, Purpose::kUser, 3, static_cast<std::uint64_t>(block));
  const std::size_t steps = static_cast<std::size_t>(shape.num_steps);
  std::vector<double> common(steps);
  for (int d = 0; d < chain.dimension; ++d) {
    for (double& c : common) c = std::sqrt(chain.shared) * random.normal();
    for (int n = 0; n < shape.num_envs; ++n) {
      double x = random.normal();
      for (int t = 0; t < shape.num_steps; ++t) {
        if (t > 0) x = chain.rho * x + std::sqrt(1.0 - chain.rho * chain.rho) * random.normal();
        const std::size_t row = static_cast<std::size_t>(n) * steps + t;
        factors.extras[row * chain.dimension + d] = static_cast<float>(
            chain.mean + std::sqrt(1.0 - chain.shared) * x + common[static_cast<std::size_t>(t)]);
        rows.trajectory[row] = n;
      }
    }
  }
  return rows;
}

}  // namespace broadloom
