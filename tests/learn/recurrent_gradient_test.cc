// The gradient through time of whole environments and of shorter sequences, as updates compute it,
// against finite differences of a loss that plays them row by row in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {
namespace {

constexpr int kSeenNumbers = 3, kChoices = 3;

struct RecurrentScene {
  // sequence: steps; 0: num_steps. values: PQN's network and loss instead of PPO's. units: of a
  // cell before the hidden layer, or 0.
  RecurrentScene(CellKind kind, int num_steps, int num_envs, bool shared, int sequence, bool values,
                 int units)
      : network(shape(kind, shared, values, units)),
        block({.T = num_steps,
               .N = num_envs,
               .D = kSeenNumbers,
               .A = 1,
               .S = 0,
               .state_size = static_cast<int>(network.state_size()),
               .sequence = sequence}) {
    coefficients.clip_vloss = false;
    Random random(17, Purpose::kUser, 0, 0);
    for (std::size_t i = 0; i < network.parameter_count(); ++i) {
      params.push_back(static_cast<float>(0.5 * random.normal()));
    }
    for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
    for (float& x : block.states) x = static_cast<float>(random.uniform(0.0, 1.0));
    for (std::size_t i = 0; i < block.size(); ++i) {
      block.actions[i] = static_cast<float>(random.below(kChoices));
      block.log_probs[i] = static_cast<float>(-1.1 + 0.2 * random.normal());
      block.advantages[i] = static_cast<float>(random.normal());
      block.values[i] = static_cast<float>(random.normal());
      block.terminated[i] = random.below(11) == 0;
      block.truncated[i] = random.below(13) == 0;
    }
  }

  static NetworkShape shape(CellKind kind, bool shared, bool values, int units) {
    NetworkShape shape;
    shape.observation_size = kSeenNumbers;
    shape.action_outputs = kChoices;
    shape.hidden_sizes = {5};
    shape.shared_encoder = shared;
    shape.recurrent = kind;
    shape.recurrent_units = units;
    shape.action_values = values;
    return shape;
  }

  // The loss over the sequences that begin at these rows of the block, number by number.
  double loss(const std::vector<double>& moved, const std::vector<int>& firsts) const {
    TileWorkspace<double> work = network.make_workspace<double>();
    const std::size_t size = network.state_size();
    const int length = block.sequence > 0 ? block.sequence : block.T;
    double sum = 0.0;
    for (const int first : firsts) {
      const int n = first % block.N, begin = first / block.N;
      const std::ptrdiff_t kept = begin / length * block.N + n;
      std::copy_n(block.states.begin() + kept * static_cast<std::ptrdiff_t>(size), size,
                  work.states.before.begin());
      if (begin > 0 && block.ends_at(block.index(begin - 1, n)))
        std::fill_n(work.states.before.begin(), size, 0.0);
      for (int t = begin; t < begin + length; ++t) {
        const std::size_t i = block.index(t, n);
        const float* seen = &block.observations.floats()[i * kSeenNumbers];
        const std::vector<double> x(seen, seen + kSeenNumbers);
        work.states.begin(1);
        network.forward(moved.data(), x.data(), 1, work);
        network.copy_state(work, 0, work.states.before.data());
        if (block.ends_at(i)) std::fill_n(work.states.before.begin(), size, 0.0);
        if (network.shape().action_values) {
          const int taken = static_cast<int>(block.actions[i]);
          const double error =
              work.policy[taken * kTileRows] - (block.advantages[i] + block.values[i]);
          sum += 0.5 * error * error;
          continue;
        }
        double total = 0.0, entropy = 0.0;
        for (int a = 0; a < kChoices; ++a) total += std::exp(work.policy[a * kTileRows]);
        for (int a = 0; a < kChoices; ++a) {
          const double log_prob = work.policy[a * kTileRows] - std::log(total);
          entropy -= std::exp(log_prob) * log_prob;
        }
        const int action = static_cast<int>(block.actions[i]);
        const double ratio =
            std::exp(work.policy[action * kTileRows] - std::log(total) - block.log_probs[i]);
        const double clip = coefficients.clip_coef;
        const double clipped = std::min(std::max(ratio, 1.0 - clip), 1.0 + clip);
        const double error = work.values[0] - (block.advantages[i] + block.values[i]);
        sum += std::max(-block.advantages[i] * ratio, -block.advantages[i] * clipped) -
               coefficients.ent_coef * entropy + coefficients.vf_coef * 0.5 * error * error;
      }
    }
    return sum / static_cast<double>(firsts.size() * static_cast<std::size_t>(length));
  }

