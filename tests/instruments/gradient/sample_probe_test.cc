// The gradients of single samples as training sees them, against explicit vectors.
#include "broadloom/instruments/gradient/sample_probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr int kSteps = 14, kEnvs = 3;

struct SampledScene {
  SampledScene()
      : network(shape()), params(network.parameter_count()), block(kSteps, kEnvs, 4, 1, 0) {
    network.initialise(2, params.data());
    Random random(6, Purpose::kUser, 0, 0);
    for (float& p : params) p += static_cast<float>(0.3 * random.normal());
    for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
    for (float& a : block.actions) a = static_cast<float>(random.below(2));
    for (float& a : block.advantages) a = static_cast<float>(random.normal());
    block.terminated[block.index(11, 1)] = 1;
  }
  static NetworkShape shape() {
    NetworkShape shape;
    shape.observation_size = 4;
    shape.action_outputs = 2;
    shape.hidden_sizes = {6, 5};
    return shape;
  }
  SampleNumbers measure() {
    SampleProbe probe({.network = network,
                       .num_steps = kSteps,
                       .num_envs = kEnvs,
                       .observation_size = 4,
                       .action_size = 1});
    ThreadPool pool(1);
    return probe.measure({.iteration = 1,
                          .network = network,
                          .block = block,
                          .params = params,
                          .params_before = params,
                          .pool = pool});
  }
  // g of step t of environment n, by itself.
  std::vector<double> gradient(int n, int t) {
    FactorMaker<float> maker(network, {});
    maker.set_params(params.data());
    GradientFactors<float> factors;
    const std::size_t i = block.index(t, n);
    maker.make(&block.observations.floats()[i * 4], &block.actions[i], &block.advantages[i],
               nullptr, 1, factors);
    std::vector<float> g(params.size());
    add_weighted_sum(factors, static_cast<const float*>(nullptr), g.data());
    return {g.begin(), g.end()};
  }

  ActorCritic network;
  std::vector<float> params;
  RolloutBlock block;
};

double inner(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

TEST(SampleProbe, EqualsExplicitVectors) {
  SampledScene scene;
  const std::size_t P = scene.params.size();
  const double B = kSteps * kEnvs;
  std::vector<std::vector<std::vector<double>>> g(kEnvs);
  std::vector<double> mean(P);
  double squares = 0.0, cosines = 0.0;
  for (int n = 0; n < kEnvs; ++n) {
    for (int t = 0; t < kSteps; ++t) {
      g[n].push_back(scene.gradient(n, t));
      squares += inner(g[n][t], g[n][t]) / B;
      for (std::size_t p = 0; p < P; ++p) mean[p] += g[n][t][p] / B;
    }
  }
  double variance = 0.0, sums = 0.0;
  for (auto& environment : g) {
    std::vector<double> sum(P);
    for (auto& sample : environment) {
      std::vector<double> others = mean;
      for (std::size_t p = 0; p < P; ++p) others[p] -= sample[p] / B;
      cosines +=
          inner(sample, others) / std::sqrt(inner(sample, sample) * inner(others, others)) / B;
      for (std::size_t p = 0; p < P; ++p) sum[p] += sample[p] -= mean[p];
      variance += inner(sample, sample) / B;
    }
    sums += inner(sum, sum) / B;
  }
  const auto pairs = [&](auto&& other, double& product) {
    double abs = 0.0, count = 0.0;
    product = 0.0;
    for (int n = 0; n < kEnvs; ++n) {
      for (int t = 0; t < kSteps; ++t) {
        const std::vector<double>* with = other(n, t);
        if (with == nullptr) continue;
        const double ij = inner(g[n][t], *with);
        product += ij;
        abs += std::abs(ij) / std::sqrt(inner(g[n][t], g[n][t]) * inner(*with, *with));
        count += 1.0;
      }
    }
    product /= count;
    return abs / count;
  };
  const auto at_lag = [&](int lag) {
    return [&, lag](int n, int t) -> const std::vector<double>* {
      const bool over = n == 1 && t <= 11 && t + lag > 11;  // an episode ends after step 11
      return t + lag < kSteps && !over ? &g[n][t + lag] : nullptr;
    };
  };
  const SampleNumbers numbers = scene.measure();
  double product = 0.0;
  EXPECT_NEAR(numbers.sample_norm, std::sqrt(squares), 1e-4 * std::sqrt(squares));
  EXPECT_NEAR(numbers.mean_cosine, cosines, 1e-4);
  EXPECT_NEAR(numbers.abs_cosine_lag_1, pairs(at_lag(1), product), 1e-4);
  EXPECT_NEAR(numbers.autocovariance_lag_1, product / variance, 1e-4);
  EXPECT_NEAR(numbers.abs_cosine_lag_10, pairs(at_lag(10), product), 1e-4);
  EXPECT_NEAR(numbers.autocovariance_lag_10, product / variance, 1e-4);
  const auto neighbour = [&](int n, int t) -> const std::vector<double>* {
    return n + 1 < kEnvs ? &g[n + 1][t] : nullptr;
  };
  EXPECT_NEAR(numbers.abs_cosine_across, pairs(neighbour, product), 1e-4);
  EXPECT_NEAR(numbers.variance_inflation, sums / variance * 3.0 / 2.0, 1e-3);
}

TEST(SampleProbe, WithoutAnyRewardNothingIsDefinedAndNothingFails) {
  SampledScene scene;
  std::fill(scene.block.advantages.begin(), scene.block.advantages.end(), 0.0f);
  const SampleNumbers numbers = scene.measure();
  EXPECT_EQ(numbers.sample_norm, 0.0);
  EXPECT_TRUE(std::isnan(numbers.mean_cosine));
  EXPECT_TRUE(std::isnan(numbers.variance_inflation));
}

TEST(SampleProbe, HasNoNumbersOfATeachersLabels) {
  SampledScene scene;
  scene.block.labels.resize(2 * scene.block.size());
  scene.measure().visit(
      [](const NumberInfo& info, double value) { EXPECT_TRUE(std::isnan(value)) << info.name; });
}

}  // namespace
}  // namespace broadloom
