// Compares the collector's block with the network run row by row.
// sanitizers: address, threads
#include "broadloom/rollout/collector.h"
#include "broadloom/env/forwarding_vec_env.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

struct Case {
  std::string env_id;
  int num_envs;
  int num_steps;
  bool shared_encoder;
};

class CollectedValues : public ::testing::TestWithParam<Case> {};

// Values do not depend on tiles: a few environments over many steps, one step of many environments,
// and incomplete tiles.
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
  RolloutBlock block(block_sizes(*envs.value(), num_steps, num_envs));
  ThreadPool pool(2);
  const PolicySampler sampler(network);
  Collector collector(*envs.value(), network, sampler, nullptr, pool, 5);
  const Status status = collector.collect(params.data(), 0, block);
  ASSERT_TRUE(status.ok()) << status.message();
  TileWorkspace<float> work = network.make_workspace<float>();
  int different = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    network.forward(params.data(), &block.observations.floats()[i * block.D], 1, work);
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

// An environment whose rewards or observations are not finite at some steps.
class Broken final : public ForwardingVecEnv {
 public:
  struct Place {
    int env;
    std::int64_t step;  // that its reward is of, or after which it is observed
    bool in_reward;
  };
  Broken(std::unique_ptr<VecEnv> inner, std::vector<Place> places)
      : ForwardingVecEnv(std::move(inner)), places_(std::move(places)), steps_(num_envs()) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    for (int n = begin; n < end; ++n) {
      for (const Place& place : places_) {
        if (place.env != n || place.step != steps_[n]) continue;
        float* row = place.in_reward
                         ? rows.rewards + (n - begin)
                         : &rows.observations.floats()[(n - begin) * spec().observation_size()];
        *row = std::numeric_limits<float>::quiet_NaN();
      }
      ++steps_[n];
    }
    return {};
  }

 private:
  std::vector<Place> places_;
  std::vector<std::int64_t> steps_;  // [N] had so far
};

std::string failure(std::vector<Broken::Place> places, int threads) {
  VecEnvOptions options;
  options.num_envs = 64;
  Broken envs(make_vec_env("CartPole-v1", {}, options).take(), std::move(places));
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = SpaceKind::kDiscrete;
  shape.action_outputs = 2;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  RolloutBlock block(8, 64, 4, 1, envs.max_truncations(8));
  ThreadPool pool(threads);
  const PolicySampler sampler(network);
  Collector collector(envs, network, sampler, nullptr, pool, 5);
  return collector.collect(params.data(), 0, block).message();
}

// Grouped shards stop together, and the groups depend on the number of threads.
TEST(Collector, NamesTheFirstThatIsNotFiniteForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 4, 8}) {
    EXPECT_NE(failure({{3, 5, true}, {40, 2, true}}, threads)
                  .find("reward of environment 40 is not finite at its step 2"),
              std::string::npos);
    EXPECT_NE(failure({{3, 5, true}, {40, 4, false}}, threads)
                  .find("observation of environment 40 is not finite at its step 5"),
              std::string::npos);
    EXPECT_NE(failure({{60, 2, true}, {17, 2, true}}, threads)
                  .find("reward of environment 17 is not finite at its step 2"),
              std::string::npos);
    EXPECT_EQ(failure({{60, 9, true}}, threads), "");
  }
}

}  // namespace
}  // namespace broadloom