  std::vector<float> gradient(const Minibatches& minibatches, int m, int threads) const {
    if (network.shape().action_values) return gradient_of(PqnLoss{}, minibatches, m, threads);
    return gradient_of(PpoLoss{coefficients}, minibatches, m, threads);
  }
  template <class Loss>
  std::vector<float> gradient_of(const Loss& loss, const Minibatches& minibatches, int m,
                                 int threads) const {
    ThreadPool pool(threads);
    PartialGradients<Loss> gradients(network, loss, minibatches.max_size(), kSeenNumbers, 1, pool);
    const GradientResult<Loss> result = gradients.compute(
        {block, minibatches.indices(m), minibatches.size(m), {}, params.data(), 1});
    return {result.gradient.begin(), result.gradient.end()};
  }

  ActorCritic network;
  RolloutBlock block;
  PpoCoefficients coefficients;
  std::vector<float> params;
};

// every: check every so many parameters.
void expect_gradient_in_time(CellKind kind, int num_steps, int num_envs, bool shared,
                             std::size_t every, int sequence = 0, bool values = false,
                             int units = 0) {
  const RecurrentScene scene(kind, num_steps, num_envs, shared, sequence, values, units);
  const int length = sequence > 0 ? sequence : num_steps;
  Minibatches minibatches(num_steps * num_envs, 2, length, sequences_per_tile(kind, length));
  minibatches.shuffle(1, 1, 0, {}, num_envs);
  std::vector<int> firsts;  // of the second minibatch
  for (int i = 0; i < minibatches.size(1); ++i) {
    const int row = minibatches.indices(1)[i];
    if (row / num_envs % length == 0) firsts.push_back(row);
  }
  ASSERT_EQ(static_cast<int>(firsts.size()) * length, minibatches.size(1));
  const std::vector<float> gradient = scene.gradient(minibatches, 1, 1);
  EXPECT_EQ(scene.gradient(minibatches, 1, 3), gradient) << "three threads";
  float largest = 0.0f;
  for (const float g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-3f);
  const std::vector<double> params(scene.params.begin(), scene.params.end());
  constexpr double h = 2e-5;
  for (std::size_t i = 0; i < params.size(); i += every) {
    const auto loss_at = [&](double offset) {
      std::vector<double> moved = params;
      moved[i] += offset;
      return scene.loss(moved, firsts);
    };
    const double numeric =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    ASSERT_NEAR(gradient[i], numeric, 1e-5 * largest) << "parameter " << i;
  }
}

class RecurrentGradient : public ::testing::TestWithParam<CellKind> {};

// Seven environments of nine steps share a tile; the minibatch of ten takes two tiles.
TEST_P(RecurrentGradient, EqualsFiniteDifferencesWhereEnvironmentsShareTiles) {
  expect_gradient_in_time(GetParam(), 9, 20, false, 3);
}

TEST_P(RecurrentGradient, EqualsFiniteDifferencesWhereEnvironmentsTakeSeveralTiles) {
  expect_gradient_in_time(GetParam(), 150, 3, false, 5);
  expect_gradient_in_time(GetParam(), 150, 3, true, 5);
}

// Sequences of ten steps share a tile, or four do; those of 75 take several; some have one step.
TEST_P(RecurrentGradient, OfSequencesStopsAtTheirFirstSteps) {
  expect_gradient_in_time(GetParam(), 30, 7, false, 5, 10);
  expect_gradient_in_time(GetParam(), 150, 2, true, 5, 75);
  expect_gradient_in_time(GetParam(), 4, 9, false, 7, 1);
}

TEST_P(RecurrentGradient, OfActionValuesEqualsFiniteDifferences) {
  expect_gradient_in_time(GetParam(), 9, 20, false, 3, 0, true);
  expect_gradient_in_time(GetParam(), 150, 3, false, 5, 75, true);
}

TEST(RecurrentFirst, GradientsThroughTheHiddenLayersEqualFiniteDifferences) {
  for (const CellKind kind : {CellKind::kGru, CellKind::kLstm}) {
    expect_gradient_in_time(kind, 9, 20, false, 3, 0, false, 4);
    expect_gradient_in_time(kind, 150, 3, false, 5, 75, true, 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentGradient,
                         ::testing::Values(CellKind::kMinGru, CellKind::kGru, CellKind::kLstm));

}  // namespace
}  // namespace broadloom
