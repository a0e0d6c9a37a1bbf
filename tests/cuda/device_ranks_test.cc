// Several ranks with an emulated device each, compared with one rank on the CPU.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "broadloom/setup/rank_plan.h"
#include "broadloom/setup/simulator.h"
#include "tests/cuda/device_trainers.h"
#include "tests/env/observation_envs.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom::cuda {
namespace {

class DeviceRanks : public DeviceTrainer {};

constexpr int kBlocksOfRun = 3;
using State = std::vector<std::string>;  // as state_of() returns it

struct Outcome {
  std::vector<Bits> numbers;  // of each iteration
  std::vector<std::uint64_t> hashes;
  State state;
};

void restore(const State& state, Trainer& trainer) {
  const std::vector<TensorRef> tensors = trainer.state();
  ASSERT_EQ(tensors.size(), state.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t begin = tensors[i].name.size() + 1;
    ASSERT_EQ(tensors[i].bytes(), state[i].size() - begin);
    std::memcpy(tensors[i].data, state[i].data() + begin, tensors[i].bytes());
  }
  ASSERT_TRUE(trainer.state_restored().ok());
}

// start: a state to continue from; empty: none.
Outcome train(Config config, const char* device, Ranks& ranks, int iterations = kBlocksOfRun,
              const State& start = {}) {
  config.device = device;
  Outcome out;
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, 1 + ranks.rank() % 2, ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return out;
  Trainer& trainer = *made.value();
  EXPECT_EQ(trainer.device() != nullptr, std::string("cuda") == device);
  if (!start.empty() && ranks.is_first()) restore(start, trainer);
  EXPECT_TRUE(trainer.copy_first_rank_state().ok());
  for (int i = 0; i < iterations; ++i) {
    const Status status = trainer.iterate();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return out;
    out.numbers.push_back(numbers_of(trainer));
    if (trainer.hashes() == nullptr) continue;
    out.hashes.push_back(trainer.hashes()->params);
    for (const auto* hashes : {&trainer.hashes()->rows, &trainer.hashes()->columns}) {
      out.hashes.insert(out.hashes.end(), hashes->begin(), hashes->end());
    }
  }
  EXPECT_TRUE(trainer.gather_environments().ok());
  out.state = state_of(trainer);
  return out;
}

void expect_equal(const Outcome& got, const Outcome& expected, const Ranks& ranks) {
  const std::string what =
      "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(ranks.size());
  EXPECT_EQ(got.numbers, expected.numbers) << what;
  EXPECT_EQ(got.hashes, expected.hashes) << what;
  ASSERT_EQ(got.state.size(), expected.state.size()) << what;
  for (std::size_t i = 0; i < got.state.size(); ++i) {
    EXPECT_TRUE(got.state[i] == expected.state[i])
        << what << ": " << got.state[i].substr(0, got.state[i].find(' '));
  }
}

void expect_same_on_ranks(const std::string& env_id, const Options& options, int size,
                          const char* expected_device = "cpu") {
  SCOPED_TRACE(env_id);
  const Config config = config_of(env_id, options);
  const Outcome expected = train(config, expected_device, Ranks::alone());
  ThreadWorld world(size);
  world.run([&](Ranks& ranks) { expect_equal(train(config, "cuda", ranks), expected, ranks); });
}

// Three shards, and four partial gradients, of which a third rank has none.
const Options kThreeShards{{"num_envs", "40"}, {"num_minibatches", "2"}};

TEST_F(DeviceRanks, TrainPpoAsOneRankOfTheCpu) {
  const Options box = combine(kNormalised, {{"target_kl", "0.002"}, {"hashes", "true"}});
  expect_same_on_ranks("Pendulum-v1", combine(kThreeShards, box), 2);
  expect_same_on_ranks("Pendulum-v1",
                       combine(kThreeShards, {{"lr_schedule", "adaptive"},
                                              {"kl_estimate", "analytic"},
                                              {"norm_value", "popart"},
                                              {"max_episode_steps", "11"}}),
                       3);
  // Two shards for three ranks; instruments see whole blocks and gradients.
  expect_same_on_ranks("CartPole-v1",
                       combine(kShort, {{"shared_encoder", "true"},
                                        {"norm_adv", "batch"},
                                        {"instruments", "gradient,plasticity,audit"}}),
                       3);
}

// Stacks whose frames are stored once, and a predictor.
TEST_F(DeviceRanks, TrainOtherAlgorithmsAsOneRankOfTheCpu) {
  expect_same_on_ranks("CartPole-v1", combine(kThreeShards, kPqn), 2);
  expect_same_on_ranks("MinAtar/Asterix-v1", combine(kMinatar, {{"env.frame_stack", "3"}}), 2);
  expect_same_on_ranks(
      "CartPole-v1",
      combine(kNormalised,
              {{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "8"}, {"rnd_outputs", "4"}}),
      2);
}

// The CPU steps the second one, and the critic has observations of its own.
TEST_F(DeviceRanks, StepWhatEachOwns) {
  ASSERT_TRUE(register_observation_envs());
  expect_same_on_ranks("CartPole-v1",
                       {{"curriculum", "easy,hard"},
                        {"curriculum_episodes", "2"},
                        {"max_episode_steps", "20"},
                        {"strata.easy.half_length", "0.4..0.6"},
                        {"strata.hard.half_length", "0.05..0.1"},
                        {"disturb.push_interval", "30"}},
                       2);
  expect_same_on_ranks("Windy-v0", combine(kThreeShards, {{"norm_obs", "true"}}), 3);
  expect_same_on_ranks(
      "CartPole-v1",
      {{"shape_schedule", "13x16 @ 0, 40x8 @ 0.1, 20x12 @ 0.25"}, {"norm_obs", "true"}}, 2);
}

TEST_F(DeviceRanks, HaveTheBitsOfTensorCores) {
  emulation.limits.shared_bytes = 227 * 1024;
  expect_same_on_ranks(
      "CartPole-v1",
      combine(kThreeShards, {{"device", "cuda"}, {"precision", "tf32"}, {"update_epochs", "1"}}), 2,
      "cuda");
}

TEST_F(DeviceRanks, GoOnWithOthers) {
  const Config config = config_of("Pendulum-v1", combine(kThreeShards, kNormalised));
  const Outcome whole = train(config, "cpu", Ranks::alone());
  State half;
  ThreadWorld two(2);
  two.run([&](Ranks& ranks) {
    const Outcome out = train(config, "cuda", ranks, 2);
    if (ranks.is_first()) half = out.state;
  });
  EXPECT_EQ(train(config, "cpu", Ranks::alone(), kBlocksOfRun - 2, half).state, whole.state);
  ThreadWorld three(3);
  three.run([&](Ranks& ranks) {
    EXPECT_EQ(train(config, "cuda", ranks, kBlocksOfRun - 2, half).state, whole.state);
  });
}

// The lowest fault of all ranks, on each.
TEST_F(DeviceRanks, FailWithTheFirstFault) {
  const auto failure = [](const char* device, Ranks& ranks) {
    const Config config = config_of("Pendulum-v1", combine(kNormalised, {{"device", device}}));
    const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1, ranks).take();
    for (const int env : {12, 5}) {
      static_cast<double*>(tensor_of(*trainer, "envs.state1").data)[env] =
          std::numeric_limits<double>::infinity();
    }
    EXPECT_TRUE(trainer->state_restored().ok());
    return trainer->iterate();
  };
  const Status expected = failure("cpu", Ranks::alone());
  EXPECT_NE(expected.message().find("environment 5"), std::string::npos) << expected.message();
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) { EXPECT_EQ(failure("cuda", ranks).message(), expected.message()); });
}

