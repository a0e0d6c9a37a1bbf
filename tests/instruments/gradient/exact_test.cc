// The exact gradients against finite differences, against every trajectory of a small environment,
// against each other where they must coincide, and against simulation.
#include "broadloom/instruments/gradient/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/algo/ppo_loss.h"
#include "broadloom/core/random.h"
#include "broadloom/envs/registry.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double distance(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

ActorCritic make_network(const TabularModel& model, const std::vector<int>& hidden,
                         bool shared_encoder = false) {
  NetworkShape shape;
  shape.observation_size = model.num_states;
  shape.action_outputs = model.num_actions;
  shape.hidden_sizes = hidden;
  shape.shared_encoder = shared_encoder;
  return ActorCritic(shape);
}

Vector random_params(const ActorCritic& network, double scale, std::uint32_t lane = 0) {
  Random random(17, Purpose::kUser, lane, 0);
  Vector params(network.parameter_count());
  for (double& p : params) p = scale * random.normal();
  return params;
}

std::unique_ptr<ExactGradients> solve(const TabularModel& model, const ActorCritic& network,
                                      const Vector& params, const ExactSettings& settings) {
  auto exact = ExactGradients::create(model, network, params.data(), settings);
  EXPECT_TRUE(exact.ok()) << exact.status().message();
  return exact.take();
}

// What a network says of every state, by the very loss that trains: grad log pi(a | s) is the
// gradient of -A r at A = -1 and ratio 1.
struct Tabulated {
  Vector policy;               // [S, A]
  Vector values;               // [S]
  std::vector<Vector> scores;  // [S * A] of [P]
};

Tabulated tabulate(const TabularModel& model, const ActorCritic& network, const Vector& params) {
  Tabulated table;
  PpoCoefficients coefficients;
  coefficients.ent_coef = 0.0;
  coefficients.vf_coef = 0.0;
  Vector transposed(params.size());
  network.refresh_transposed(params.data(), transposed.data());
  TileWorkspace<double> work = network.make_workspace<double>();
  for (int s = 0; s < model.num_states; ++s) {
    for (int a = 0; a < model.num_actions; ++a) {
      TileBatch<double> batch(model.num_states, 1, model.num_actions);
      batch.rows = 1;
      batch.observations[s] = 1.0;
      batch.actions[0] = a;
      batch.advantages[0] = -1.0;
      network.forward(params.data(), batch.observations.data(), 1, work);
      double total = 0.0;
      for (int i = 0; i < model.num_actions; ++i) total += std::exp(work.policy[i * kTileRows]);
      const double probability = std::exp(work.policy[a * kTileRows]) / total;
      batch.old_log_probs[0] = std::log(probability);
      if (a == 0) table.values.push_back(work.values[0]);
      table.policy.push_back(probability);
      table.scores.emplace_back(params.size(), 0.0);
      LossSums sums;
      ppo_tile_gradient(network, coefficients, 1, params.data(), transposed.data(), batch, work,
                        table.scores.back().data(), sums);
    }
  }
  return table;
}

// One step of a block as it was taken.
struct Taken {
  int state, action, next;
  double reward;
  bool terminated, truncated;
};

// A_t, by the definition.
Vector block_advantages(const std::vector<Taken>& block, const Vector& values, const ExactCase& of,
                        TruncationMode mode) {
  Vector advantages(block.size());
  double advantage = 0.0;
  for (std::size_t t = block.size(); t-- > 0;) {
    const Taken& step = block[t];
    const double value = values[step.state];
    const double next_value = values[step.next];
    if (step.terminated) {
      advantage = step.reward - value;
    } else if (step.truncated) {
      advantage = step.reward - value;
      if (mode == TruncationMode::kBootstrap) advantage += of.gamma * next_value;
      if (mode == TruncationMode::kStateValue) advantage += of.gamma * value;
      if (mode == TruncationMode::kZero) advantage = 0.0;
    } else {
      advantage = step.reward + of.gamma * next_value - value + of.gamma * of.lambda * advantage;
    }
    advantages[t] = advantage;
  }
  return advantages;
}

