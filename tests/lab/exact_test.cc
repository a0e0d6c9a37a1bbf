// Exact gradients compared with finite differences, with each other, and with simulation.
// exact_enumeration_test.cc enumerates a small environment.
#include "research/lab/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/lab/exact_blocks.h"

namespace broadloom {
namespace {

// ---------------------------------------------------------------- finite differences

struct Lake {
  std::string id;
  int max_episode_steps;
  double gamma;
};

class ExactObjective : public ::testing::TestWithParam<Lake> {};

TEST_P(ExactObjective, GradientEqualsFiniteDifferences) {
  const TabularModel model = make_tabular_model(GetParam().id, {}).value();
  const ActorCritic network = make_network(model, {8, 7});
  const Vector params = random_params(network, 0.5);
  ExactSettings settings;
  settings.max_episode_steps = GetParam().max_episode_steps;
  const auto objective_at = [&](std::size_t i, double offset) {
    Vector moved = params;
    moved[i] += offset;
    return solve(model, network, moved, settings)->objective(GetParam().gamma);
  };
  const Vector gradient =
      solve(model, network, params, settings)->policy_gradient(GetParam().gamma);
  double largest = 0.0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-6);
  // Central differences of order h^4: at inputs of the start state, at the ends of layers, and at
  // the largest derivative.
  std::vector<std::size_t> tested{network.policy_head().weight, network.policy_head().bias + 1,
                                  network.actor().layers()[1].slice.weight + 3,
                                  network.actor().layers()[0].slice.bias};
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (std::abs(gradient[i]) == largest) tested.push_back(i);
  }
  constexpr double h = 1e-3;
  for (const std::size_t i : tested) {
    const double numeric = (8.0 * (objective_at(i, h) - objective_at(i, -h)) -
                            (objective_at(i, 2 * h) - objective_at(i, -2 * h))) /
                           (12 * h);
    EXPECT_NEAR(gradient[i], numeric, 1e-6 * largest) << "parameter " << i;
  }
  // The critic's parameters have no influence.
  EXPECT_EQ(gradient[network.value_head().weight], 0.0);
  EXPECT_EQ(gradient[network.critic().layers()[0].slice.bias], 0.0);
}

INSTANTIATE_TEST_SUITE_P(Environments, ExactObjective,
                         ::testing::Values(Lake{"FrozenLake-v1", 100, 0.97},
                                           Lake{"FrozenLake-v1", 0, 1.0},
                                           Lake{"FrozenLake8x8-v1", 200, 1.0},
                                           Lake{"CliffWalking-v1", 60, 0.95}),
                         [](const auto& info) {
                           std::string name = info.param.id.substr(0, info.param.id.find('-'));
                           return name + std::to_string(info.param.max_episode_steps);
                         });

// ---------------------------------------------------------------- identities

// With an exact critic, every estimate of the advantage is right in expectation, so there is no
// bias for any T and lambda. Linear heads on one-hot observations can hold such a critic.
TEST(ExactGradients, AnExactCriticLeavesNoBias) {
  constexpr double kGamma = 0.95;
  const TabularModel model = tiny_model();
  const ActorCritic network = make_network(model, {});
  Vector params = random_params(network, 0.7);
  const Tabulated table = tabulate(model, network, params);
  Vector values(3, 0.0);
  for (int i = 0; i < 2000; ++i) {
    Vector next(3, 0.0);
    for (int s = 0; s < 3; ++s) {
      for (int a = 0; a < 2; ++a) {
        for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
          next[s] += table.policy[s * 2 + a] * o.probability *
                     (o.reward + (o.terminated ? 0.0 : kGamma * values[o.next_state]));
        }
      }
    }
    values = next;
  }
  for (int s = 0; s < 3; ++s) params[network.value_head().at(s, 0)] = values[s];
  params[network.value_head().bias] = 0.0;
  for (const bool synchronised : {false, true}) {
    ExactSettings settings;
    settings.synchronised = synchronised;
    const auto exact = solve(model, network, params, settings);
    for (const int num_steps : {1, 2, 7, 50}) {
      const Vector reference = exact->reference(num_steps, kGamma);
      ASSERT_GT(norm(reference), 0.01);
      for (const double lambda : {0.0, 0.7, 1.0}) {
        const Vector expected = exact->expected({num_steps, lambda, kGamma});
        EXPECT_LT(distance(expected, reference), 1e-12 * norm(reference))
            << num_steps << " " << lambda << " " << synchronised;
      }
    }
  }
}

