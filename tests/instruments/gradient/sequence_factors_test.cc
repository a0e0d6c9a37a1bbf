// Per-sample gradients of networks with memory, and of values: against finite differences of a
// network that is run step by step, and against their own sums.
// sanitizers: address
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

struct SequenceCase {
  std::string name;
  CellKind cell;
  SpaceKind kind;
  int outputs;
  bool shared;
  GradientTerms terms;
  int critic = 0;  // observation size of the critic alone
  StdForm std_form = StdForm::kLog;
};

constexpr int kSeen = 3;  // of an observation

NetworkShape shape_of(const SequenceCase& c) {
  NetworkShape shape;
  shape.observation_size = kSeen;
  shape.action_kind = c.kind;
  shape.action_outputs = c.outputs;
  shape.hidden_sizes = {4};
  shape.shared_encoder = c.shared;
  shape.recurrent = c.cell;
  shape.critic_observation_size = c.critic;
  shape.std_form = c.std_form;
  shape.action_values = c.terms.score == Score::kActionValue;
  return shape;
}

// Two environments' steps with random parameters, states and ends of episodes.
struct SequenceScene {
  SequenceScene(const SequenceCase& scene, int step_count, int window_size)
      : c(scene), network(shape_of(scene)), steps(step_count), window(window_size) {
    Random random(7, Purpose::kUser, 0, 0);
    const auto fill = [&](std::vector<double>& x, std::size_t count, double size) {
      x.resize(count);
      for (double& number : x) number = size * random.normal();
    };
    const std::size_t rows = 2 * static_cast<std::size_t>(steps);
    const int A = network.shape().action_size();
    fill(params, network.parameter_count(), 0.4);
    fill(observations, rows * kSeen, 1.0);
    fill(critic_observations, rows * static_cast<std::size_t>(c.critic), 1.0);
    fill(actions, rows * static_cast<std::size_t>(A), 1.0);
    if (c.kind == SpaceKind::kDiscrete) {
      for (double& a : actions) a = random.below(static_cast<unsigned>(c.outputs));
    }
    fill(advantages, rows, 1.0);
    fill(states, 2 * static_cast<std::size_t>(sequences().windows_of_env()) * network.state_size(),
         0.5);
    begins.resize(rows);
    begins[2] = begins[static_cast<std::size_t>(steps) + 5] = 1;
  }

  SampleSequences<double> sequences() const {
    return {steps, window, states.data(), begins.data()};
  }
  int rows() const { return 2 * steps; }
  NetworkInput<double> input(int row) const {
    const double* x = observations.data() + row * kSeen;
    return {x, c.critic == 0 ? x : critic_observations.data() + row * c.critic};
  }

  GradientFactors<double> factors(bool weighted) {
    FactorMaker<double> maker(network, c.terms);
    maker.set_params(params.data());
    GradientFactors<double> out;
    maker.make(input(0), actions.data(), weighted ? advantages.data() : nullptr, advantages.data(),
               rows(), out, sequences());
    return out;
  }

  // The terms of one row, from a network that takes one step at a time.
  double objective(int row, const std::vector<double>& moved) const {
    const std::size_t S = network.state_size();
    TileWorkspace<double> work = network.make_workspace<double>();
    const int env = row / steps, first = row % steps / window * window;
    const double* start =
        states.data() +
        static_cast<std::size_t>(env * sequences().windows_of_env() + first / window) * S;
    std::vector<double> state(start, start + S);
    for (int r = env * steps + first; r <= row; ++r) {
      if (begins[static_cast<std::size_t>(r)] != 0) std::fill(state.begin(), state.end(), 0.0);
      work.states.begin(1);
      std::copy(state.begin(), state.end(), work.states.before.begin());
      network.forward(moved.data(), input(r), 1, work);
      network.copy_state(work, 0, state.data());
    }
    const double a = advantages[static_cast<std::size_t>(row)];
    const int A = network.shape().action_size();
    const double* action = &actions[static_cast<std::size_t>(row * A)];
    if (c.terms.score == Score::kValue) return a * work.values[0];
    if (c.terms.score == Score::kActionValue) {
      return a * work.policy[static_cast<std::size_t>(action[0]) * kTileRows];
    }
    std::vector<double> drawn(static_cast<std::size_t>(A) * kTileRows), more(drawn.size()),
        entropies(drawn.size()), log_probs(kTileRows), sums(kTileRows);
    for (int i = 0; i < A; ++i) drawn[static_cast<std::size_t>(i * kTileRows)] = action[i];
    std::vector<double> terms(
        static_cast<std::size_t>(PolicyDistribution::term_rows(network.shape())) * kTileRows);
    const PolicyDistribution policy(network.shape());
    const PolicyRows<double> tile{.outputs = work.policy.data(),
                                  .log_std = work.log_std.data(),
                                  .actions = drawn.data(),
                                  .rows = 1,
                                  .terms = terms.data(),
                                  .normalisers = more.data(),
                                  .head_entropies = entropies.data()};
    policy.log_probs(tile, log_probs.data());
    policy.entropies(tile, sums.data());
    return a * log_probs[0] + (c.terms.entropy ? c.terms.ent_coef * sums[0] : 0.0) +
           (c.terms.value ? c.terms.vf_coef * a * work.values[0] : 0.0);
  }

