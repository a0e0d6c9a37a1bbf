// PPO with averaged parameters as its proximal policy (PPO-EWMA, arXiv 2110.00641), running moments
// of advantages and other betas, against updates by hand: a policy in double precision, gradients
// by differences of the loss, and averages from all that was ever seen.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/nn/distributions.h"

// An own name, since other files by hand share the unit.
namespace broadloom::proximal_by_hand {
namespace {

constexpr int kSteps = 6, kEnvs = 8, kRows = kSteps * kEnvs, kMinibatches = 3, kEpochs = 2;
constexpr int kObservation = 3, kActions = 2, kUpdates = 4;
constexpr double kClip = 0.05, kRate = 1e-2, kAdamEps = 1e-6, kProximal = 0.8, kWindow = 0.6;
constexpr AdamBetas kBetas{0.5, 0.9};

NetworkShape shape(bool shared) {
  NetworkShape shape;
  shape.observation_size = kObservation;
  shape.action_outputs = kActions;
  shape.hidden_sizes = {5};
  shape.shared_encoder = shared;
  return shape;
}

// A block's part that is drawn: observations, actions and advantages.
struct Play {
  explicit Play(int update) {
    Random random(31, Purpose::kUser, static_cast<std::uint64_t>(update), 0);
    for (int i = 0; i < kRows * kObservation; ++i) {
      seen.push_back(static_cast<float>(random.normal()));
    }
    for (int i = 0; i < kRows; ++i) {
      actions.push_back(static_cast<float>(random.below(kActions)));
      advantages.push_back(static_cast<float>((2.0 + update) * random.normal() - 1.0 + update));
    }
  }
  std::vector<float> seen, actions, advantages;
};

struct ByHand {
  ByHand(const ActorCritic& of_network, const float* first)
      : network(of_network),
        params(first, first + network.parameter_count()),
        m(params.size()),
        v(params.size()) {
    history.push_back(params);
  }

  double log_prob(const std::vector<double>& weights, const Play& play, int row) {
    const std::vector<double> x(play.seen.begin() + row * kObservation,
                                play.seen.begin() + (row + 1) * kObservation);
    network.forward(weights.data(), x.data(), 1, work, NetworkSide::kPolicy);
    const double a = work.policy[0], b = work.policy[kTileRows];
    const double most = std::max(a, b);
    const double sum = most + std::log(std::exp(a - most) + std::exp(b - most));
    return (play.actions[static_cast<std::size_t>(row)] == 0.0f ? a : b) - sum;
  }

  // Weights fall with each step that came later.
  std::vector<double> averaged() const {
    std::vector<double> average(params.size());
    double weights = 0.0;
    for (std::size_t h = 0; h < history.size(); ++h) {
      const double weight = std::pow(kProximal, static_cast<double>(history.size() - 1 - h));
      weights += weight;
      for (std::size_t i = 0; i < average.size(); ++i) average[i] += weight * history[h][i];
    }
    for (double& x : average) x /= weights;
    return average;
  }

  void find_moments() {
    double weights = 0.0;
    mean = var = 0.0;
    const auto each = [&](auto&& f) {
      for (std::size_t b = 0; b < advantages.size(); ++b) {
        const double weight = std::pow(kWindow, static_cast<double>(advantages.size() - 1 - b));
        for (const float x : advantages[b]) f(weight, static_cast<double>(x));
      }
    };
    each([&](double weight, double x) {
      weights += weight;
      mean += weight * x;
    });
    mean /= weights;
    each([&](double weight, double x) { var += weight * (x - mean) * (x - mean) / weights; });
  }

  double loss(const std::vector<double>& weights, const std::vector<double>& proximal,
              const Play& play, int begin, int end) {
    double sum = 0.0;
    for (int i = begin; i < end; ++i) {
      const double now = log_prob(weights, play, i), close = log_prob(proximal, play, i);
      const double old = old_log_probs[static_cast<std::size_t>(i)];
      const double a = (play.advantages[static_cast<std::size_t>(i)] - mean) / std::sqrt(var);
      const double kept = std::clamp(std::exp(now - close), 1.0 - kClip, 1.0 + kClip);
      const double free = -a * std::exp(now - old), limited = -a * kept * std::exp(close - old);
      clipped += limited > free + 1e-12;
      sum += std::max(free, limited);
    }
    return sum / (end - begin);
  }

  void update(const Play& play) {
    old_log_probs.clear();
    for (int i = 0; i < kRows; ++i) old_log_probs.push_back(log_prob(params, play, i));
    advantages.push_back(play.advantages);
    find_moments();
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int b = 0; b < kMinibatches; ++b) {
        step(play, b * kRows / kMinibatches, (b + 1) * kRows / kMinibatches);
      }
    }
  }

  void step(const Play& play, int begin, int end) {
    const std::vector<double> proximal = averaged();
    std::vector<double> gradient(params.size());
    for (std::size_t i = 0; i < params.size(); ++i) {
      constexpr double h = 1e-6;
      std::vector<double> moved = params;
      moved[i] = params[i] + h;
      const double up = loss(moved, proximal, play, begin, end);
      moved[i] = params[i] - h;
      gradient[i] = (up - loss(moved, proximal, play, begin, end)) / (2.0 * h);
    }
    steps += 1;
    for (std::size_t i = 0; i < params.size(); ++i) {
      m[i] = kBetas.first * m[i] + (1.0 - kBetas.first) * gradient[i];
      v[i] = kBetas.second * v[i] + (1.0 - kBetas.second) * gradient[i] * gradient[i];
      const double m_hat = m[i] / (1.0 - std::pow(kBetas.first, steps));
      const double v_hat = v[i] / (1.0 - std::pow(kBetas.second, steps));
      params[i] -= kRate * m_hat / (std::sqrt(v_hat) + kAdamEps);
    }
    history.push_back(params);
  }