// If the limit ends every episode, blocks of whole episodes never bootstrap under kAsTermination.
// At lambda = 1 any critic is then only a baseline.
TEST(ExactGradients, BlocksOfWholeEpisodesLeaveNoBias) {
  TabularModel model = tiny_model();
  for (auto& outcomes : model.transitions) {
    for (TabularModel::Outcome& o : outcomes) o.terminated = false;
  }
  const ActorCritic network = make_network(model, {4});
  ExactSettings settings;
  settings.max_episode_steps = 6;
  settings.truncation_mode = TruncationMode::kAsTermination;
  settings.synchronised = true;
  const auto exact = solve(model, network, random_params(network, 0.7), settings);
  EXPECT_DOUBLE_EQ(exact->mean_episode_length(), 6.0);
  for (const int num_steps : {6, 12, 30}) {
    const Vector reference = exact->reference(num_steps, 0.9);
    EXPECT_LT(distance(exact->expected({num_steps, 1.0, 0.9}), reference), 1e-12 * norm(reference));
  }
  // ... but not of others.
  const Vector reference = exact->reference(7, 0.9);
  EXPECT_GT(distance(exact->expected({7, 1.0, 0.9}), reference), 1e-3 * norm(reference));
  EXPECT_GT(distance(exact->expected({6, 0.9, 0.9}), exact->reference(6, 0.9)),
            1e-3 * norm(reference));
}

// Without discount, the sum over whole episodes is the gradient of the return.
TEST(ExactGradients, TheReferenceIsTheGradientOfTheReturnWithoutDiscount) {
  const TabularModel model = make_tabular_model("FrozenLake-v1", {}).value();
  const ActorCritic network = make_network(model, {8});
  ExactSettings settings;
  settings.max_episode_steps = 100;
  const auto exact = solve(model, network, random_params(network, 0.5), settings);
  Vector reference = exact->reference(1, 1.0);
  for (double& g : reference) g *= -exact->mean_episode_length();
  const Vector gradient = exact->policy_gradient(1.0);
  EXPECT_LT(distance(reference, gradient), 1e-12 * norm(gradient));
  EXPECT_LT(distance(exact->reference(64, 1.0), exact->reference(1, 1.0)), 1e-12);
}

// Only episodes cut by the block's end are biased at lambda = 1: a share of about 1/T.
TEST(ExactGradients, TheBiasOfLambdaOneShrinksWithTheBlock) {
  const TabularModel model = make_tabular_model("FrozenLake-v1", {}).value();
  const ActorCritic network = make_network(model, {8});
  ExactSettings settings;
  settings.max_episode_steps = 100;
  settings.truncation_mode = TruncationMode::kAsTermination;
  const auto exact = solve(model, network, random_params(network, 0.5), settings);
  const Vector reference = exact->reference(1, 0.99);
  const auto bias = [&](int num_steps) {
    return distance(exact->expected({num_steps, 1.0, 0.99}), reference);
  };
  EXPECT_NEAR(bias(1000) / bias(4000), 4.0, 1e-6);
  EXPECT_GT(bias(1000), 1e-6 * norm(reference));
}

// ---------------------------------------------------------------- simulation

// One environment as a table, stepped by hand.
class Walker {
 public:
  Walker(const TabularModel& model, const Tabulated& table, int limit, std::uint32_t lane)
      : model_(model), table_(table), limit_(limit), random_(5, Purpose::kUser, lane, 1) {
    reset();
  }

  void reset() {
    state_ = draw([&](int s) { return model_.start[s]; });
    tau_ = 0;
  }

  Taken step() {
    const int a = draw([&](int i) { return table_.policy[state_ * model_.num_actions + i]; });
    const auto& outcomes = model_.outcomes(state_, a);
    const auto& o = outcomes[draw([&](int i) { return outcomes[i].probability; })];
    const bool truncated = !o.terminated && ++tau_ == limit_;
    const Taken taken{state_, a, o.next_state, o.reward, o.terminated, truncated};
    state_ = o.next_state;
    if (o.terminated || truncated) reset();
    return taken;
  }

 private:
  template <class F>
  int draw(F&& probability) {
    double u = random_.uniform();
    int i = 0;
    while ((u -= probability(i)) >= 0.0) ++i;
    return i;
  }

  const TabularModel& model_;
  const Tabulated& table_;
  int limit_;
  Random random_;
  int state_ = 0, tau_ = 0;
};

