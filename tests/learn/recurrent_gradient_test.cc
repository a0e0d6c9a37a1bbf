// The gradient through time of whole environments, as updates compute it, against finite
// differences of a loss that plays them row by row in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {
namespace {

constexpr int kSeenNumbers = 3, kChoices = 3;

struct RecurrentScene {
  RecurrentScene(CellKind kind, int num_steps, int num_envs, bool shared)
      : network(shape(kind, shared)),
        block({.T = num_steps,
               .N = num_envs,
               .D = kSeenNumbers,
               .A = 1,
               .S = 0,
               .state_size = static_cast<int>(network.state_size())}) {
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

  static NetworkShape shape(CellKind kind, bool shared) {
    NetworkShape shape;
    shape.observation_size = kSeenNumbers;
    shape.action_outputs = kChoices;
    shape.hidden_sizes = {5};
    shape.shared_encoder = shared;
    shape.recurrent = kind;
    return shape;
  }

  // PPO's loss over the environments, number by number.
  double loss(const std::vector<double>& moved, const std::vector<int>& envs) const {
    TileWorkspace<double> work = network.make_workspace<double>();
    const std::size_t size = network.state_size();
    double sum = 0.0;
    for (const int n : envs) {
      std::copy_n(block.states.begin() + static_cast<std::ptrdiff_t>(n * size), size,
                  work.states.before.begin());
      for (int t = 0; t < block.T; ++t) {
        const std::size_t i = block.index(t, n);
        const float* seen = &block.observations.floats()[i * kSeenNumbers];
        const std::vector<double> x(seen, seen + kSeenNumbers);
        work.states.begin(1);
        network.forward(moved.data(), x.data(), 1, work);
        network.copy_state(work, 0, work.states.before.data());
        if (block.ends_at(i)) std::fill_n(work.states.before.begin(), size, 0.0);
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
    return sum / static_cast<double>(envs.size() * static_cast<std::size_t>(block.T));
  }

  std::vector<float> gradient(const Minibatches& minibatches, int m, int threads) const {
    ThreadPool pool(threads);
    PartialGradients<PpoLoss> gradients(network, {coefficients}, minibatches.max_size(),
                                        kSeenNumbers, 1, pool);
    const GradientResult<PpoLoss> result = gradients.compute(
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
                             std::size_t every) {
  const RecurrentScene scene(kind, num_steps, num_envs, shared);
  Minibatches minibatches(num_steps * num_envs, 2, num_steps, sequences_per_tile(kind, num_steps));
  minibatches.shuffle(1, 1, 0);
  std::vector<int> envs;  // of the second minibatch
  for (int i = 0; i < minibatches.size(1); ++i) {
    const int n = minibatches.indices(1)[i] % num_envs;
    if (std::find(envs.begin(), envs.end(), n) == envs.end()) envs.push_back(n);
  }
  ASSERT_EQ(static_cast<int>(envs.size()) * num_steps, minibatches.size(1));
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
      return scene.loss(moved, envs);
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

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentGradient,
                         ::testing::Values(CellKind::kMinGru, CellKind::kGru, CellKind::kLstm));

}  // namespace
}  // namespace broadloom
