// What tests of environments share: rollouts under fixed actions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/episode_strata.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

inline std::unique_ptr<VecEnv> make(const std::string& id, VecEnvOptions options,
                                    const Overrides& env_options = {}) {
  Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, env_options, options);
  EXPECT_TRUE(env.ok()) << env.status().message();
  return env.take();
}

// Everything that steps of all environments give, under actions that depend on environment and step
// only.
// (uint8 numbers as they are, not divided.)
struct Rollout {
  std::vector<float> observations, rewards, final_observations;
  std::vector<float> critic_observations, final_critic_observations;  // empty where there are none
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

// A step's rows of one space, and the whole rollout's after it.
class RolledRows {
 public:
  // What nothing was written to has this number in the rollout.
  static constexpr float kUntouched = -7.0f;

  RolledRows(const Space& space, int count)
      : type_(observation_type(space)),
        floats_(type_.dtype == Dtype::kF32 ? numbers(count) : 0),
        bytes_(type_.dtype == Dtype::kU8 ? numbers(count) : 0) {}

  void clear() {
    std::fill(floats_.begin(), floats_.end(), kUntouched);
    std::fill(bytes_.begin(), bytes_.end(), kUntouchedByte);
  }
  ObservationRows from(int row) {
    if (type_.size == 0) return nullptr;
    const ObservationRows rows = type_.dtype == Dtype::kF32 ? ObservationRows(floats_.data())
                                                            : ObservationRows(bytes_.data());
    return rows.from(numbers(row));
  }
  void append_to(std::vector<float>& out) const {
    out.insert(out.end(), floats_.begin(), floats_.end());
    for (std::size_t at = 0; at < bytes_.size(); at += numbers(1)) {
      const auto* row = &bytes_[at];
      const bool touched =
          std::any_of(row, row + numbers(1), [](auto x) { return x != kUntouchedByte; });
      for (std::size_t i = 0; i < numbers(1); ++i) {
        out.push_back(touched ? static_cast<float>(row[i]) : kUntouched);
      }
    }
  }

 private:
  static constexpr std::uint8_t kUntouchedByte = 165;
  std::size_t numbers(int rows) const { return static_cast<std::size_t>(rows) * type_.size; }

  ObservationType type_;
  std::vector<float> floats_;
  std::vector<std::uint8_t> bytes_;
};

inline Rollout roll(VecEnv& env, int first, int steps, int shard_size, int period = 1 << 30) {
  const int count = env.num_envs();
  const EnvSpec& spec = env.spec();
  RolledRows seen(spec.observation, count), finals(spec.observation, count);
  RolledRows critic(spec.critic_observation, count), critic_finals(spec.critic_observation, count);
  Rollout out;
  std::vector<float> actions(count * env.spec().action_size());
  for (int t = first; t < first + steps; ++t) {
    const std::size_t row = out.rewards.size();
    for (RolledRows* rows : {&seen, &finals, &critic, &critic_finals}) rows->clear();
    out.rewards.resize(row + count);
    out.terminated.resize(row + count);
    out.truncated.resize(row + count);
    out.ends.resize(row + count);
    for (int begin = 0; begin < count; begin += shard_size) {
      const int end = std::min(count, begin + shard_size);
      draw_actions(env.spec(), begin, end, t, period, actions.data());
      const std::size_t at = row + begin;
      const Status stepped =
          env.step(begin, end,
                   {actions.data(), seen.from(begin), &out.rewards[at], &out.terminated[at],
                    &out.truncated[at], finals.from(begin), &out.ends[at], critic.from(begin),
                    critic_finals.from(begin)});
      EXPECT_TRUE(stepped.ok()) << stepped.message();
    }
    seen.append_to(out.observations);
    finals.append_to(out.final_observations);
    critic.append_to(out.critic_observations);
    critic_finals.append_to(out.final_critic_observations);
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

inline int stratum_of(const VecEnv& envs, int env) {
  return capability<EpisodeStrata>(envs)->stratum(env);
}
inline int level_of(const VecEnv& envs, int env) {
  return capability<EpisodeStrata>(envs)->level(env);
}

inline std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const EnvSpec& spec : list_envs()) ids.push_back(spec.id);
  return ids;
}

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (const char c : {'-', '/'}) std::replace(name.begin(), name.end(), c, '_');
  return name;
}

}  // namespace broadloom
