// PPO with normalised values against three updates by hand: a critic in double precision, with
// gradients by differences of the loss and statistics of all samples at once.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {
namespace {

constexpr int kSteps = 8, kEnvs = 6, kRows = kSteps * kEnvs, kMinibatches = 3, kEpochs = 2;
constexpr int kObservation = 3, kActions = 2, kHidden = 5, kUpdates = 3;
constexpr double kGamma = 0.9, kLambda = 0.8, kClip = 0.2, kRate = 3e-3, kAdamEps = 1e-8;
constexpr double kValueWeight = 1.5;

NetworkShape shape() {
  NetworkShape shape;
  shape.observation_size = kObservation;
  shape.action_outputs = kActions;
  shape.hidden_sizes = {kHidden};
  return shape;
}

// The environments' part, the same for every update: observations of all rows, of the step
// after the block and of the end of each truncated episode, and rewards far from 0.
struct Play {
  Play() {
    Random random(21, Purpose::kUser, 0, 0);
    seen.resize(static_cast<std::size_t>(kRows + 2 * kEnvs) * kObservation);
    for (float& x : seen) x = static_cast<float>(random.normal());
    for (int i = 0; i < kRows; ++i) {
      rewards.push_back(static_cast<float>(-30.0 + 12.0 * random.normal()));
      actions.push_back(static_cast<float>(random.below(kActions)));
    }
  }
  // Environment 1 terminates after step 2, environment 4 is truncated after step 5.
  static bool terminated(int t, int n) { return n == 1 && t == 2; }
  static bool truncated(int t, int n) { return n == 4 && t == 5; }
  static int last_row(int n) { return kRows + n; }
  static int final_row(int n) { return kRows + kEnvs + n; }

  std::vector<float> seen;  // [rows, kObservation]
  std::vector<float> rewards, actions;
};

struct ByHand {
  ByHand(const ActorCritic& of_network, const float* first, ValueNorm of_kind, bool clip)
      : network(of_network),
        kind(of_kind),
        clips(clip),
        params(first, first + network.parameter_count()),
        m(params.size()),
        v(params.size()),
        range(network.ranges(NetworkSide::kValue)[0]) {}

  double output(const std::vector<double>& weights, int row) {
    std::vector<double> x(play.seen.begin() + row * kObservation,
                          play.seen.begin() + (row + 1) * kObservation);
    network.forward(weights.data(), x.data(), 1, work, NetworkSide::kValue);
    return work.values[0];
  }
  double limited(double x) const {
    return kind == ValueNorm::kPopart ? x : std::clamp(x, -5.0, 5.0);
  }
  double value(int row) { return mean + deviation * limited(output(params, row)); }
  double normalised(double x) const { return limited((x - mean) / deviation); }

  void take_in(const std::vector<double>& more) {
    samples.insert(samples.end(), more.begin(), more.end());
    const double count = static_cast<double>(samples.size()) + 1.0;  // one at 0, of variance 1
    mean = 0.0;
    for (const double x : samples) mean += x / count;
    double var = (1.0 + mean * mean) / count;
    for (const double x : samples) var += (x - mean) * (x - mean) / count;
    deviation = std::sqrt(var + 1e-5);
  }

  // The loss of rows [begin, end).
  double loss(const std::vector<double>& weights, int begin, int end) {
    double sum = 0.0;
    for (int i = begin; i < end; ++i) {
      const double y = output(weights, i), change = std::clamp(y - old_outputs[i], -kClip, kClip);
      const double free = (y - targets[i]) * (y - targets[i]);
      const double kept =
          (old_outputs[i] + change - targets[i]) * (old_outputs[i] + change - targets[i]);
      sum += 0.5 * (clips ? std::max(free, kept) : free);
    }
    return kValueWeight * sum / (end - begin);
  }

  void step(int begin, int end) {
    std::vector<double> gradient(params.size());
    for (std::size_t i = range.begin; i < range.end; ++i) {
      constexpr double h = 1e-5;
      std::vector<double> moved = params;
      moved[i] = params[i] + h;
      const double up = loss(moved, begin, end);
      moved[i] = params[i] - h;
      gradient[i] = (up - loss(moved, begin, end)) / (2.0 * h);
    }
    steps += 1;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      const double m_hat = m[i] / (1.0 - std::pow(0.9, steps));
      const double v_hat = v[i] / (1.0 - std::pow(0.999, steps));
      params[i] -= kRate * m_hat / (std::sqrt(v_hat) + kAdamEps);
    }
  }

