// Trainers on an emulated device, compared with the CPU: the same runs bit for bit, from the first
// block to a resume.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/device.h"
#include "tests/cuda/device_trainers.h"
#include "tests/support/release_only.h"

namespace broadloom::cuda {
namespace {

TEST_F(DeviceTrainer, TrainsCartPoleByPpo) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kShort);
  }
}

TEST_F(DeviceTrainer, TrainsCartPoleByPqn) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kPqn);
  }
}

TEST_F(DeviceTrainer, TrainsPqnWithItsDefaults) {
  expect_the_same("CartPole-v1",
                  {{"algorithm", "pqn"}, {"max_episode_steps", "11"}, {"norm_obs", "true"}});
}

TEST_F(DeviceTrainer, TrainsPendulumByPpo) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("Pendulum-v1", kShort);
  }
}

// Widths that use different shares of a multiprocessor, as in studies.
TEST_F(DeviceTrainer, TrainsSideBySide) {
  const auto train = [](const char* env_id, const char* widths) {
    expect_the_same(env_id, combine(kShort, {{"hidden_sizes", widths}}), 4);
  };
  std::vector<std::thread> threads;
  threads.emplace_back(train, "CartPole-v1", "64,64");
  threads.emplace_back(train, "Pendulum-v1", "64,64");
  threads.emplace_back(train, "Acrobot-v1", "80,64");
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceTrainer, TrainsEveryEnvironmentOfVectors) {
  for (const char* env_id : {"Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0",
                             "CliffWalking-v1", "FrozenLake-v1", "Taxi-v3"}) {
    SCOPED_TRACE(env_id);
    expect_the_same(env_id, kShort, 2);
  }
}

TEST_F(DeviceTrainer, TrainsBreakoutByPqn) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("MinAtar/Breakout-v1", kMinatar, 2);
  }
}

TEST_F(DeviceTrainer, TrainsEveryGameOfMinatar) {
  RELEASE_ONLY("Breakout runs the same kernels of the network, env_kernels_test.cc those of games");
  for (const char* env_id : {"MinAtar/Asterix-v1", "MinAtar/Freeway-v1", "MinAtar/Seaquest-v1",
                             "MinAtar/SpaceInvaders-v1"}) {
    SCOPED_TRACE(env_id);
    expect_the_same(env_id, kMinatar, 2);
  }
}

// PQN's default body, and episodes without a limit.
TEST_F(DeviceTrainer, TrainsThePublishedBodyOfMinatar) {
  expect_the_same("MinAtar/Breakout-v0", combine(kTinyMinatar, {{"hidden_sizes", "128"}}));
  expect_the_same("MinAtar/Breakout-v1", combine(kMinatar, {{"max_episode_steps", "0"}}), 3);
}

// Separate bodies, and images as vectors.
TEST_F(DeviceTrainer, TrainsBreakoutByPpo) {
  const Options ppo = combine(kMinatar, {{"algorithm", "ppo"}, {"encoder", "minatar"}});
  expect_the_same("MinAtar/Breakout-v1", ppo, 2);
  expect_the_same("MinAtar/Breakout-v0", combine(ppo, {{"layer_norm", "all"}}), 2, false);
  expect_the_same("MinAtar/Breakout-v1", combine(ppo, {{"encoder", "mlp"}}), 2);
}

// Continues on the device what the CPU began.
TEST_F(DeviceTrainer, TrainsResidualSections) {
  RELEASE_ONLY("HostSteps trains them on smaller images");
  const Config config = config_of(
      "MinAtar/Breakout-v1", combine(kTinyMinatar, {{"encoder", "impala"}, {"layer_norm", "off"}}));
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  iterate(*host);
  copy_state(*host, *device);
  iterate(*host);
  iterate(*device);
  expect_same_iteration(*host, *device);
  expect_same_state(*host, *device);
}

const Options kShared{{"shared_encoder", "true"}};

