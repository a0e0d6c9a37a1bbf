// Numbers of an observation that a policy does not see.
#include "broadloom/env/hidden_numbers.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_waves.h"
#include "tests/env/observation_envs.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

constexpr int kEnvs = 6, kSteps = 90;  // each environment ends episodes

VecEnvOptions some() { return {.num_envs = kEnvs, .seed = 3, .max_episode_steps = 40}; }

// The columns of rows of `size` numbers.
std::vector<float> columns(const std::vector<float>& rows, std::size_t size,
                           const std::vector<std::size_t>& kept) {
  std::vector<float> out;
  for (std::size_t first = 0; first < rows.size(); first += size) {
    for (const std::size_t i : kept) out.push_back(rows[first + i]);
  }
  return out;
}

std::string refusal(const std::string& id, const Overrides& options) {
  return make_vec_env(id, options, some()).status().message();
}

TEST(HiddenNumbers, LeaveTheOthersAsTheyAre) {
  const Rollout whole = roll(*make("CartPole-v1", some()), 0, kSteps, kEnvs);
  const auto envs = make("CartPole-v1", some(), {{"hide_obs", "1,3"}});
  EXPECT_EQ(envs->spec().observation.size, 2);
  EXPECT_EQ(envs->spec().observation.high,
            columns(make("CartPole-v1", some())->spec().observation.high, 4, {0, 2}));
  EXPECT_FALSE(envs->spec().has_critic_observation());
  EXPECT_FALSE(envs->spec().has_score_range);
  std::vector<float> first(2 * kEnvs);
  envs->observe(0, kEnvs, first.data());
  std::vector<float> whole_first(4 * kEnvs);
  make("CartPole-v1", some())->observe(0, kEnvs, whole_first.data());
  EXPECT_EQ(first, columns(whole_first, 4, {0, 2}));
  // In ranges of 4 and 2, since results must not depend on the range.
  const Rollout part = roll(*envs, 0, kSteps, 4);
  EXPECT_EQ(part.observations, columns(whole.observations, 4, {0, 2}));
  EXPECT_EQ(part.final_observations, columns(whole.final_observations, 4, {0, 2}));
  EXPECT_EQ(part.rewards, whole.rewards);
  EXPECT_EQ(part.terminated, whole.terminated);
  EXPECT_EQ(part.truncated, whole.truncated);
  EXPECT_EQ(part.ends, whole.ends);
  EXPECT_NE(std::count(part.terminated.begin(), part.terminated.end(), 1), 0);
}

TEST(HiddenNumbers, StayVisibleToTheCritic) {
  const Rollout whole = roll(*make("Pendulum-v1", some()), 0, kSteps, kEnvs);
  const auto envs = make("Pendulum-v1", some(), {{"hide_obs", "2"}, {"hide_from", "policy"}});
  EXPECT_EQ(envs->spec().observation.size, 2);
  EXPECT_EQ(envs->spec().critic_observation.size, 3);
  std::vector<float> seen(3 * kEnvs), whole_seen(3 * kEnvs);
  envs->observe_critic(0, kEnvs, seen.data());
  make("Pendulum-v1", some())->observe(0, kEnvs, whole_seen.data());
  EXPECT_EQ(seen, whole_seen);
  const Rollout part = roll(*envs, 0, kSteps, 4);
  EXPECT_EQ(part.observations, columns(whole.observations, 3, {0, 1}));
  EXPECT_EQ(part.critic_observations, whole.observations);
  EXPECT_EQ(part.final_observations, columns(whole.final_observations, 3, {0, 1}));
  EXPECT_EQ(part.final_critic_observations, whole.final_observations);
}

TEST(HiddenNumbers, KeepStateAndCapabilities) {
  const Overrides options = {{"hide_obs", "1,3"}, {"hide_from", "policy"}};
  const auto envs = make("CartPole-v1", some(), options);
  roll(*envs, 0, 25, kEnvs);
  const auto restored = make("CartPole-v1", some(), options);
  copy_state(*envs, *restored);
  ASSERT_TRUE(restored->state_restored().ok());
  EXPECT_EQ(roll(*envs, 25, 50, kEnvs), roll(*restored, 25, 50, kEnvs));
  const auto another = make_another(*envs, some());
  ASSERT_NE(another, nullptr);
  EXPECT_EQ(roll(*another, 0, 30, kEnvs), roll(*make("CartPole-v1", some(), options), 0, 30, 2));
  // It can forward waves, and asks the environments, which have none.
  ASSERT_NE(dynamic_cast<EpisodeWaves*>(envs.get()), nullptr);
  EXPECT_EQ(episode_waves(*envs), nullptr);
}

// Numbers of disturb.obs_noise_of are those of the whole observation.
TEST(HiddenNumbers, HaveNoNoise) {
  const auto refused = [](const Overrides& options) {
    return check_noise_is_seen("CartPole-v1", options).message();
  };
  const Overrides hidden{{"hide_obs", "1,3"}, {"disturb.obs_noise_of", "0..1:0.1,3:0.2"}};
  EXPECT_EQ(
      refused(hidden),
      "disturb.obs_noise_of: got '3:0.2', but env.hide_obs = 1,3 hides these numbers, so the "
      "noise has no effect; expected numbers of the whole observation, 0 to 3, that are seen");
  EXPECT_EQ(refusal("CartPole-v1", hidden), "");  // records of such runs stay readable
  EXPECT_EQ(refused({{"hide_obs", "1,3"}, {"disturb.obs_noise_of", "0..1:0.1"}}), "");
  EXPECT_EQ(
      refused({{"hide_obs", "1"}, {"hide_from", "policy"}, {"disturb.obs_noise_of", "1:0.1"}}), "");
}

TEST(HiddenNumbers, ThatAreNotThereAreRefused) {
  EXPECT_EQ(refusal("CartPole-v1", {{"hide_obs", "1,4"}}),
            "env.hide_obs: got 1,4, but CartPole-v1 has numbers 0 to 3");
  EXPECT_EQ(refusal("CartPole-v1", {{"hide_obs", "-1"}}),
            "env.hide_obs: got -1, but CartPole-v1 has numbers 0 to 3");
  EXPECT_EQ(refusal("MountainCar-v0", {{"hide_obs", "0,1,1"}}),
            "env.hide_obs: got 0,1,1, but the policy must see at least one number");
  EXPECT_EQ(refusal("FrozenLake-v1", {{"hide_obs", "1"}}),
            "env.hide_obs: got 1, but observations of FrozenLake-v1 are Discrete(16); expected a "
            "Box of float32 with one dimension. Leave it out");
  EXPECT_NE(refusal("CartPole-v1", {{"hide_obs", "velocity"}}).find("env.hide_obs: got 'velocity'"),
            std::string::npos);
  EXPECT_NE(refusal("CartPole-v1", {{"hide_ob", "1"}}).find("did you mean 'hide_obs'"),
            std::string::npos);
  ASSERT_TRUE(register_observation_envs());
  EXPECT_EQ(refusal("Windy-v0", {{"hide_obs", "0"}}),
            "env.hide_obs: got 0, but the critic of Windy-v0 has an observation of its own; set "
            "env.hide_from = policy");
}

}  // namespace
}  // namespace broadloom
