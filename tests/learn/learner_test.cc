// Compares Adam's step on chunks with Adam on whole arrays.
// sanitizers: address, threads
#include "broadloom/learn/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/gradient_cut.h"

namespace broadloom {
namespace {

struct NetworkCase {
  std::vector<int> hidden;
  bool shared_encoder;
};

ActorCritic network_of(const NetworkCase& c) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2;
  shape.hidden_sizes = c.hidden;
  shape.shared_encoder = c.shared_encoder;
  return ActorCritic(shape);
}

class LearnerStep : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(LearnerStep, IsAdamOnAllParametersOnceForAnyThreads) {
  const ActorCritic network = network_of(GetParam());
  const std::vector<ParameterRange> chunks = parameter_chunks(network, NetworkSide::kBoth);
  const std::size_t parameters = network.parameter_count();
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    Learner learner(parameters), expected(parameters);
    network.initialise(4, learner.params.data());
    network.initialise(4, expected.params.data());
    for (int round = 0; round < 20; ++round) {
      Random random(5, Purpose::kUser, 0, static_cast<std::uint64_t>(round));
      std::vector<float> gradient(parameters);
      for (float& g : gradient) g = static_cast<float>(random.normal());
      AdamStep adam;
      adam.grad_scale = 0.3;
      adam.correction1 = 1.0 - std::pow(adam.beta1, round + 1);
      adam.correction2 = 1.0 - std::pow(adam.beta2, round + 1);
      adam_update(expected.params.data(), expected.adam_m.data(), expected.adam_v.data(),
                  gradient.data(), parameters, adam);
      learner.take_step(adam, gradient.data(), chunks, pool);
      ASSERT_EQ(learner.params, expected.params);
      ASSERT_EQ(learner.adam_m, expected.adam_m);
      ASSERT_EQ(learner.adam_v, expected.adam_v);
    }
  }
}

// A companion's parameters follow the network's, with their own steps and names.
TEST(LearnerCompanion, IsApartFromTheNetwork) {
  const ActorCritic network = network_of({{6}, false});
  const std::size_t parameters = network.parameter_count();
  constexpr std::size_t kBeside = 5000;
  Learner learner(parameters);
  network.initialise(4, learner.params.data());
  const AlignedVector<float> before = learner.params;
  learner.add_companion(kBeside);
  std::fill_n(learner.companion(), kBeside, 1.0f);
  AdamStep adam;
  ThreadPool pool(2);
  const std::vector<float> gradient(kBeside, 0.5f);
  const ParameterRange chunks[] = {{0, 2000}, {2000, kBeside}};
  learner.take_companion_step(adam, gradient.data(), chunks, pool);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), learner.params.begin()));
  std::vector<float> expected(kBeside, 1.0f), m(kBeside), v(kBeside);
  adam_update(expected.data(), m.data(), v.data(), gradient.data(), kBeside, adam);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), learner.companion()));
  EXPECT_NE(learner.companion()[kBeside - 1], 1.0f);

  std::vector<TensorRef> state;
  learner.append_state("learner", state);
  std::size_t numbers = 0;
  for (const TensorRef& tensor : state) {
    if (tensor.name == "learner.params") {
      EXPECT_EQ(tensor.bytes(), parameters * sizeof(float));
    }
    if (tensor.name == "learner.companion.adam_v") EXPECT_EQ(tensor.bytes(), kBeside * 4);
    numbers += tensor.bytes();
  }
  EXPECT_EQ(numbers, 3 * (parameters + kBeside) * 4 + 2 * 8);
}

TEST_P(LearnerStep, ChunksAreAllParametersOnce) {
  const ActorCritic network = network_of(GetParam());
  std::vector<int> times(network.parameter_count(), 0);
  for (const ParameterRange& chunk : parameter_chunks(network, NetworkSide::kBoth)) {
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) times[i] += 1;
  }
  EXPECT_EQ(times, std::vector<int>(network.parameter_count(), 1));
}

INSTANTIATE_TEST_SUITE_P(Networks, LearnerStep,
                         ::testing::Values(NetworkCase{{5}, false}, NetworkCase{{64, 64}, false},
                                           NetworkCase{{64, 64}, true},
                                           NetworkCase{{100, 60, 20}, false}));

}  // namespace
}  // namespace broadloom
