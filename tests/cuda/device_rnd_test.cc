// PPO with RND on an emulated device, compared with the CPU bit for bit: novelty, intrinsic rewards
// and the predictor's training.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/cuda/device_trainers.h"

namespace broadloom::cuda {
namespace {

class DeviceRnds : public DeviceTrainer {};

const Options kRnd{{"algorithm", "ppo_rnd"},
                   {"max_episode_steps", "11"},
                   {"rnd_hidden_sizes", "16,8"},
                   {"rnd_outputs", "5"},
                   {"num_iterations_obs_norm_init", "1"}};

// One step of a tiny game with frames stored once.
const Options kImages = combine(combine(kTinyMinatar, kRnd), {{"algorithm", "ppo_rnd"},
                                                              {"encoder", "minatar"},
                                                              {"rnd_hidden_sizes", "6"},
                                                              {"num_iterations_obs_norm_init", "2"},
                                                              {"max_episode_steps", "3"}});

TEST_F(DeviceRnds, LearnWithOwnStatistics) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kRnd);
  }
}

TEST_F(DeviceRnds, LearnWithThePolicysStatistics) {
  expect_the_same("Pendulum-v1", combine(kRnd, kNormalised));
  emulate_as(FiberOrder::kShuffled);
  expect_the_same("CartPole-v1", combine(combine(kRnd, kNormalised), {{"shared_encoder", "true"}}));
}

// The host sums tiles, each with as many steps of a shard as fit.
TEST_F(DeviceRnds, AddUpShardsOfAllSizes) {
  for (const char* num_envs : {"1", "40", "70"}) {
    SCOPED_TRACE(num_envs);
    expect_the_same("CartPole-v1", combine(kRnd, {{"num_envs", num_envs}, {"update_epochs", "1"}}),
                    2);
  }
}

TEST_F(DeviceRnds, LookAtImages) {
  for (const FiberOrder each : {FiberOrder::kForward, FiberOrder::kReversed}) {
    emulate_as(each);
    expect_the_same("MinAtar/Breakout-v1", kImages, 2);
    expect_the_same("MinAtar/Breakout-v1", combine(kImages, {{"env.frame_stack", "3"}}), 2);
  }
}

// Tiles of the predictor exceed shared memory, in inference and in training.
TEST_F(DeviceRnds, TakeWideNetworks) {
  emulate_as(FiberOrder::kReversed);
  expect_the_same(
      "CartPole-v1",
      combine(kRnd,
              {{"rnd_hidden_sizes", "128,96"}, {"rnd_outputs", "130"}, {"update_epochs", "1"}}),
      2);
}

// More samples than the predictor trains on at a time.
TEST_F(DeviceRnds, TakeRowsOneAfterAnother) {
  emulation.limits.rows = 128;
  expect_the_same("CartPole-v1",
                  combine(kRnd, {{"num_envs", "40"},
                                 {"num_minibatches", "1"},
                                 {"update_proportion", "0.9"},
                                 {"update_epochs", "1"}}),
                  2);
}

// Either all samples of a minibatch train the predictor, or only the first.
TEST_F(DeviceRnds, DrawAnyShareOfAMinibatch) {
  for (const char* share : {"1e-6", "1"}) {
    expect_the_same("CartPole-v1", combine(kRnd, {{"update_proportion", share}}), 2);
  }
}

TEST_F(DeviceRnds, FollowTheRestOfTheConfig) {
  expect_the_same("CartPole-v1", combine(kRnd, {{"norm_adv", "batch"},
                                                {"ext_coef", "0.3"},
                                                {"int_coef", "1.7"},
                                                {"int_gamma", "0.9"},
                                                {"max_grad_norm", "0.05"},
                                                {"lr_schedule", "adaptive"},
                                                {"desired_kl", "1e-4"}}));
  expect_the_same("CartPole-v1",
                  combine(kRnd, {{"norm_adv", "off"},
                                 {"clip_vloss", "false"},
                                 {"reward_scale", "0.3"},
                                 {"target_kl", "1e-6"},
                                 {"learning_rate", "1e-2"},
                                 {"update_epochs", "4"},
                                 {"num_iterations_obs_norm_init", "0"}}),
                  2, false);
}

TEST_F(DeviceRnds, AreSeenByInstruments) {
  expect_the_same("CartPole-v1",
                  combine(kRnd, {{"instruments", "plasticity,policy,coverage,audit"},
                                 {"instrument_every", "2"}}),
                  2);
}

TEST_F(DeviceRnds, HandOutWholeBlocks) {
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", combine(kRnd, kNormalised)}, {"MinAtar/Asterix-v1", kImages}}) {
    const Config config = config_of(env_id, combine(options, {{"hashes", "true"}}));
    const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
    const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
    iterate(*host);
    iterate(*device);
    const RolloutBlock &a = host->block(), &b = device->block();
    std::vector<float> seen(static_cast<std::size_t>(a.N) * a.D), expected = seen;
    a.last_observations.read(0, static_cast<std::size_t>(a.N), expected.data());
    b.last_observations.read(0, static_cast<std::size_t>(a.N), seen.data());
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(b.int_values, a.int_values);
    EXPECT_EQ(b.last_int_values, a.last_int_values);
    EXPECT_EQ(b.int_rewards, a.int_rewards);
    EXPECT_EQ(b.int_advantages, a.int_advantages);
    EXPECT_EQ(b.advantages, a.advantages);
    EXPECT_NE(a.int_rewards[0], 0.0f);
  }
}

// Restores a trainer to an earlier state, over the data on its device.
TEST_F(DeviceRnds, GoBackToAnEarlierState) {
  const Config config = config_of("CartPole-v1", kRnd);
  const std::unique_ptr<Trainer> early = make_trainer(config, "cuda");
  const std::unique_ptr<Trainer> late = make_trainer(config, "cuda");
  for (int i = 0; i < 2; ++i) iterate(*late);
  copy_state(*early, *late);
  for (Trainer* trainer : {early.get(), late.get()}) iterate(*trainer);
  expect_same_state(*early, *late);
}

TEST_F(DeviceRnds, ContinueAfterAResume) {
  const Options quick{{"num_envs", "5"}, {"num_steps", "12"}, {"num_minibatches", "1"}};
  expect_same_after_resume("CartPole-v1", combine(kRnd, quick));
  expect_same_after_resume("Pendulum-v1", combine(combine(kRnd, kNormalised), quick));
}

}  // namespace
}  // namespace broadloom::cuda
