// Known agreements, references compared with exact gradients, and refitted critics.
// sanitizers: address, threads
#include "research/lab/agreement.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/value_normalizer.h"
#include "research/lab/critic_fit.h"
#include "research/lab/critics.h"
#include "research/lab/exact_report.h"
#include "research/lab/reference_gradient.h"
#include "tests/lab/chains.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

const BlockShape kShape{2, 4};

const std::vector<AgreementCase> kCases{{0.95, "own", false}, {0.95, "own", true}};

double product(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

// The gradient of one block, sample by sample. normalised: whether its advantages are.
std::vector<double> unit_gradient(const BlockRows& rows, bool normalised) {
  const std::size_t P = rows.parameter_count;
  const std::vector<float>& weights = rows.weights[0];
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / rows.rows();
  std::vector<double> sum(P);
  for (int r = 0; r < rows.rows(); ++r) {
    for (std::size_t p = 0; p < P; ++p) {
      sum[p] += (weights[r] - (normalised ? mean : 0.0)) * rows.factors[0].extras[r * P + p];
    }
  }
  const double norm = std::sqrt(product(sum, sum));
  for (double& x : sum) x /= norm;
  return sum;
}

// Gradients with unequal weights.
BlockRows weighted_block(std::uint64_t seed, int block) {
  BlockRows rows = chain_block({.dimension = 4, .mean = 0.4, .rho = 0.5}, kShape, seed, block);
  Random random(seed, Purpose::kUser, 4, static_cast<std::uint64_t>(block));
  for (float& w : rows.weights[0]) w = static_cast<float>(1.0 + 0.5 * random.normal());
  return rows;
}

std::vector<AgreementResult> study(const ReferenceGradient& reference, int blocks,
                                   std::uint64_t seed) {
  AgreementStudy study(kShape, kCases, reference, blocks, 20);
  AgreementStudy::Scratch scratch;
  for (int b = 0; b < blocks; ++b) study.fold(study.measure(weighted_block(seed, b), scratch));
  return study.results();
}

TEST(Agreement, IsTheMeanCosineOfBlocks) {
  const std::vector<double> truth{1.0, 2.0, -0.5, 0.3};
  constexpr int kBlocks = 100;
  const std::vector<AgreementResult> results = study(ReferenceGradient::exact(truth), kBlocks, 1);
  ASSERT_EQ(results.size(), 2u);
  for (const AgreementResult& r : results) {
    double sum = 0.0;
    int away = 0;
    for (int b = 0; b < kBlocks; ++b) {
      const double cosine = product(unit_gradient(weighted_block(1, b), r.norm_adv), truth) /
                            std::sqrt(product(truth, truth));
      sum += cosine;
      away += cosine < 0.0;
    }
    EXPECT_NEAR(r.agreement.value, sum / kBlocks, 1e-5);
    EXPECT_NEAR(r.away.value, static_cast<double>(away) / kBlocks, 1e-12);
    EXPECT_LT(r.agreement.low, r.agreement.value);
  }
  EXPECT_GT(std::abs(results[0].agreement.value - results[1].agreement.value), 0.1);
}

// Fewer than 50 of 60 intervals of 95 % hold by chance less than once in a thousand times.
TEST(Agreement, IsNotLoweredByNoiseInTheReference) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const std::vector<double> truth{0.5, 0.5, 0.5, 0.5};
  constexpr int kGroups = 16;
  const AgreementResult exact = study(ReferenceGradient::exact(truth), 20000, 9)[0];
  int held = 0, naive_held = 0;
  for (int repeat = 0; repeat < 60; ++repeat) {
    Random random(3, Purpose::kUser, 5, static_cast<std::uint64_t>(repeat));
    ReferenceGradient reference;
    std::vector<double> mean(truth.size());
    for (int g = 0; g < kGroups; ++g) {
      std::vector<double> group = truth;
      for (double& x : group) x += 0.7 * random.normal();
      for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += group[p] / kGroups;
      reference.groups.push_back(group);
    }
    const AgreementResult r = study(reference, 2000, 100 + repeat)[0];
    if (std::isnan(r.agreement.value)) continue;  // the study found no direction
    held += r.agreement.holds(exact.agreement.value);
    naive_held += study(ReferenceGradient::exact(mean), 2000, 100 + repeat)[0].agreement.holds(
        exact.agreement.value);
  }
  EXPECT_GE(held, 48);
  EXPECT_LT(naive_held, 30);  // a missing correction would be noticed
}

TEST(Agreement, IsUndefinedWithoutADirection) {
  ReferenceGradient reference;
  Random random(3, Purpose::kUser, 6, 0);
  for (int g = 0; g < 16; ++g) {
    reference.groups.push_back(
        {random.normal(), random.normal(), random.normal(), random.normal()});
  }
  const AgreementResult r = study(reference, 40, 1)[0];
  EXPECT_TRUE(std::isnan(r.agreement.value));
  EXPECT_TRUE(std::isnan(r.away.value));
}