  SequenceCase c;
  ActorCritic network;
  int steps, window;
  std::vector<double> params, observations, critic_observations, actions, advantages, states;
  std::vector<std::uint8_t> begins;
};

std::vector<double> gradient_of_row(const GradientFactors<double>& factors, int row,
                                    std::size_t P) {
  std::vector<double> weights(static_cast<std::size_t>(factors.rows)), gradient(P);
  weights[static_cast<std::size_t>(row)] = 1.0;
  add_weighted_sum(factors, weights.data(), gradient.data());
  return gradient;
}

double largest_number(const std::vector<double>& x) {
  double largest = 0.0;
  for (const double number : x) largest = std::max(largest, std::abs(number));
  return largest;
}

class SequenceFactors : public ::testing::TestWithParam<SequenceCase> {};

// Windows of 4 in 9 steps: the last one is shorter.
TEST_P(SequenceFactors, EqualFiniteDifferencesSampleBySample) {
  SequenceScene scene(GetParam(), 9, 4);
  const GradientFactors<double> factors = scene.factors(true);
  for (const int row : {0, 1, 3, 6, 8, 12, 15, 17}) {
    const std::vector<double> gradient = gradient_of_row(factors, row, scene.params.size());
    const double largest = largest_number(gradient);
    ASSERT_GT(largest, 1e-5);
    for (std::size_t p = 0; p < scene.params.size(); ++p) {
      const auto moved = [&](double offset) {
        std::vector<double> params = scene.params;
        params[p] += offset;
        return scene.objective(row, params);
      };
      constexpr double h = 2e-4;
      const double numeric =
          (8.0 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12.0 * h);
      ASSERT_NEAR(gradient[p], numeric, 1e-8 * largest + 1e-11)
          << "row " << row << ", parameter " << p;
    }
  }
}

// A window of several tiles: every sample by itself, the sum in one pass, and one sample's finite
// differences through two tiles.
TEST_P(SequenceFactors, OfLongWindowsAddUpToOnePass) {
  SequenceScene scene(GetParam(), 150, 150);
  if (scene.c.terms.value) GTEST_SKIP() << "sums in one pass are of scores alone";
  const std::size_t P = scene.params.size();
  const GradientFactors<double> scores = scene.factors(false);
  std::vector<double> one_by_one(P), at_once(P);
  add_weighted_sum(scores, scene.advantages.data(), one_by_one.data());
  FactorMaker<double> maker(scene.network, scene.c.terms);
  maker.set_params(scene.params.data());
  maker.add_sequences(scene.input(0), scene.actions.data(), scene.advantages.data(), scene.rows(),
                      scene.sequences(), at_once.data());
  const double largest = largest_number(at_once);
  for (std::size_t p = 0; p < P; ++p) ASSERT_NEAR(one_by_one[p], at_once[p], 1e-11 * largest) << p;
  const int row = 131;
  const std::vector<double> gradient = gradient_of_row(scores, row, P);
  const double a = scene.advantages[row];
  for (std::size_t p = 0; p < P; p += 3) {
    const auto moved = [&](double offset) {
      std::vector<double> params = scene.params;
      params[p] += offset;
      return scene.objective(row, params);
    };
    constexpr double h = 2e-4;
    const double numeric =
        (8.0 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12.0 * h);
    ASSERT_NEAR(a * gradient[p], numeric, 1e-7 * std::abs(a) * largest_number(gradient)) << p;
  }
}

GradientTerms terms_with(Score score) {
  GradientTerms terms;
  terms.score = score;
  return terms;
}

const GradientTerms kAllTerms{true, true, 0.05, 0.5};

INSTANTIATE_TEST_SUITE_P(
    Networks, SequenceFactors,
    ::testing::Values(
        SequenceCase{"mingru", CellKind::kMinGru, SpaceKind::kDiscrete, 3, false, {}},
        SequenceCase{"gru_gaussian", CellKind::kGru, SpaceKind::kBox, 2, false, {}},
        SequenceCase{"gru_all_terms", CellKind::kGru, SpaceKind::kBox, 1, false, kAllTerms, 2},
        SequenceCase{"lstm_shared", CellKind::kLstm, SpaceKind::kDiscrete, 3, true, {}},
        SequenceCase{"lstm_critic", CellKind::kLstm, SpaceKind::kBox, 2, false,
                     terms_with(Score::kValue), 2},
        SequenceCase{"mingru_shared_critic", CellKind::kMinGru, SpaceKind::kBox, 2, true,
                     terms_with(Score::kValue)},
        SequenceCase{"gru_action_values", CellKind::kGru, SpaceKind::kDiscrete, 3, false,
                     terms_with(Score::kActionValue)},
        SequenceCase{"mingru_state_dependent",
                     CellKind::kMinGru,
                     SpaceKind::kBox,
                     4,
                     false,
                     {},
                     0,
                     StdForm::kStateDependent}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace broadloom