// What one environment's block gives.
struct BlockGradient {
  Vector gradient;           // -1/T sum of A_t score_t
  double step_square = 0.0;  // 1/T sum of |A_t score_t|^2
};

BlockGradient block_gradient(const std::vector<Taken>& block, const Tabulated& table,
                             int num_actions, const ExactCase& of, TruncationMode mode) {
  const Vector advantages = block_advantages(block, table.values, of, mode);
  const double share = 1.0 / static_cast<double>(block.size());
  BlockGradient result;
  result.gradient.assign(table.scores[0].size(), 0.0);
  for (std::size_t t = 0; t < block.size(); ++t) {
    const Vector& score = table.scores[block[t].state * num_actions + block[t].action];
    for (std::size_t i = 0; i < score.size(); ++i) {
      result.gradient[i] -= share * advantages[t] * score[i];
    }
    result.step_square += share * advantages[t] * advantages[t] * dot(score, score);
  }
  return result;
}

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
  const auto at = [&](std::size_t i, double offset) {
    Vector moved = params;
    moved[i] += offset;
    return solve(model, network, moved, settings)->objective(GetParam().gamma);
  };
  const Vector gradient =
      solve(model, network, params, settings)->policy_gradient(GetParam().gamma);
  double largest = 0.0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-6);
  // Central differences of order h^4 at the start state's inputs, at every layer's end, and at the
  // largest derivative.
  std::vector<std::size_t> tested{network.policy_head().weight, network.policy_head().bias + 1,
                                  network.actor().layers()[1].weight + 3,
                                  network.actor().layers()[0].bias};
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (std::abs(gradient[i]) == largest) tested.push_back(i);
  }
  constexpr double h = 1e-3;
  for (const std::size_t i : tested) {
    const double numeric =
        (8.0 * (at(i, h) - at(i, -h)) - (at(i, 2 * h) - at(i, -2 * h))) / (12 * h);
    EXPECT_NEAR(gradient[i], numeric, 1e-6 * largest) << "parameter " << i;
  }
  // The critic's parameters have no part in it.
  EXPECT_EQ(gradient[network.value_head().weight], 0.0);
  EXPECT_EQ(gradient[network.critic().layers()[0].bias], 0.0);
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

// ---------------------------------------------------------------- every trajectory

// Three states, two actions; chance in starts, moves and rewards; state 0 can be stayed in.
TabularModel tiny_model() {
  TabularModel model;
  model.num_states = 3;
  model.num_actions = 2;
  model.start = {0.7, 0.3, 0.0};
  model.transitions = {
      {{0.6, 1, 1.0, false}, {0.4, 0, -0.5, false}},  // 0, 0
      {{0.8, 2, 0.2, false}, {0.2, 0, 2.0, true}},    // 0, 1
      {{1.0, 2, -1.0, false}},                        // 1, 0
      {{0.5, 0, 0.7, false}, {0.5, 1, 1.5, true}},    // 1, 1
      {{0.9, 1, 0.3, false}, {0.1, 1, -2.0, false}},  // 2, 0
      {{0.3, 2, 3.0, true}, {0.7, 0, 0.0, false}},    // 2, 1
  };
  return model;
}

// Sums over all ways that an episode can go on from (s, tau).
struct Episode {
  double length = 0.0, total_return = 0.0, discounted = 0.0;
};

Episode walk_episode(const TabularModel& model, const Tabulated& table, int limit, double gamma,
                     int s, int tau) {
  Episode sum;
  for (int a = 0; a < model.num_actions; ++a) {
    for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
      const double p = table.policy[s * model.num_actions + a] * o.probability;
      Episode rest;
      if (!o.terminated && tau + 1 < limit) {
        rest = walk_episode(model, table, limit, gamma, o.next_state, tau + 1);
      }
      sum.length += p * (1.0 + rest.length);
      sum.total_return += p * (o.reward + rest.total_return);
      sum.discounted += p * (o.reward + gamma * rest.discounted);
    }
  }
  return sum;
}

