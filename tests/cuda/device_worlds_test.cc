// Strata, curricula and disturbances on an emulated device, compared with the CPU.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/device_trainers.h"

namespace broadloom::cuda {
namespace {

class DeviceWorlds : public DeviceTrainer {};

const Options kStrata{{"max_episode_steps", "11"},
                      {"strata.light.pole_mass", "0.05..0.1"},
                      {"strata.light.force", "8..12"},
                      {"strata.heavy.half_length", "0.5..1.5"},
                      {"strata.heavy.weight", "2"}};
const Options kLevels = combine(kStrata, {{"curriculum", "light,heavy"},
                                          {"curriculum_episodes", "2"},
                                          {"curriculum_up", "0.6"},
                                          {"curriculum_down", "0.4"}});
const Options kSwings{{"max_episode_steps", "11"},
                      {"strata.earth.gravity", "9..11"},
                      {"strata.earth.max_torque", "2"},
                      {"strata.moon.gravity", "1.6"},
                      {"strata.moon.mass", "0.5..2"}};

TEST_F(DeviceWorlds, DrawConstantsForEachEpisode) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kStrata);
  }
  expect_the_same("Pendulum-v1", combine(kSwings, {{"norm_obs", "true"}, {"norm_reward", "true"}}));
  expect_the_same("CartPole-v1", combine(kStrata, {{"algorithm", "pqn"}}), 2, false);
}

TEST_F(DeviceWorlds, BalanceDrawsOverFamilies) {
  for (const char* families : {"0", "4", "1"}) {
    SCOPED_TRACE(families);
    expect_the_same("CartPole-v1", combine(kStrata, {{"strata_sampling", "stratified"},
                                                     {"num_envs", "12"},
                                                     {"seed_families", families}}));
  }
}

std::int32_t highest_level(Trainer& trainer) {
  const TensorRef standings = tensor_of(trainer, "envs.curriculum");
  const auto* const numbers = static_cast<const std::int32_t*>(standings.data);
  std::int32_t highest = 0;
  for (std::size_t i = 0; i < standings.count(); i += 3) highest = std::max(highest, numbers[i]);
  return highest;
}

TEST_F(DeviceWorlds, FollowACurriculum) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", kLevels, 5);
  }
  const Options watched{{"instruments", "audit,coverage"}, {"instrument_every", "2"}};
  expect_the_same("CartPole-v1", combine(kLevels, watched), 4);
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", kLevels), "cuda");
  for (int i = 0; i < 3; ++i) iterate(*device);
  ASSERT_TRUE(device->capture().ok());
  EXPECT_EQ(highest_level(*device), 1);
}

const Options kNoise{{"disturb.obs_noise", "0.1"}};
const Options kDelay{{"disturb.action_delay", "2"}};
const Options kDelays{{"disturb.action_delay", "1"}, {"disturb.action_delay_max", "3"}};
const Options kPushes{{"disturb.push_interval", "3"}, {"disturb.push_steps", "2"}};

TEST_F(DeviceWorlds, AreDisturbed) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("CartPole-v1", combine(combine(combine(kShort, kNoise), kDelay), kPushes));
  }
  for (const Options* one : {&kNoise, &kDelay, &kDelays, &kPushes}) {
    SCOPED_TRACE(one->front().first);
    expect_the_same("Pendulum-v1", combine(kNormalised, *one), 2);
  }
  expect_the_same("MinAtar/Breakout-v1", combine(combine(kTinyMinatar, kDelay), kPushes));
  expect_the_same("FrozenLake-v1", combine(combine(kShort, kDelay), kPushes), 2);
}

// Otherwise, the comparison above would be empty.
TEST_F(DeviceWorlds, LearnDifferentlyUnderDisturbances) {
  const auto learnt = [](const Options& options) {
    const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", options), "cuda");
    iterate(*device);
    return std::vector<float>(device->params(),
                              device->params() + device->network().parameter_count());
  };
  const std::vector<float> plain = learnt(kShort);
  for (const Options* one : {&kNoise, &kDelay, &kDelays, &kPushes}) {
    EXPECT_NE(learnt(combine(kShort, *one)), plain) << one->front().first;
  }
  EXPECT_NE(learnt(kStrata), plain);
}

TEST_F(DeviceWorlds, BeginInTheMiddleOfEpisodes) {
  const Options staggered{{"stagger_starts", "true"}, {"num_envs", "12"}, {"seed_families", "6"}};
  expect_the_same("CartPole-v1", combine(combine(combine(kLevels, kNoise), kDelay), staggered));
}

TEST_F(DeviceWorlds, ContinueAfterAResume) {
  expect_same_after_resume("CartPole-v1",
                           combine(combine(combine(kLevels, kNoise), kDelay), kPushes));
}

}  // namespace
}  // namespace broadloom::cuda
