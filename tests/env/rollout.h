// Rollouts under fixed actions, shared by tests of environments.
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

// All outputs of several steps. Actions depend only on environment and step. uint8 numbers are not
// scaled.
struct Rollout {
  std::vector<float> observations, rewards, final_observations;
  std::vector<float> critic_observations, final_critic_observations;  // empty if there are none
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  bool operator==(const Rollout&) const = default;
};

// Environments with the same number modulo `period` get the same actions.
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

// Observation rows of one step, which append_to() adds to a rollout.
class StepObservations {
 public:
  // Marks numbers that were not written.
  static constexpr float kUntouched = -7.0f;

  StepObservations(const Space& space, int count)
      : type_(observation_type(space)),
        floats_(type_.dtype == Dtype::kF32 ? numbers(count) : 0),
        bytes_(type_.dtype == Dtype::kU8 ? numbers(count) : 0) {}

  void clear() {
    std::fill(floats_.begin(), floats_.end(), kUntouched);
    std::fill(bytes_.begin(), bytes_.end(), kUntouchedByte);
  }
  ObservationRows rows_from(int row) {
    if (type_.size == 0) return nullptr;
    const ObservationRows rows = type_.dtype == Dtype::kF32 ? ObservationRows(floats_.data())
                                                            : ObservationRows(bytes_.data());
    return rows.offset_by(numbers(row));
  }
  void append_to(std::vector<float>& out) const {
    out.insert(out.end(), floats_.begin(), floats_.end());
    for (std::size_t first = 0; first < bytes_.size(); first += numbers(1)) {
      const auto* row = &bytes_[first];
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
  StepObservations seen(spec.observation, count), finals(spec.observation, count);
  StepObservations critic(spec.critic_observation, count),
      critic_finals(spec.critic_observation, count);
  Rollout out;
  std::vector<float> actions(count * env.spec().action_size());
  for (int t = first; t < first + steps; ++t) {
    const std::size_t row = out.rewards.size();
    for (StepObservations* rows : {&seen, &finals, &critic, &critic_finals}) rows->clear();
    out.rewards.resize(row + count);
    out.terminated.resize(row + count);
    out.truncated.resize(row + count);
    out.ends.resize(row + count);
    for (int begin = 0; begin < count; begin += shard_size) {
      const int end = std::min(count, begin + shard_size);
      draw_actions(env.spec(), begin, end, t, period, actions.data());
      const std::size_t first_row = row + begin;
      const Status stepped =
          env.step(begin, end,
                   {actions.data(), seen.rows_from(begin), &out.rewards[first_row],
                    &out.terminated[first_row], &out.truncated[first_row], finals.rows_from(begin),
                    &out.ends[first_row], critic.rows_from(begin), critic_finals.rows_from(begin)});
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
  std::vector<TensorRef> source_tensors, target_tensors;
  source.append_state("e", source_tensors);
  target.append_state("e", target_tensors);
  ASSERT_EQ(source_tensors.size(), target_tensors.size());
  for (std::size_t i = 0; i < source_tensors.size(); ++i) {
    const TensorRef &source_tensor = source_tensors[i], &target_tensor = target_tensors[i];
    ASSERT_EQ(source_tensor.name, target_tensor.name);
    ASSERT_EQ(source_tensor.bytes(), target_tensor.bytes());
    std::memcpy(target_tensor.data, source_tensor.data, source_tensor.bytes());
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
