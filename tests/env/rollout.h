// What tests of environments share: rollouts under fixed actions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/envs/registry.h"

namespace broadloom {

inline std::unique_ptr<VecEnv> make(const std::string& id, VecEnvOptions options,
                                    const Overrides& env_options = {}) {
  Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, env_options, options);
  EXPECT_TRUE(env.ok()) << env.status().message();
  return env.take();
}

// Everything that steps of all environments give, under actions that depend on environment and step
// only.
struct Rollout {
  std::vector<float> observations, rewards, final_observations;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  bool operator==(const Rollout&) const = default;
};

// Environments whose numbers differ by a multiple of `period` get the same actions.
inline void draw_actions(const EnvSpec& spec, int begin, int end, int step, int period,
                         float* actions) {
  for (int n = begin; n < end; ++n) {
    Random random(99, Purpose::kUser, static_cast<std::uint32_t>(n % period),
                  static_cast<std::uint64_t>(step));
    float* action = actions + (n - begin) * spec.action_size();
    if (spec.action.kind == SpaceKind::kDiscrete) {
      action[0] = static_cast<float>(random.below(static_cast<std::uint32_t>(spec.action.size)));
      continue;
    }
    for (int a = 0; a < spec.action.size; ++a) {
      action[a] = static_cast<float>(random.uniform(spec.action.low[a], spec.action.high[a]));
    }
  }
}

inline Rollout roll(VecEnv& env, int first, int steps, int shard_size, int period = 1 << 30) {
  const int count = env.num_envs();
  const std::size_t width = env.spec().observation_size();
  Rollout out;
  std::vector<float> actions(count * env.spec().action_size());
  for (int t = first; t < first + steps; ++t) {
    const std::size_t row = out.rewards.size();
    out.observations.resize((row + count) * width);
    out.final_observations.resize((row + count) * width, -7.0f);
    out.rewards.resize(row + count);
    out.terminated.resize(row + count);
    out.truncated.resize(row + count);
    out.ends.resize(row + count);
    for (int begin = 0; begin < count; begin += shard_size) {
      const int end = std::min(count, begin + shard_size);
      draw_actions(env.spec(), begin, end, t, period, actions.data());
      const std::size_t at = row + begin;
      const Status stepped = env.step(
          begin, end,
          {actions.data(), &out.observations[at * width], &out.rewards[at], &out.terminated[at],
           &out.truncated[at], &out.final_observations[at * width], &out.ends[at]});
      EXPECT_TRUE(stepped.ok()) << stepped.message();
    }
  }
  return out;
}

inline void copy_state(VecEnv& source, VecEnv& target) {
  std::vector<TensorRef> from, to;
  source.append_state("e", from);
  target.append_state("e", to);
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(from[i].name, to[i].name);
    ASSERT_EQ(from[i].bytes(), to[i].bytes());
    std::memcpy(to[i].data, from[i].data, from[i].bytes());
  }
}

inline std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const EnvSpec& spec : list_envs()) ids.push_back(spec.id);
  return ids;
}

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace broadloom