TEST_F(DeviceTrainer, TrainsASharedBody) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", combine(kShort, kShared));
  }
  expect_the_same("Pendulum-v1", combine(kNormalised, kShared));
  expect_the_same("Acrobot-v1", combine(combine(kShort, kShared), {{"layer_norm", "all"}}), 2,
                  false);
  const Options image = combine(kMinatar, {{"algorithm", "ppo"}, {"encoder", "minatar"}});
  expect_the_same("MinAtar/Breakout-v1", combine(image, kShared), 2);
}

TEST_F(DeviceTrainer, NormalisesObservationsAndRewards) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kNormalised);
  }
  expect_the_same("Pendulum-v1", kNormalised);
  expect_the_same("FrozenLake-v1", kNormalised, 2);
}

// More environments than rows of a shard or a thread block. The last shard is not full.
TEST_F(DeviceTrainer, NormalisesShardsOfAllSizes) {
  for (const char* num_envs : {"1", "40", "70"}) {
    SCOPED_TRACE(num_envs);
    expect_the_same("Acrobot-v1", combine(kNormalised, {{"num_envs", num_envs}}));
  }
  expect_the_same("CartPole-v1", combine(kPqn, {{"norm_obs", "true"}}));
  expect_the_same("CartPole-v1",
                  combine(kNormalised, {{"reward_scale", "0.3"}, {"clip_obs", "0.2"}}), 3, false);
}

TEST_F(DeviceTrainer, StopsAnUpdateAtItsTargetKl) {
  const Options options =
      combine(kShort, {{"target_kl", "1e-6"}, {"update_epochs", "4"}, {"learning_rate", "1e-2"}});
  expect_the_same("CartPole-v1", options);
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", options), "cuda");
  iterate(*device);
  EXPECT_LT(device->report().epochs, 4);
}

TEST_F(DeviceTrainer, AdaptsItsLearningRate) {
  const Options options = combine(
      kShort, {{"lr_schedule", "adaptive"}, {"desired_kl", "1e-4"}, {"learning_rate", "1e-3"}});
  expect_the_same("CartPole-v1", options);
  expect_the_same("Pendulum-v1", combine(options, {{"target_kl", "1e-3"}}));
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", options), "cuda");
  for (int i = 0; i < 2; ++i) iterate(*device);
  EXPECT_NE(device->report().learning_rate, 1e-3);
}

TEST_F(DeviceTrainer, NormalisesTheAdvantagesOfABatch) {
  expect_the_same("CartPole-v1", combine(kShort, {{"norm_adv", "batch"}}));
  expect_the_same("Pendulum-v1",
                  combine(kShort, {{"norm_adv", "batch"}, {"num_minibatches", "1"}}));
}

TEST_F(DeviceTrainer, NeedsNoWholeBlocks) {
  expect_the_same("CartPole-v1", kShort, 3, false);
  expect_the_same("Pendulum-v1", kShort, 3, false);
}

TEST_F(DeviceTrainer, FollowsTheRestOfTheConfig) {
  Options options = kShort;
  for (const auto& [key, value] : Options{{"stagger_starts", "true"},
                                          {"seed_families", "1"},
                                          {"reward_scale", "0.3"},
                                          {"clip_schedule", "linear"},
                                          {"ent_schedule", "linear"},
                                          {"norm_adv", "off"},
                                          {"truncation_mode", "zero"},
                                          {"gae_weights", "normalised"},
                                          {"lr_schedule", "constant"}}) {
    options.emplace_back(key, value);
  }
  expect_the_same("CartPole-v1", options);
}

Options watched(Options options, const std::string& instruments) {
  options.emplace_back("instruments", instruments);
  options.emplace_back("instrument_every", "2");
  return options;
}