// All blocks that an environment can take from a distribution of positions (s, tau), with their
// probabilities.
class Enumeration {
 public:
  Enumeration(const TabularModel& model, const Tabulated& table, const ExactSettings& settings,
              const ExactCase& of)
      : model_(model), table_(table), settings_(settings), of_(of) {
    mean.assign(table.scores[0].size(), 0.0);
    const Vector begin = settings.synchronised ? starts() : stationary();
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const int s = static_cast<int>(i) % model.num_states;
      if (begin[i] > 0.0) walk(s, static_cast<int>(i) / model.num_states, begin[i]);
    }
  }

  // -1/T sum of E[(discounted return to the episode's end - V) score]. Needs a limit.
  Vector reference() const {
    Vector sum(mean.size(), 0.0);
    Vector now = settings_.synchronised ? starts() : stationary();
    for (int t = 0; t < of_.num_steps; ++t) {
      Vector after(now.size(), 0.0);
      for (std::size_t at = 0; at < now.size(); ++at) {
        const int s = static_cast<int>(at) % model_.num_states;
        const int tau = static_cast<int>(at) / model_.num_states;
        if (now[at] == 0.0) continue;
        for_steps(s, tau, [&](double p, const Taken& step) {
          double difference = step.reward - table_.values[s];
          if (!step.terminated && !step.truncated) {
            difference += of_.gamma * walk_episode(model_, table_, settings_.max_episode_steps,
                                                   of_.gamma, step.next, tau + 1)
                                          .discounted;
          }
          const Vector& score = table_.scores[s * model_.num_actions + step.action];
          for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] -= now[at] * p * difference * score[i] / of_.num_steps;
          }
          for_next(step, tau, [&](double q, int next, int next_tau) {
            after[next_tau * model_.num_states + next] += now[at] * p * q;
          });
        });
      }
      now = after;
    }
    return sum;
  }

  double probability = 0.0;
  Vector mean;               // E G
  double square = 0.0;       // E|G|^2
  double step_square = 0.0;  // mean over positions of E|g_t|^2

 private:
  // Without a limit tau is left at 0.
  Vector starts() const {
    Vector positions(
        static_cast<std::size_t>(model_.num_states) * std::max(1, settings_.max_episode_steps),
        0.0);
    std::copy(model_.start.begin(), model_.start.end(), positions.begin());
    return positions;
  }

  // By following the chain, lazily so that no period stays.
  Vector stationary() const {
    Vector now = starts();
    for (int i = 0; i < 600; ++i) {
      Vector next(now.size(), 0.0);
      for (std::size_t at = 0; at < now.size(); ++at) {
        next[at] += 0.5 * now[at];
        const int tau = static_cast<int>(at) / model_.num_states;
        for_steps(static_cast<int>(at) % model_.num_states, tau, [&](double p, const Taken& step) {
          for_next(step, tau, [&](double q, int s, int next_tau) {
            next[next_tau * model_.num_states + s] += 0.5 * now[at] * p * q;
          });
        });
      }
      now = next;
    }
    return now;
  }

  // f(probability, step) for everything that can happen at (s, tau).
  template <class F>
  void for_steps(int s, int tau, F&& f) const {
    for (int a = 0; a < model_.num_actions; ++a) {
      for (const TabularModel::Outcome& o : model_.outcomes(s, a)) {
        const bool truncated = !o.terminated && tau + 1 == settings_.max_episode_steps;
        f(table_.policy[s * model_.num_actions + a] * o.probability,
          Taken{s, a, o.next_state, o.reward, o.terminated, truncated});
      }
    }
  }

  // f(probability, s, tau) for every position after a step.
  template <class F>
  void for_next(const Taken& step, int tau, F&& f) const {
    if (!step.terminated && !step.truncated) {
      f(1.0, step.next, settings_.max_episode_steps > 0 ? tau + 1 : 0);
      return;
    }
    for (int s = 0; s < model_.num_states; ++s) {
      if (model_.start[s] > 0.0) f(model_.start[s], s, 0);
    }
  }

  void walk(int s, int tau, double chance) {
    if (block_.size() == static_cast<std::size_t>(of_.num_steps)) {
      const BlockGradient g =
          block_gradient(block_, table_, model_.num_actions, of_, settings_.truncation_mode);
      probability += chance;
      square += chance * dot(g.gradient, g.gradient);
      step_square += chance * g.step_square;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += chance * g.gradient[i];
      return;
    }
    for_steps(s, tau, [&](double p, const Taken& step) {
      block_.push_back(step);
      for_next(step, tau,
               [&](double q, int next, int next_tau) { walk(next, next_tau, chance * p * q); });
      block_.pop_back();
    });
  }

  const TabularModel& model_;
  const Tabulated& table_;
  const ExactSettings& settings_;
  const ExactCase& of_;
  std::vector<Taken> block_;
};

