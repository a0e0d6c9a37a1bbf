// Compares the collector's block with the network run row by row.
// sanitizers: address, threads
#include "broadloom/rollout/collector.h"
#include "broadloom/env/forwarding_vec_env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/block_player.h"
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
                  .find("reward of environment 40 is not finite at its step 2; expected "
                        "finite numbers of float32, up to 3.4e38"),
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

// Steps by single calls, or plays whole blocks.
class Player final : public ForwardingVecEnv, public BlockPlayer {
 public:
  Player(std::unique_ptr<VecEnv> inner, bool plays, int failing_step)
      : ForwardingVecEnv(std::move(inner)), plays_(plays), failing_step_(failing_step) {}
  VecEnvTraits traits() const override { return {.whole_batch = true}; }
  bool can_play() const override { return plays_; }
  Status play(int num_steps, const Ask& ask) override {
    StepRows rows{};
    for (int t = 0; t <= num_steps; ++t) {
      ++asked_;
      if (!ask(t, rows)) return {};
      if (t == failing_step_) return {ErrorKind::kIo, "the program has ended early"};
      if (t < num_steps) BROADLOOM_TRY(inner().step(0, num_envs(), rows));
    }
    return {};
  }
  int asked() const { return asked_; }

 private:
  bool plays_;
  int failing_step_, asked_ = 0;
};

// Collects two blocks, so that the second begins within episodes.
std::string collect_played(bool plays, int failing_step, RolloutBlock& block,
                           int* asked = nullptr) {
  VecEnvOptions options;
  options.num_envs = block.N;
  Player envs(make_vec_env("Pendulum-v1", {}, options).take(), plays, failing_step);
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 1;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  ThreadPool pool(2);
  const PolicySampler sampler(network);
  Collector collector(envs, network, sampler, nullptr, pool, 5);
  for (int b = 0; b < 2; ++b) {
    const Status status = collector.collect(params.data(), b * block.T, block);
    if (!status.ok()) return status.message();
    collector.bootstrap_values(params.data(), block);
  }
  if (asked != nullptr) *asked = envs.asked();
  return "";
}

TEST(Collector, CollectsTheSameBlockFromEnvironmentsThatPlayIt) {
  RolloutBlock stepped(110, 70, 3, 1, 1), played(110, 70, 3, 1, 1);
  int asked = 0;
  EXPECT_EQ(collect_played(false, -1, stepped), "");
  EXPECT_EQ(collect_played(true, -1, played, &asked), "");
  EXPECT_EQ(asked, 2 * 111);
  EXPECT_EQ(std::count(stepped.truncated.begin(), stepped.truncated.end(), 1), 70);
  EXPECT_TRUE(std::ranges::equal(stepped.observations.floats(), played.observations.floats()));
  EXPECT_EQ(stepped.actions, played.actions);
  EXPECT_EQ(stepped.rewards, played.rewards);
  EXPECT_EQ(stepped.truncated, played.truncated);
  EXPECT_EQ(stepped.values, played.values);
  EXPECT_EQ(stepped.final_values, played.final_values);
  EXPECT_EQ(stepped.last_values, played.last_values);
}

TEST(Collector, NamesTheFaultOfEnvironmentsThatPlay) {
  RolloutBlock block(16, 4, 3, 1, 1);
  EXPECT_EQ(collect_played(true, 7, block),
            "the simulator failed at its step 7: the program has ended early");
}

}  // namespace
}  // namespace broadloom