// Instruments that read blocks, policies and environments, and instruments that watch updates.
TEST_F(DeviceTrainer, IsSeenByInstruments) {
  const Options seen_options = watched(kShort, "gradient,plasticity,policy,coverage,audit");
  expect_the_same("CartPole-v1", seen_options, 4);
  expect_the_same("Pendulum-v1", seen_options, 2);
  expect_the_same("CartPole-v1", combine(seen_options, kShared), 4);
  expect_the_same("CartPole-v1", watched(kPqn, "plasticity,coverage"), 2);
  expect_the_same("MinAtar/Breakout-v1", watched(kMinatar, "plasticity,coverage"), 2);
  const Options ppo = combine(kTinyMinatar, {{"algorithm", "ppo"}, {"encoder", "minatar"}});
  expect_the_same("MinAtar/Asterix-v1", watched(ppo, "gradient,plasticity,policy,coverage,audit"),
                  2);
  const std::unique_ptr<Trainer> plain = make_trainer(config_of("CartPole-v1", kShort), "cuda");
  const std::unique_ptr<Trainer> seen =
      make_trainer(config_of("CartPole-v1", seen_options), "cuda");
  for (int i = 0; i < 3; ++i) {
    iterate(*plain);
    iterate(*seen);
  }
  expect_same_state(*plain, *seen);
}

TEST_F(DeviceTrainer, LeavesAPolicyToEvaluate) {
  const Config config = config_of("CartPole-v1", kShort);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  for (int i = 0; i < 2; ++i) {
    iterate(*host);
    iterate(*device);
  }
  const EvalOptions options{.episodes = 5, .seed = 1, .threads = 2};
  const Result<EvalResult> a = evaluate_policy(host->policy(), options);
  const Result<EvalResult> b = evaluate_policy(device->policy(), options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.value().mean_return, b.value().mean_return);
  EXPECT_EQ(a.value().std_return, b.value().std_return);
}

TEST_F(DeviceTrainer, ContinuesAfterAResume) {
  RELEASE_ONLY("kernels of other cases, twice");
  expect_same_after_resume("CartPole-v1", kShort);
  expect_same_after_resume("CartPole-v1", kPqn);
  expect_same_after_resume("CartPole-v1", combine(kShort, kShared));
  expect_same_after_resume("MinAtar/Seaquest-v1", kTinyMinatar);
  expect_same_after_resume("Pendulum-v1", combine(kNormalised, {{"lr_schedule", "adaptive"}}));
}

// The device updates while the host reads the block, unless the host changes the block first.
// Tested without a trainer, whose bits are the same either way.
TEST_F(DeviceTrainer, StartsAnUpdateEarly) {
  for (const bool scales_rewards : {false, true}) {
    Options options = combine(kShort, {{"norm_reward", scales_rewards ? "true" : "false"}});
    const Config config = config_of("CartPole-v1", combine(options, {{"device", "cuda"}}));
    const std::unique_ptr<VecEnv> envs =
        make_vec_env(config.env_id, {}, vec_env_options(config)).take();
    const ActorCritic network(network_shape(config, envs->spec()));
    ThreadPool pool(1);
    const std::unique_ptr<Device> device = make_device({config, network, *envs, pool}).take();
    Learner learner(network.parameter_count());
    network.initialise(config.seed, learner.params.data());
    RolloutBlock block(run_block_sizes(config, *envs));
    ASSERT_TRUE(device->take_state(learner, *envs).ok());
    ASSERT_TRUE(device->collect(0, BlockParts::kForReports, block).ok());
    device->begin_update(config.seed, 1, learner);
    ASSERT_TRUE(device->await_block(0).ok());
    const Status next = device->collect(0, BlockParts::kForReports, block);
    EXPECT_EQ(next.ok(), scales_rewards) << next.message();
    if (scales_rewards) continue;
    EXPECT_NE(next.message().find("an update was begun"), std::string::npos) << next.message();
  }
}

// Restores a trainer to an earlier state, over the data on its device.
TEST_F(DeviceTrainer, GoesBackToAnEarlierState) {
  const Config config = config_of("CartPole-v1", kNormalised);
  const std::unique_ptr<Trainer> early = make_trainer(config, "cuda");
  const std::unique_ptr<Trainer> late = make_trainer(config, "cuda");
  for (int i = 0; i < 3; ++i) iterate(*late);
  copy_state(*early, *late);
  for (int i = 0; i < 2; ++i) {
    iterate(*early);
    iterate(*late);
  }
  expect_same_state(*early, *late);
}

}  // namespace
}  // namespace broadloom::cuda