void expect_equals_enumeration(const ActorCritic& network, const ExactSettings& settings,
                               const ExactCase& of) {
  const TabularModel model = tiny_model();
  const Vector params = random_params(network, 0.7);
  const Tabulated table = tabulate(model, network, params);
  const Enumeration all(model, table, settings, of);
  ASSERT_NEAR(all.probability, 1.0, 1e-12);

  const auto exact = solve(model, network, params, settings);
  EXPECT_LT(distance(exact->expected(of), all.mean), 1e-12 * norm(all.mean));
  if (settings.max_episode_steps > 0) {
    const Vector reference = all.reference();
    EXPECT_LT(distance(exact->reference(of.num_steps, of.gamma), reference),
              1e-12 * norm(reference));
  }
  const double squared_norm = dot(all.mean, all.mean);
  const double total = all.square - squared_norm;
  const double sample_variance = all.step_square - squared_norm;
  constexpr int kEnvs = 5;
  const ExactVariance variance = exact->variance(of, kEnvs).value();
  EXPECT_NEAR(variance.total * kEnvs, total, 1e-12 * total);
  EXPECT_NEAR(variance.sample_variance, sample_variance, 1e-12 * sample_variance);
  EXPECT_NEAR(variance.squared_norm, squared_norm, 1e-12 * squared_norm);
  EXPECT_NEAR(variance.individual + variance.within, variance.total, 1e-15 * variance.total);
  EXPECT_NEAR(variance.individual * kEnvs * of.num_steps, sample_variance, 1e-12 * sample_variance);
}

struct Block {
  int num_steps, limit;
};

class ExactEnumeration : public ::testing::TestWithParam<Block> {};

TEST_P(ExactEnumeration, EveryModeStartAndLambda) {
  const ActorCritic network = make_network(tiny_model(), {4, 3});
  for (const TruncationMode mode : {TruncationMode::kBootstrap, TruncationMode::kAsTermination,
                                    TruncationMode::kStateValue, TruncationMode::kZero}) {
    for (const bool synchronised : {false, true}) {
      for (const double lambda : {0.0, 0.8, 1.0}) {
        SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", synchronised "
                                        << synchronised << ", lambda " << lambda);
        ExactSettings settings;
        settings.max_episode_steps = GetParam().limit;
        settings.truncation_mode = mode;
        settings.synchronised = synchronised;
        expect_equals_enumeration(network, settings, {GetParam().num_steps, lambda, 0.9});
      }
    }
  }
}

// Blocks shorter than an episode, as long, and longer; with limits of one step and of none.
INSTANTIATE_TEST_SUITE_P(Blocks, ExactEnumeration,
                         ::testing::Values(Block{1, 3}, Block{2, 3}, Block{3, 3}, Block{4, 3},
                                           Block{3, 2}, Block{4, 1}, Block{4, 0}),
                         [](const auto& info) {
                           return "T" + std::to_string(info.param.num_steps) + "L" +
                                  std::to_string(info.param.limit);
                         });

TEST(ExactGradients, EqualEnumerationForOtherNetworks) {
  for (const bool synchronised : {false, true}) {
    ExactSettings settings;
    settings.max_episode_steps = 2;
    settings.synchronised = synchronised;
    const ExactCase of{3, 0.9, 0.95};
    expect_equals_enumeration(make_network(tiny_model(), {}), settings, of);
    expect_equals_enumeration(make_network(tiny_model(), {4, 3}, true), settings, of);
  }
}

