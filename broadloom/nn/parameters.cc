#include "broadloom/nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Eight interleaved sums, so that no addition waits for the one before.
double dot(const double* a, const double* b, int n) {
  double chains[8] = {};
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) chains[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) chains[i % 8] += a[i] * b[i];
  double sum = 0.0;
  for (const double chain : chains) sum += chain;
  return sum;
}

// Makes vector k of `vectors` [count, length] orthogonal to its predecessors and of length 1.
// Gram-Schmidt runs twice: the second pass removes the rounding errors of the first.
void orthonormalise(std::vector<double>& vectors, int k, int length) {
  double* v = &vectors[static_cast<std::size_t>(k) * length];
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = 0; j < k; ++j) {
      const double* u = &vectors[static_cast<std::size_t>(j) * length];
      const double projection = dot(u, v, length);
      for (int i = 0; i < length; ++i) v[i] -= projection * u[i];
    }
  }
  const double norm = std::sqrt(dot(v, v, length));
  for (int i = 0; i < length; ++i) v[i] /= norm;
}

}  // namespace

void init_orthogonal(const LinearSlice& layer, double gain, std::uint64_t seed,
                     std::uint32_t tensor, float* params, Purpose purpose) {
  const int count = std::min(layer.in, layer.out);
  const int length = std::max(layer.in, layer.out);
  std::vector<double> vectors(static_cast<std::size_t>(count) * length);
  Random random(seed, purpose, tensor, 0);
  for (double& x : vectors) x = random.normal();
  for (int k = 0; k < count; ++k) orthonormalise(vectors, k, length);
  for (int i = 0; i < layer.in; ++i) {
    for (int o = 0; o < layer.out; ++o) {
      const int k = layer.in < layer.out ? i : o;
      const int position = layer.in < layer.out ? o : i;
      params[layer.at(i, o)] =
          static_cast<float>(gain * vectors[static_cast<std::size_t>(k) * length + position]);
    }
  }
  std::fill_n(params + layer.bias, layer.out, 0.0f);
}

void init_truncated_normal(const LinearSlice& layer, double scale, std::uint64_t seed,
                           std::uint32_t tensor, float* params, Purpose purpose) {
  // Standard deviation of a standard normal truncated to [-2, 2].
  constexpr double kDeviationOfCut = 0.879625661034239;
  const double deviation = std::sqrt(scale / layer.in) / kDeviationOfCut;
  Random random(seed, purpose, tensor, 0);
  for (int i = 0; i < layer.in; ++i) {
    for (int o = 0; o < layer.out; ++o) {
      double x = random.normal();
      while (std::abs(x) > 2.0) x = random.normal();
      params[layer.at(i, o)] = static_cast<float>(deviation * x);
    }
  }
  std::fill_n(params + layer.bias, layer.out, 0.0f);
}

void init_uniform(const LinearSlice& layer, double scale, bool with_bias, std::uint64_t seed,
                  std::uint32_t tensor, float* params, Purpose purpose) {
  const double bound = std::sqrt(scale / layer.in);
  Random random(seed, purpose, tensor, 0);
  const auto draw = [&] { return static_cast<float>(bound * (2.0 * random.uniform() - 1.0)); };
  for (int i = 0; i < layer.in; ++i) {
    for (int o = 0; o < layer.out; ++o) params[layer.at(i, o)] = draw();
  }
  for (int o = 0; o < layer.out; ++o) params[layer.bias + o] = with_bias ? draw() : 0.0f;
}

}  // namespace broadloom