// A policy on a lake with fresh, unequal parameters.
struct Fresh {
  explicit Fresh(bool shared = false)
      : config(resolve_config({{"env_id", "FrozenLake-v1"},
                               {"env.is_slippery", "false"},
                               {"max_episode_steps", "20"},
                               {"gamma", "0.95"},
                               {"shared_encoder", shared ? "true" : "false"}})
                   .take()),
        spec(env_spec("FrozenLake-v1", {{"is_slippery", "false"}}, 20).take()),
        network(shape(spec, shared)),
        params(network.parameter_count()),
        policy{config, spec, network, params.data()} {
    network.initialise(3, params.data());
    Random random(8, Purpose::kUser, 0, 0);
    for (float& p : params) p += static_cast<float>(0.4 * random.normal());
  }
  static NetworkShape shape(const EnvSpec& spec, bool shared) {
    NetworkShape shape;
    shape.observation_size = spec.observation_size();
    shape.action_kind = spec.action.kind;
    shape.action_outputs = spec.action.size;
    shape.hidden_sizes = {16, 16};
    shape.shared_encoder = shared;
    return shape;
  }
  Config config;
  EnvSpec spec;
  ActorCritic network;
  std::vector<float> params;
  Policy policy;
};

class ReferenceAtLimit : public ::testing::TestWithParam<int> {};

// The squared norm of a sampled reference minus the exact one, less its own noise, and that noise.
// Apart from the noise, the expected squared norm is 0.
struct Rest {
  double squared = 0.0, noise = 0.0;
};
Rest rest_of(const ReferenceGradient& sampled, const std::vector<double>& exact) {
  const int groups = static_cast<int>(sampled.groups.size());
  std::vector<double> products(static_cast<std::size_t>(groups) * groups);
  const auto rest = [&](int g) {
    std::vector<double> out = sampled.groups[static_cast<std::size_t>(g)];
    for (std::size_t p = 0; p < out.size(); ++p) out[p] -= exact[p];
    return out;
  };
  Rest out;
  for (int g = 0; g < groups; ++g) {
    for (int h = 0; h < groups; ++h) {
      products[g * groups + h] = product(rest(g), rest(h));
      if (g != h) out.squared += products[g * groups + h] / (groups * (groups - 1.0));
    }
  }
  out.noise = noise_error(products, groups);
  return out;
}

TEST_P(ReferenceAtLimit, IsTheExactOne) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const int beyond = GetParam();
  const Fresh fresh;
  ThreadPool pool(2);
  CompleteEpisodes episodes(fresh.policy, {20, beyond}, 2000000, 5, pool);
  const ReferenceGradient sampled =
      measure_reference(fresh.policy, episodes, 0.95, {}, pool, {}).take();
  const auto solved = solve_exactly(fresh.policy, Starts::kStationary, beyond > 0).take();
  std::vector<double> exact = solved->reference(1, 0.95);
  for (double& x : exact) x = -x;  // as the gradient of a loss
  // Half of the gradient, or its negative, would be noticed.
  const Rest rest = rest_of(sampled, exact);
  EXPECT_LT(std::abs(rest.squared), 3.0 * rest.noise);
  EXPECT_LT(3.0 * rest.noise, 0.2 * product(exact, exact));
  // Another baseline changes only the noise.
  const Critic far_off = [](const Observations& seen) {
    return std::vector<float>(seen.size() / static_cast<std::size_t>(seen.type().size), 0.7f);
  };
  const Rest with_far =
      rest_of(measure_reference(fresh.policy, episodes, 0.95, far_off, pool, {}).take(), exact);
  EXPECT_LT(std::abs(with_far.squared), 3.0 * with_far.noise);
  const Rest with_true =
      rest_of(measure_reference(fresh.policy, episodes, 0.95,
                                table_critic(solved->state_values(0.95)), pool, {})
                  .take(),
              exact);
  EXPECT_LT(std::abs(with_true.squared), 3.0 * with_true.noise);
  EXPECT_LT(with_true.noise, with_far.noise);
  EXPECT_GT(sampled.samples, beyond > 0 ? 250000 : 900000);
}

INSTANTIATE_TEST_SUITE_P(TimeLimits, ReferenceAtLimit, ::testing::Values(0, 90));

