// What the collector leaves in a block, against the network run row by row.
#include "broadloom/rollout/collector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broadloom/envs/registry.h"

namespace broadloom {
namespace {

struct Case {
  std::string env_id;
  int num_envs;
  int num_steps;
  bool shared_encoder;
};

class CollectedValues : public ::testing::TestWithParam<Case> {};

// Whatever tiles the values were worked out in: a few environments over many steps, one step of
// many, and a rest of each.
TEST_P(CollectedValues, AreThoseOfEachRowByItself) {
  const auto& [env_id, num_envs, num_steps, shared_encoder] = GetParam();
  VecEnvOptions options;
  options.num_envs = num_envs;
  auto envs = make_vec_env(env_id, {}, options);
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  const EnvSpec& spec = envs.value()->spec();
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  const bool discrete = spec.action.kind == SpaceKind::kDiscrete;
  shape.action_outputs = discrete ? spec.action.size : spec.action_size();
  shape.hidden_sizes = {24, 10};
  shape.shared_encoder = shared_encoder;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  RolloutBlock block(num_steps, num_envs, spec.observation_size(), spec.action_size(),
                     envs.value()->max_truncations(num_steps), spec.names_success);
  ThreadPool pool(2);
  Collector collector(*envs.value(), network, nullptr, pool, 5);
  const Status status = collector.collect(params.data(), 0, block);
  ASSERT_TRUE(status.ok()) << status.message();
  TileWorkspace<float> work = network.make_workspace<float>();
  int different = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    network.forward(params.data(), &block.observations[i * block.D], 1, work);
    EXPECT_EQ(block.values[i], work.values[0]) << "row " << i;
    different += block.values[i] != block.values[0];
  }
  EXPECT_GT(different, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CollectedValues,
    ::testing::Values(Case{"CartPole-v1", 1, 131, false}, Case{"CartPole-v1", 4, 40, false},
                      Case{"Pendulum-v1", 7, 23, false}, Case{"Pendulum-v1", 7, 23, true},
                      Case{"CartPole-v1", 70, 5, false}, Case{"CartPole-v1", 1100, 3, false}));

}  // namespace
}  // namespace broadloom