  void update() {
    std::vector<double> values(kRows), returns(kRows);
    for (int i = 0; i < kRows; ++i) values[i] = value(i);
    for (int n = 0; n < kEnvs; ++n) {
      double next_value = value(Play::last_row(n)), advantage = 0.0;
      for (int t = kSteps - 1; t >= 0; --t) {
        const int i = t * kEnvs + n;
        if (Play::terminated(t, n)) {
          advantage = play.rewards[i] - values[i];
        } else if (Play::truncated(t, n)) {
          advantage = play.rewards[i] + kGamma * value(Play::final_row(n)) - values[i];
        } else {
          advantage =
              play.rewards[i] + kGamma * next_value - values[i] + kGamma * kLambda * advantage;
        }
        returns[i] = advantage + values[i];
        next_value = values[i];
      }
    }
    const double mean_before = mean, deviation_before = deviation;
    take_in(values);
    old_outputs.resize(kRows);
    targets.resize(kRows);
    for (int i = 0; i < kRows; ++i) old_outputs[i] = normalised(values[i]);
    take_in(returns);
    for (int i = 0; i < kRows; ++i) targets[i] = normalised(returns[i]);
    if (kind == ValueNorm::kPopart) {
      for (int i = 0; i < kRows; ++i) old_outputs[i] = normalised(values[i]);
      const LinearSlice& head = network.value_head();
      for (int i = 0; i < head.in; ++i) params[head.at(i, 0)] *= deviation_before / deviation;
      double& bias = params[head.bias];
      bias = (deviation_before * bias + mean_before - mean) / deviation;
    }
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int b = 0; b < kMinibatches; ++b) {
        step(b * kRows / kMinibatches, (b + 1) * kRows / kMinibatches);
      }
    }
  }

  const ActorCritic& network;
  ValueNorm kind;
  bool clips;
  Play play;
  TileWorkspace<double> work = network.make_workspace<double>();
  std::vector<double> params, m, v;
  ParameterRange range;
  int steps = 0;
  std::vector<double> samples, old_outputs, targets;
  double mean = 0.0, deviation = std::sqrt(1.0 + 1e-5);
};

// The block as the collector leaves it: values are outputs of the critic.
void act(const ActorCritic& network, const Learner& learner, const Play& play,
         RolloutBlock& block) {
  TileWorkspace<float> work = network.make_workspace<float>();
  std::vector<float> normaliser(kTileRows), action(kTileRows), log_prob(kTileRows);
  const auto forward = [&](int row) {
    network.forward(learner.params.data(), &play.seen[row * kObservation], 1, work);
    return work.values[0];
  };
  std::copy_n(play.seen.begin(), kRows * kObservation, block.observations.floats().begin());
  block.rewards = play.rewards;
  block.actions = play.actions;
  for (int i = 0; i < kRows; ++i) {
    block.values[i] = forward(i);
    action[0] = play.actions[i];
    const float* logits = work.policy.data();
    categorical_normalisers(logits, kActions, 1, normaliser.data());
    categorical_log_probs(logits, normaliser.data(), action.data(), kActions, 1, log_prob.data());
    block.log_probs[i] = log_prob[0];
  }
  for (int n = 0; n < kEnvs; ++n) {
    block.last_values[n] = forward(Play::last_row(n));
    block.truncations[n] = 0;
    for (int t = 0; t < kSteps; ++t) {
      block.terminated[block.index(t, n)] = Play::terminated(t, n) ? 1 : 0;
      block.truncated[block.index(t, n)] = Play::truncated(t, n) ? 1 : 0;
      if (!Play::truncated(t, n)) continue;
      block.final_values[block.final_index(n, block.truncations[n]++)] =
          forward(Play::final_row(n));
    }
  }
}

void expect_updates_by_hand(ValueNorm kind, bool clips) {
  const ActorCritic network(shape());
  Learner learner(network.parameter_count());
  network.initialise(7, learner.params.data());
  learner.learning_rate = kRate;
  ByHand expected(network, learner.params.data(), kind, clips);
  const Play play;
  RolloutBlock block(kSteps, kEnvs, kObservation, 1, 1);
  PpoSettings settings;
  settings.loss.clip_coef = kClip;
  settings.loss.clip_vloss = clips;
  settings.loss.vf_coef = kValueWeight;
  settings.gamma = kGamma;
  settings.gae_lambda = kLambda;
  settings.update_epochs = kEpochs;
  settings.max_grad_norm = 0.0;
  settings.adam_eps = kAdamEps;
  settings.shuffle = Shuffle::kOff;
  ThreadPool pool(2);
  Ppo ppo(network, settings, kRows, kMinibatches, kObservation, 1, pool);
  ValueNormalizer normalizer(kind);
  ppo.set_value_normalizer(&normalizer);
  for (int update = 0; update < kUpdates; ++update) {
    act(network, learner, play, block);
    ppo.take_block(learner, block);
    ppo.compute_targets(block, 0, kEnvs);
    const Status status = ppo.update(block, 1, update + 1, learner);
    ASSERT_TRUE(status.ok()) << status.message();
    expected.update();
    EXPECT_NEAR(normalizer.unit().mean, expected.mean, 1e-5 * std::abs(expected.mean));
    EXPECT_NEAR(normalizer.unit().deviation, expected.deviation, 1e-5 * expected.deviation);
    for (std::size_t i = expected.range.begin; i < expected.range.end; ++i) {
      EXPECT_NEAR(learner.params[i], expected.params[i], 1e-5) << update << ", " << i;
    }
  }
}

TEST(ValueNorm, ThreeUpdatesAreThoseByHand) {
  for (const bool clips : {true, false}) {
    for (const ValueNorm kind : {ValueNorm::kRunning, ValueNorm::kPopart}) {
      SCOPED_TRACE(clips);
      expect_updates_by_hand(kind, clips);
    }
  }
}

}  // namespace
}  // namespace broadloom