  const ActorCritic& network;
  TileWorkspace<double> work = network.make_workspace<double>();
  std::vector<double> params, m, v, old_log_probs;
  std::vector<std::vector<double>> history;
  std::vector<std::vector<float>> advantages;
  double mean = 0.0, var = 1.0;
  int steps = 0;
  std::int64_t clipped = 0;
};

// The block as the collector leaves it.
void act(const ActorCritic& network, const Learner& learner, const Play& play,
         RolloutBlock& block) {
  TileWorkspace<float> work = network.make_workspace<float>();
  std::vector<float> normaliser(kTileRows), action(kTileRows), log_prob(kTileRows);
  std::copy(play.seen.begin(), play.seen.end(), block.observations.floats().begin());
  block.actions = play.actions;
  block.advantages = play.advantages;
  for (int i = 0; i < kRows; ++i) {
    network.forward(learner.params.data(), &play.seen[static_cast<std::size_t>(i) * kObservation],
                    1, work);
    action[0] = play.actions[static_cast<std::size_t>(i)];
    const float* logits = work.policy.data();
    categorical_normalisers(logits, kActions, 1, normaliser.data());
    categorical_log_probs(logits, normaliser.data(), action.data(), kActions, 1, log_prob.data());
    block.log_probs[i] = log_prob[0];
    block.values[i] = work.values[0];
  }
}

PpoSettings settings_of_test() {
  PpoSettings settings;
  settings.loss.clip_coef = kClip;
  settings.loss.vf_coef = 0.0;
  settings.loss.ent_coef = 0.0;
  settings.update_epochs = kEpochs;
  settings.max_grad_norm = 0.0;
  settings.adam_eps = kAdamEps;
  settings.adam_betas = kBetas;
  settings.norm_adv = AdvantageNorm::kRunning;
  settings.norm_adv_decay = kWindow;
  settings.proximal_decay = kProximal;
  settings.shuffle = Shuffle::kOff;
  return settings;
}

void expect_updates_by_hand(bool shared) {
  const ActorCritic network(shape(shared));
  Learner learner(network.parameter_count());
  network.initialise(7, learner.params.data());
  learner.learning_rate = kRate;
  ByHand expected(network, learner.params.data());
  RolloutBlock block(kSteps, kEnvs, kObservation, 1, 1);
  ThreadPool pool(2);
  Ppo ppo(network, settings_of_test(), kRows, kMinibatches, kObservation, 1, pool);
  ppo.initialise(learner);
  for (int update = 0; update < kUpdates; ++update) {
    const Play play(update);
    act(network, learner, play, block);
    const Status status = ppo.update(block, 1, update + 1, learner);
    ASSERT_TRUE(status.ok()) << status.message();
    expected.clipped = 0;
    expected.update(play);
    EXPECT_GT(expected.clipped, 0);
    EXPECT_GT(ppo.stats().clipfrac, 0.0);
    EXPECT_NEAR(learner.advantages.mean(), expected.mean, 1e-9);
    EXPECT_NEAR(learner.advantages.var(), expected.var, 1e-9 * expected.var);
    const std::vector<double> average = expected.averaged();
    for (std::size_t i = 0; i < expected.params.size(); ++i) {
      EXPECT_NEAR(learner.params[i], expected.params[i], 2e-5) << update << ", " << i;
      EXPECT_NEAR(learner.proximal.mean[i], average[i], 2e-5) << update << ", " << i;
    }
  }
}

TEST(Proximal, FourUpdatesAreThoseByHand) { expect_updates_by_hand(false); }

TEST(Proximal, FourUpdatesOfASharedEncoderAreThoseByHand) { expect_updates_by_hand(true); }

TEST(Proximal, ClipsLessOfASecondEpochThanTheBlocksPolicyIfTheAverageFollowsAtOnce) {
  const ActorCritic network(shape(false));
  double clipped[2] = {};
  for (const bool follows : {true, false}) {
    Learner learner(network.parameter_count());
    network.initialise(7, learner.params.data());
    learner.learning_rate = kRate;
    RolloutBlock block(kSteps, kEnvs, kObservation, 1, 1);
    ThreadPool pool(1);
    PpoSettings settings = settings_of_test();
    settings.update_epochs = 6;
    settings.proximal_decay = follows ? 1e-6 : 0.0;
    Ppo ppo(network, settings, kRows, kMinibatches, kObservation, 1, pool);
    ppo.initialise(learner);
    const Play play(0);
    act(network, learner, play, block);
    ASSERT_TRUE(ppo.update(block, 1, 1, learner).ok());
    clipped[follows ? 0 : 1] = ppo.stats().clipfrac;
  }
  EXPECT_EQ(clipped[0], 0.0);
  EXPECT_GT(clipped[1], 0.1);
}

}  // namespace
}  // namespace broadloom::proximal_by_hand
