// The arithmetic kernels one by one: products of a tile, heads, elementwise functions with their
// error, Adam.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/random.h"
#include "broadloom/math/adam.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/head.h"
#include "broadloom/math/linear.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/nn/chain.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

constexpr int kRows = kTileRows;

// At cache lines, as the arrays of a training are.
using Floats = AlignedVector<float>;

Floats normals(std::size_t n, double scale = 1.0) {
  Random random(1, Purpose::kUser, 0, n);
  Floats values(n);
  for (float& v : values) v = static_cast<float>(scale * random.normal());
  return values;
}

void count_flops(benchmark::State& state, double per_iteration) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(per_iteration * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// Arguments: in, out.
void widths(benchmark::internal::Benchmark* b) {
  for (const auto& [in, out] :
       {std::pair{3, 64}, {64, 64}, {32, 32}, {256, 256}, {1024, 1024}, {3136, 512}}) {
    b->Args({in, out});
  }
}

void BM_Forward(benchmark::State& state) {
  const int in = static_cast<int>(state.range(0)), out = static_cast<int>(state.range(1));
  const auto x = normals(kRows * in), w = normals(in * out), b = normals(out);
  Floats y(kRows * out);
  for (auto _ : state) {
    linear_forward(x.data(), w.data(), b.data(), y.data(), kRows, in, out);
    benchmark::ClobberMemory();
  }
  count_flops(state, 2.0 * kRows * in * out);
}
BENCHMARK(BM_Forward)->Apply(widths);

void BM_WeightGradient(benchmark::State& state) {
  const int in = static_cast<int>(state.range(0)), out = static_cast<int>(state.range(1));
  const auto x = normals(kRows * in), dy = normals(kRows * out, 1e-6);
  Floats dw(in * out), db(out);
  for (auto _ : state) {
    linear_backward_weights(x.data(), dy.data(), dw.data(), db.data(), kRows, in, out);
    benchmark::ClobberMemory();
  }
  count_flops(state, 2.0 * kRows * in * out);
}
BENCHMARK(BM_WeightGradient)->Apply(widths);

void BM_Transpose(benchmark::State& state) {
  const int in = static_cast<int>(state.range(0)), out = static_cast<int>(state.range(1));
  const auto w = normals(in * out);
  Floats wt(w.size());
  for (auto _ : state) {
    transpose(w.data(), wt.data(), in, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(8 * w.size()));
}
BENCHMARK(BM_Transpose)->Apply(widths);

// Arguments: in, out of a head.
void BM_HeadForward(benchmark::State& state) {
  const int in = static_cast<int>(state.range(0)), out = static_cast<int>(state.range(1));
  const auto x = normals(kRows * in), w = normals(in * out), b = normals(out);
  Floats y(kRows * out);
  for (auto _ : state) {
    head_forward(x.data(), w.data(), b.data(), y.data(), kRows, in, out, kRows);
    benchmark::ClobberMemory();
  }
  count_flops(state, 2.0 * kRows * in * out);
}
BENCHMARK(BM_HeadForward)->Args({64, 1})->Args({64, 2})->Args({64, 6})->Args({256, 1});

// The largest error of `got` in units of the last place of `expected`.
double max_ulp(const Floats& got, const auto& expected) {
  double worst = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = expected(i);
    const float near = std::abs(static_cast<float>(exact));
    const double ulp = std::nextafter(near, std::numeric_limits<float>::infinity()) - near;
    worst = std::max(worst, std::abs(got[i] - exact) / ulp);
  }
  return worst;
}

void BM_Activation(benchmark::State& state, Activation activation, double (*exact)(double)) {
  const auto x = normals(4096, 2.0);
  Floats y = x;
  activate(activation, y.data(), y.size());
  const double worst = max_ulp(y, [&](std::size_t i) { return exact(x[i]); });
  for (auto _ : state) {
    std::copy(x.begin(), x.end(), y.begin());
    activate(activation, y.data(), y.size());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(x.size()));
  state.counters["max_ulp"] = worst;
}
BENCHMARK_CAPTURE(BM_Activation, tanh, Activation::kTanh, [](double x) { return std::tanh(x); });
BENCHMARK_CAPTURE(BM_Activation, relu, Activation::kRelu, [](double x) { return x > 0 ? x : 0; });
BENCHMARK_CAPTURE(BM_Activation, elu, Activation::kElu,
                  [](double x) { return x > 0 ? x : std::expm1(x); });

// Exponential and logarithm as the categorical policy uses them. A normaliser may be near 0, so its
// error is given as such.
void BM_CategoricalTile(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const auto logits = normals(kRows * count);
  Floats normalisers(kRows), actions(kRows), log_probs(kRows), entropies(kRows),
      probs(logits.size());
  for (auto _ : state) {
    categorical_normalisers(logits.data(), count, kRows, normalisers.data());
    categorical_log_probs(logits.data(), normalisers.data(), actions.data(), count, kRows,
                          log_probs.data());
    categorical_entropies(logits.data(), normalisers.data(), count, kRows, probs.data(),
                          entropies.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows);
  state.counters["exp_max_ulp"] = max_ulp(probs, [&](std::size_t i) {
    return std::exp(static_cast<double>(logits[i] - normalisers[i % kRows]));
  });
  double worst = 0.0;
  for (int r = 0; r < kRows; ++r) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += std::exp(double{logits[i * kRows + r]});
    worst = std::max(worst, std::abs(normalisers[r] - std::log(sum)));
  }
  state.counters["normaliser_max_error"] = worst;
}
BENCHMARK(BM_CategoricalTile)->Arg(2)->Arg(6);

void BM_Normals(benchmark::State& state) {
  Floats z(kRows);
  std::uint64_t step = 0;
  for (auto _ : state) {
    random_normals({1, Purpose::kUser, 0, step++, kRows}, 1, z.data(), kRows);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(BM_Normals);

void BM_Adam(benchmark::State& state) {
  const std::size_t n = static_cast<std::size_t>(state.range(0));
  auto params = normals(n), m = normals(n), v = normals(n);
  const auto grad = normals(n);
  for (float& x : v) x *= x;
  for (auto _ : state) {
    adam_update(params.data(), m.data(), v.data(), grad.data(), n, AdamStep());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}
BENCHMARK(BM_Adam)->Arg(9000)->Arg(133000);

}  // namespace
}  // namespace broadloom
