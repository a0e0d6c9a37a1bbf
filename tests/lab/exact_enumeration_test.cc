// Exact means and variances compared with all possible blocks of a small environment.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lab/exact_blocks.h"

namespace broadloom {
namespace {

// Sums over all continuations of an episode from (s, tau).
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

// All blocks of an environment from a distribution of positions (s, tau), with probabilities.
class Enumeration {
 public:
  Enumeration(const TabularModel& model, const Tabulated& table, const ExactSettings& settings,
              const ExactCase& exact_case)
      : model_(model), table_(table), settings_(settings), case_(exact_case) {
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
    for (int t = 0; t < case_.num_steps; ++t) {
      Vector after(now.size(), 0.0);
      for (std::size_t place = 0; place < now.size(); ++place) {
        const int s = static_cast<int>(place) % model_.num_states;
        const int tau = static_cast<int>(place) / model_.num_states;
        if (now[place] == 0.0) continue;
        for_steps(s, tau, [&](double p, const Taken& step) {
          double difference = step.reward - table_.values[s];
          if (!step.terminated && !step.truncated) {
            difference += case_.gamma * walk_episode(model_, table_, settings_.max_episode_steps,
                                                     case_.gamma, step.next, tau + 1)
                                            .discounted;
          }
          const Vector& score = table_.scores[s * model_.num_actions + step.action];
          for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] -= now[place] * p * difference * score[i] / case_.num_steps;
          }
          for_next(step, tau, [&](double q, int next, int next_tau) {
            after[next_tau * model_.num_states + next] += now[place] * p * q;
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
  // Without a limit tau stays 0.
  Vector starts() const {
    Vector positions(
        static_cast<std::size_t>(model_.num_states) * std::max(1, settings_.max_episode_steps),
        0.0);
    std::copy(model_.start.begin(), model_.start.end(), positions.begin());
    return positions;
  }

  // Follows the chain; a half of each step stays in place, which removes periods.
  Vector stationary() const {
    Vector now = starts();
    for (int i = 0; i < 600; ++i) {
      Vector next(now.size(), 0.0);
      for (std::size_t place = 0; place < now.size(); ++place) {
        next[place] += 0.5 * now[place];
        const int tau = static_cast<int>(place) / model_.num_states;
        for_steps(static_cast<int>(place) % model_.num_states, tau,
                  [&](double p, const Taken& step) {
                    for_next(step, tau, [&](double q, int s, int next_tau) {
                      next[next_tau * model_.num_states + s] += 0.5 * now[place] * p * q;
                    });
                  });
      }
      now = next;
    }
    return now;
  }

  // Calls f(probability, step) for every possible step at (s, tau).
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

  // Calls f(probability, s, tau) for every position after a step.
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
    if (block_.size() == static_cast<std::size_t>(case_.num_steps)) {
      const BlockGradient g =
          block_gradient(block_, table_, model_.num_actions, case_, settings_.truncation_mode);
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
  const ExactCase& case_;
  std::vector<Taken> block_;
};

void expect_equals_enumeration(const ActorCritic& network, const ExactSettings& settings,
                               const ExactCase& exact_case) {
  const TabularModel model = tiny_model();
  const Vector params = random_params(network, 0.7);
  const Tabulated table = tabulate(model, network, params);
  const Enumeration all(model, table, settings, exact_case);
  ASSERT_NEAR(all.probability, 1.0, 1e-12);

  const auto exact = solve(model, network, params, settings);
  EXPECT_LT(distance(exact->expected(exact_case), all.mean), 1e-12 * norm(all.mean));
  if (settings.max_episode_steps > 0) {
    const Vector reference = all.reference();
    EXPECT_LT(distance(exact->reference(exact_case.num_steps, exact_case.gamma), reference),
              1e-12 * norm(reference));
  }
  const double squared_norm = dot(all.mean, all.mean);
  const double total = all.square - squared_norm;
  const double sample_variance = all.step_square - squared_norm;
  constexpr int kEnvs = 5;
  const ExactVariance variance = exact->variance(exact_case, kEnvs).value();
  EXPECT_NEAR(variance.total * kEnvs, total, 1e-12 * total);
  EXPECT_NEAR(variance.sample_variance, sample_variance, 1e-12 * sample_variance);
  EXPECT_NEAR(variance.squared_norm, squared_norm, 1e-12 * squared_norm);
  EXPECT_NEAR(variance.individual + variance.within, variance.total, 1e-15 * variance.total);
  EXPECT_NEAR(variance.individual * kEnvs * exact_case.num_steps, sample_variance,
              1e-12 * sample_variance);
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

// Blocks shorter than an episode, equal to it, and longer; limits of one step, and none.
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
    const ExactCase exact_case{3, 0.9, 0.95};
    expect_equals_enumeration(make_network(tiny_model(), {}), settings, exact_case);
    expect_equals_enumeration(make_network(tiny_model(), {4, 3}, true), settings, exact_case);
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
    const Episode episode = walk_episode(model, table, kLimit, kGamma, s, 0);
    expected.length += model.start[s] * episode.length;
    expected.total_return += model.start[s] * episode.total_return;
    expected.discounted += model.start[s] * episode.discounted;
  }
  ExactSettings settings;
  settings.max_episode_steps = kLimit;
  const auto exact = solve(model, network, params, settings);
  EXPECT_NEAR(exact->mean_episode_length(), expected.length, 1e-12);
  EXPECT_NEAR(exact->mean_return(), expected.total_return, 1e-12);
  EXPECT_NEAR(exact->objective(kGamma), expected.discounted, 1e-12);
  // A very distant limit has no effect.
  settings.max_episode_steps = 4000;
  const auto far = solve(model, network, params, settings);
  const auto none = solve(model, network, params, {});
  EXPECT_NEAR(far->mean_episode_length(), none->mean_episode_length(), 1e-11);
  EXPECT_NEAR(far->mean_return(), none->mean_return(), 1e-11);
  EXPECT_LT(distance(far->policy_gradient(kGamma), none->policy_gradient(kGamma)), 1e-12);
  EXPECT_LT(distance(far->reference(5, kGamma), none->reference(5, kGamma)), 1e-12);
}

}  // namespace
}  // namespace broadloom