// The exact critic is right on average. Its gradient is then the true one in blocks of any shape,
// whatever lambda.
TEST(Critics, AnExactCriticLeavesNoBias) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const Fresh fresh;
  ThreadPool pool(2);
  const auto exact = solve_exactly(fresh.policy, Starts::kStationary, true).take();
  const StartPool starts = StartPool::create(fresh.policy, 1, pool).take();
  BlockSource source(fresh.policy, &starts, 5, pool);
  const auto block = source.collect({4, 3}, 60000, 0).take();
  std::vector<double> states(16, 0.0), counts(16, 0.0);
  const std::vector<float> own = block->values;
  const std::vector<float> own_last = block->last_values, own_final = block->final_values;
  value_by(table_critic(exact->state_values(0.95)), *block);
  compute_advantages(*block, 0, block->N, 0.95, 0.0, TruncationMode::kBootstrap);
  for (std::size_t i = 0; i < block->size(); ++i) {
    const auto row = block->observations.floats().subspan(i * 16, 16);
    const auto state = std::max_element(row.begin(), row.end()) - row.begin();
    states[state] += block->advantages[i];
    counts[state] += 1.0;
  }
  for (int s = 0; s < 16; ++s) {  // from TD errors of at most 1
    if (counts[s] > 0.0) EXPECT_LT(std::abs(states[s]), 4.0 * std::sqrt(counts[s])) << s;
  }
  value_by(network_critic(fresh.network, fresh.params.data(), pool), *block);
  EXPECT_EQ(block->values, own);
  EXPECT_EQ(block->last_values, own_last);
  for (int n = 0; n < block->N; ++n) {
    for (int s = 0; s < block->truncations[n]; ++s) {
      const std::size_t i = block->final_index(n, s);
      EXPECT_EQ(block->final_values[i], own_final[i]);
    }
  }
}

// Popart gives a critic other outputs for the same values, so nothing may change here.
TEST(Values, OfANormalisedCriticAreThoseOfAPlainOne) {
  const Fresh plain;
  ValueNormalizer popart(ValueNorm::kPopart);
  std::vector<float> params(plain.params);
  RolloutBlock seen(8, 4, 1, 1, 0);
  std::fill(seen.values.begin(), seen.values.end(), 3.0f);
  std::fill(seen.advantages.begin(), seen.advantages.end(), 2.0f);
  popart.take(seen, plain.network.value_head(), params.data());
  Policy policy{plain.config, plain.spec, plain.network, params.data()};
  policy.value_norm = &popart;
  ThreadPool pool(2);
  const auto expected = BlockSource(plain.policy, nullptr, 5, pool).collect({4, 30}, 2, 0).take();
  const auto block = BlockSource(policy, nullptr, 5, pool).collect({4, 30}, 2, 0).take();
  EXPECT_EQ(block->actions, expected->actions);
  const auto expect_near = [](const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 3e-5);
  };
  expect_near(block->values, expected->values);
  expect_near(block->last_values, expected->last_values);
  const std::vector<float> own = block->values;
  value_by(network_critic(policy.network, policy.params, pool, policy.value_norm), *block);
  EXPECT_EQ(block->values, own);
  const ExactCase exact_case{3, 0.5, 0.95};
  const std::vector<double> solved =
      solve_exactly(policy, Starts::kStationary, true).take()->expected(exact_case);
  const std::vector<double> solved_plain =
      solve_exactly(plain.policy, Starts::kStationary, true).take()->expected(exact_case);
  for (const ParameterRange& range : plain.network.ranges(NetworkSide::kPolicy)) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      EXPECT_NEAR(solved[p], solved_plain[p], 1e-4);
    }
  }
}

TEST(CriticFit, ExplainsReturnsWithoutChangingThePolicy) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const Fresh fresh;
  std::vector<float> expected;
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    CompleteEpisodes episodes(fresh.policy, {20, 90}, 800000, 5, pool);
    const Result<std::unique_ptr<CriticFit>> fit =
        fit_critic(fresh.policy, episodes, 0.95, pool, {});
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    const float* params = fit.value()->params();
    const std::vector<float> found(params, params + fresh.params.size());
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads << " threads";
    const RolloutBlock& newest = *fit.value()->held_out();
    const auto exact = solve_exactly(fresh.policy, Starts::kStationary, true).take();
    const double own =
        explained_variance(network_critic(fresh.network, fresh.params.data(), pool), newest);
    const double best = explained_variance(table_critic(exact->state_values(0.95)), newest);
    EXPECT_LT(own, 0.0);                                       // the critic never learnt
    EXPECT_GT(fit.value()->explained_variance(), 0.6 * best);  // chance decides most of a return
    EXPECT_GT(best, 0.03);
    // nothing does better, except by chance
    EXPECT_GT(best, fit.value()->explained_variance() - 0.01);
  }
  for (const ParameterRange& range : fresh.network.ranges(NetworkSide::kPolicy)) {
    for (std::size_t p = range.begin; p < range.end; ++p) EXPECT_EQ(expected[p], fresh.params[p]);
  }
}

}  // namespace
}  // namespace broadloom
