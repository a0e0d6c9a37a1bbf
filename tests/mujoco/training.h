// Short training runs on MuJoCo's tasks, compared bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bridges/bridges.h"
#include "broadloom/core/random.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

inline Config config_of(const std::string& env_id, const Overrides& more = {}) {
  register_bridges();
  Overrides all{{"env_id", env_id},         {"num_envs", "6"},          {"num_steps", "12"},
                {"num_minibatches", "3"},   {"update_epochs", "2"},     {"total_timesteps", "432"},
                {"hidden_sizes", "16"},     {"norm_obs", "true"},       {"norm_reward", "true"},
                {"stagger_starts", "true"}, {"max_episode_steps", "30"}};
  all.insert(all.end(), more.begin(), more.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

inline std::unique_ptr<Trainer> trainer_of(const Config& config, int threads) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, threads);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  trainer.value()->hold_threads(threads);
  return trainer.take();
}

inline void iterate(Trainer& trainer, int times) {
  for (int i = 0; i < times; ++i) ASSERT_TRUE(trainer.iterate().ok());
}

inline std::string bytes_of(Trainer& trainer) {
  std::string bytes;
  for (const TensorRef& tensor : trainer.state())
    bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
  return bytes;
}

// Checks that training on 1, 2 and 5 threads gives the same state.
inline void expect_same_bits_on_any_threads(const Config& config) {
  std::string first;
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<Trainer> trainer = trainer_of(config, threads);
    iterate(*trainer, 4);
    if (first.empty()) first = bytes_of(*trainer);
    EXPECT_EQ(bytes_of(*trainer) == first, true)
        << config.env_id << " on " << threads << " threads";
  }
}

// Checks that a run that continues from another's saved state ends like an uninterrupted one.
inline void expect_continues_from_saved_state(const Config& config) {
  const std::unique_ptr<Trainer> whole = trainer_of(config, 1), saved = trainer_of(config, 1),
                                 other = trainer_of(config, 2);
  iterate(*whole, 5);
  iterate(*saved, 3);
  const std::vector<TensorRef> saved_state = saved->state(), other_state = other->state();
  ASSERT_EQ(saved_state.size(), other_state.size());
  for (std::size_t i = 0; i < saved_state.size(); ++i)
    std::memcpy(other_state[i].data, saved_state[i].data, saved_state[i].bytes());
  ASSERT_TRUE(other->state_restored().ok());
  iterate(*other, 2);
  EXPECT_EQ(bytes_of(*whole) == bytes_of(*other), true) << config.env_id;
}

// Steps under random actions, under which the physics must not break down. The terms of each step
// must sum to its reward.
template <class Reward>
void expect_terms_add_up(VecEnv& envs, int steps, Reward&& reward) {
  const std::size_t count = static_cast<std::size_t>(envs.num_envs());
  const EnvSpec& spec = envs.spec();
  ASSERT_TRUE(spec.counts_reward_terms);
  const std::size_t width = static_cast<std::size_t>(spec.observation_size());
  const std::size_t action_size = static_cast<std::size_t>(spec.action_size());
  std::vector<float> actions(count * action_size), seen(count * width), last(count * width),
      rewards(count);
  std::vector<std::uint8_t> terminated(count), truncated(count);
  const auto terms = static_cast<std::ptrdiff_t>(spec.paid_terms());
  std::vector<double> paid(spec.counted());
  for (int i = 0; i < envs.num_envs(); ++i) capability<StepCounter>(envs)->take_step_sums(i, paid);
  int ended = 0;
  for (int s = 0; s < steps; ++s) {
    Random random(1, Purpose::kStagger, 0, static_cast<std::uint64_t>(s));
    for (std::size_t i = 0; i < count; ++i)
      draw_action(spec.action, random, &actions[i * action_size]);
    StepRows rows{actions.data(),    seen.data(),      rewards.data(),
                  terminated.data(), truncated.data(), last.data()};
    ASSERT_TRUE(envs.step(0, envs.num_envs(), rows).ok());
    for (std::size_t i = 0; i < count; ++i) {
      capability<StepCounter>(envs)->take_step_sums(static_cast<int>(i), paid);
      const double sum = std::accumulate(paid.begin(), paid.begin() + terms, 0.0);
      const double got = static_cast<double>(rewards[i]);
      EXPECT_NEAR(reward(sum), got, 1e-6 * (1.0 + std::fabs(got))) << spec.id << ", step " << s;
      ended += terminated[i] | truncated[i];
    }
  }
  EXPECT_GT(ended, 0) << spec.id;
}

}  // namespace broadloom