TEST(ExactGradients, EpisodesEqualEnumeration) {
  constexpr int kLimit = 7;
  constexpr double kGamma = 0.8;
  const TabularModel model = tiny_model();
  const ActorCritic network = make_network(model, {4});
  const Vector params = random_params(network, 0.7);
  const Tabulated table = tabulate(model, network, params);
  Episode expected;
  for (int s = 0; s < model.num_states; ++s) {
    const Episode from = walk_episode(model, table, kLimit, kGamma, s, 0);
    expected.length += model.start[s] * from.length;
    expected.total_return += model.start[s] * from.total_return;
    expected.discounted += model.start[s] * from.discounted;
  }
  ExactSettings settings;
  settings.max_episode_steps = kLimit;
  const auto exact = solve(model, network, params, settings);
  EXPECT_NEAR(exact->mean_episode_length(), expected.length, 1e-12);
  EXPECT_NEAR(exact->mean_return(), expected.total_return, 1e-12);
  EXPECT_NEAR(exact->objective(kGamma), expected.discounted, 1e-12);
  // A limit far away is none.
  settings.max_episode_steps = 4000;
  const auto far = solve(model, network, params, settings);
  const auto none = solve(model, network, params, {});
  EXPECT_NEAR(far->mean_episode_length(), none->mean_episode_length(), 1e-11);
  EXPECT_NEAR(far->mean_return(), none->mean_return(), 1e-11);
  EXPECT_LT(distance(far->policy_gradient(kGamma), none->policy_gradient(kGamma)), 1e-12);
  EXPECT_LT(distance(far->reference(5, kGamma), none->reference(5, kGamma)), 1e-12);
}

// ---------------------------------------------------------------- identities

// A critic that is right makes every estimate of the advantage right in expectation: there is no
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

// Where the limit ends every episode, blocks of whole episodes never bootstrap under
// kAsTermination, so at lambda = 1 any critic is but a baseline.
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
  // ... and no others.
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

// One environment in a table, stepped by hand.
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

// Means over blocks agree with the exact numbers within five standard errors, every parameter's and
// the variance's. Environments count as the independent samples.
void expect_agrees_with_simulation(bool synchronised) {
  constexpr int kEnvs = 200, kBlocks = 200, kLimit = 12;
  const ExactCase of{10, 0.9, 0.95};
  const TabularModel model = make_tabular_model("FrozenLake-v1", {}).value();
  const ActorCritic network = make_network(model, {});
  const Vector params = random_params(network, 0.8);
  const Tabulated table = tabulate(model, network, params);
  ExactSettings settings;
  settings.max_episode_steps = kLimit;
  settings.synchronised = synchronised;
  const auto exact = solve(model, network, params, settings);
  const Vector expected = exact->expected(of);
  const double variance = exact->variance(of, 1).value().total;

  const std::size_t size = params.size();
  // Sums over environments of their means and of the squares of those; the last is |G - E G|^2.
  Vector sum(size + 1, 0.0), squares(size + 1, 0.0);
  for (int n = 0; n < kEnvs; ++n) {
    Walker walker(model, table, kLimit, static_cast<std::uint32_t>(n));
    for (int i = 0; i < 20 * kLimit + n % kLimit; ++i) walker.step();
    Vector mean(size + 1, 0.0);
    for (int b = 0; b < kBlocks; ++b) {
      if (synchronised) walker.reset();
      std::vector<Taken> block;
      for (int t = 0; t < of.num_steps; ++t) block.push_back(walker.step());
      const BlockGradient g =
          block_gradient(block, table, model.num_actions, of, settings.truncation_mode);
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
    // An error so large that anything would agree is no test.
    if (i == size) EXPECT_LT(error, 0.02 * variance);
  }
}

TEST(ExactGradients, AgreeWithSimulationStationary) { expect_agrees_with_simulation(false); }
TEST(ExactGradients, AgreeWithSimulationSynchronised) { expect_agrees_with_simulation(true); }

// ---------------------------------------------------------------- what is refused

TEST(ExactGradients, AreSolvedInFloatToo) {
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

TEST(ExactGradients, RefuseWhatCannotBeSolved) {
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