// Means over blocks agree with the exact numbers within five standard errors, for every parameter
// and the variance. Environments are the independent samples.
void expect_agrees_with_simulation(bool synchronised) {
  constexpr int kEnvs = 200, kBlocks = 200, kLimit = 12;
  const ExactCase exact_case{10, 0.9, 0.95};
  const TabularModel model = make_tabular_model("FrozenLake-v1", {}).value();
  const ActorCritic network = make_network(model, {});
  const Vector params = random_params(network, 0.8);
  const Tabulated table = tabulate(model, network, params);
  ExactSettings settings;
  settings.max_episode_steps = kLimit;
  settings.synchronised = synchronised;
  const auto exact = solve(model, network, params, settings);
  const Vector expected = exact->expected(exact_case);
  const double variance = exact->variance(exact_case, 1).value().total;

  const std::size_t size = params.size();
  // Sums over environments of their means and squared means; the last one is |G - E G|^2.
  Vector sum(size + 1, 0.0), squares(size + 1, 0.0);
  for (int n = 0; n < kEnvs; ++n) {
    Walker walker(model, table, kLimit, static_cast<std::uint32_t>(n));
    for (int i = 0; i < 20 * kLimit + n % kLimit; ++i) walker.step();
    Vector mean(size + 1, 0.0);
    for (int b = 0; b < kBlocks; ++b) {
      if (synchronised) walker.reset();
      std::vector<Taken> block;
      for (int t = 0; t < exact_case.num_steps; ++t) block.push_back(walker.step());
      const BlockGradient g =
          block_gradient(block, table, model.num_actions, exact_case, settings.truncation_mode);
      for (std::size_t i = 0; i < size; ++i) mean[i] += g.gradient[i] / kBlocks;
      mean[size] += std::pow(distance(g.gradient, expected), 2) / kBlocks;
    }
    for (std::size_t i = 0; i <= size; ++i) {
      sum[i] += mean[i];
      squares[i] += mean[i] * mean[i];
    }
  }
  for (std::size_t i = 0; i <= size; ++i) {
    const double mean = sum[i] / kEnvs;
    const double error = std::sqrt((squares[i] / kEnvs - mean * mean) / (kEnvs - 1));
    EXPECT_NEAR(mean, i < size ? expected[i] : variance, 5.0 * error + 1e-15) << i;
    // Too large an error would make the test meaningless.
    if (i == size) EXPECT_LT(error, 0.02 * variance);
  }
}

TEST(ExactGradients, AgreeWithSimulationStationary) { expect_agrees_with_simulation(false); }
TEST(ExactGradients, AgreeWithSimulationSynchronised) { expect_agrees_with_simulation(true); }

// ---------------------------------------------------------------- refusals

TEST(ExactGradients, AreAlsoSolvedInFloat) {
  const TabularModel model = tiny_model();
  const ActorCritic network = make_network(model, {4});
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  const auto exact = ExactGradients::create(model, network, params.data(), {});
  ASSERT_TRUE(exact.ok());
  const Vector wide(params.begin(), params.end());
  EXPECT_EQ(exact.value()->expected({4, 0.9, 0.9}),
            solve(model, network, wide, {})->expected({4, 0.9, 0.9}));
}

TEST(ExactGradients, RefuseUnsolvableCases) {
  const auto refusal = [](const TabularModel& model, const ActorCritic& network,
                          const ExactSettings& settings) {
    const Vector params = random_params(network, 0.5);
    return ExactGradients::create(model, network, params.data(), settings).status();
  };
  const TabularModel model = tiny_model();
  const ActorCritic network = make_network(model, {4});
  EXPECT_TRUE(refusal(model, network, {}).ok());
  TabularModel larger = model;
  larger.num_states = 4;
  EXPECT_EQ(refusal(model, make_network(larger, {4}), {}).kind(), ErrorKind::kMismatch);
  TabularModel uneven = model;
  uneven.transitions[3][0].probability = 0.6;
  EXPECT_EQ(refusal(uneven, network, {}).kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(refusal(model, network, {.max_episode_steps = -1}).kind(), ErrorKind::kInvalidConfig);
  TabularModel endless = model;
  for (auto& outcomes : endless.transitions) {
    for (TabularModel::Outcome& o : outcomes) o.terminated = false;
  }
  const Status status = refusal(endless, network, {});
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("set max_episode_steps"), std::string::npos);
  EXPECT_TRUE(refusal(endless, network, {.max_episode_steps = 10}).ok());
}

TEST(ExactGradients, RefuseAVarianceThatIsTooLarge) {
  const ActorCritic network = make_network(tiny_model(), {4});
  const auto exact = solve(tiny_model(), network, random_params(network, 0.5), {});
  const Result<ExactVariance> variance = exact->variance({5000000, 0.9, 0.9}, 1);
  ASSERT_FALSE(variance.ok());
  EXPECT_EQ(variance.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(variance.status().message().find("5000000 steps would take"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