// The second rank's device is lost at any launch, of a block or of an update.
TEST_F(DeviceRanks, FailTogetherIfADeviceIsLost) {
  if (device_is_real()) GTEST_SKIP() << "others need the device";
  const Config config = config_of("CartPole-v1", combine(kShort, {{"device", "cuda"}}));
  for (const std::uint64_t launches : {3, 30, 57, 60, 63}) {
    std::mutex making;
    ThreadWorld world(2);
    world.run([&](Ranks& ranks) {
      std::unique_ptr<Trainer> trainer;
      {
        const std::lock_guard lock(making);
        emulation.limits.launches = ranks.is_first() ? HostLimits().launches : launches;
        trainer = Trainer::create(config, 1, ranks).take();
      }
      Status status;
      for (int i = 0; i < 20 && status.ok(); ++i) status = trainer->iterate();
      EXPECT_EQ(status.kind(), ErrorKind::kIo);
      EXPECT_NE(status.message().find("device is lost"), std::string::npos) << status.message();
    });
  }
}

TEST_F(DeviceRanks, ReceiveWhatWasPlanned) {
  const Config config =
      config_of("Pendulum-v1", combine(kThreeShards, {{"device", "cuda"}, {"norm_obs", "true"}}));
  double received = 0.0;
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1, ranks).take();
    iterate(*trainer);
    if (ranks.is_first()) received = static_cast<double>(ranks.traffic().received_bytes);
  });
  const std::unique_ptr<VecEnv> envs = make_one_env(config).take();
  EXPECT_NEAR(plan_ranks(config, 2, *envs).received(), received, 200 + 0.001 * received);
}

}  // namespace
}  // namespace broadloom::cuda
