// Plays environments with actions that depend only on environment and step, for conformance.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/core/threads.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/conformance/guarded_rows.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::conformance {

inline constexpr float kUntouched = -7.25f;  // initial value of final observations

using EnvRange = std::pair<int, int>;  // [first, second)

// Observation rows in the environment's dtype, readable as floats.
class ObservationBuffer {
 public:
  ObservationBuffer(const Space& space, std::size_t rows)
      : width_(static_cast<std::size_t>(space.size)),
        floats_(space.dtype == Dtype::kU8 ? 0 : rows * width_, kUntouched),
        bytes_(space.dtype == Dtype::kU8 ? rows * width_ : 0, kUnwrittenByte),
        is_bytes_(space.dtype == Dtype::kU8) {}

  ObservationRows rows_from(std::size_t row) {
    if (width_ == 0) return nullptr;
    const ObservationRows rows = is_bytes_ ? ObservationRows(bytes_.data()) : floats_.data();
    return rows.offset_by(row * width_);
  }
  // All numbers as floats. Rows that were not written hold kUntouched.
  std::vector<float> numbers() const {
    if (!is_bytes_) return floats_;
    std::vector<float> out(bytes_.begin(), bytes_.end());
    for (std::size_t first = 0; first < out.size(); first += width_) {
      const auto row = bytes_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = row + static_cast<std::ptrdiff_t>(width_);
      const bool touched = std::any_of(row, end, [](auto x) { return x != kUnwrittenByte; });
      if (!touched) std::fill_n(&out[first], width_, kUntouched);
    }
    return out;
  }

 private:
  std::size_t width_;
  std::vector<float> floats_;
  std::vector<std::uint8_t> bytes_;
  bool is_bytes_;
};

// Observations of the policy or the critic, [steps, kEnvs, width]. `last`: final observations.
struct Observations {
  std::vector<float> observations, last;
  bool operator==(const Observations&) const = default;

  // Whether rows i and j are equal. `rows`: number of all rows.
  bool rows_are_alike(std::size_t i, std::size_t j, std::size_t rows) const {
    const std::size_t width = observations.size() / rows;
    const auto alike = [&](const std::vector<float>& numbers) {
      const float* first = numbers.data() + i * width;
      return std::equal(first, first + width, numbers.data() + j * width);
    };
    return alike(observations) && alike(last);
  }
};

// All outputs of several steps, [steps, kEnvs].
struct Played {
  Observations policy, critic;  // critic: empty if it has no own observation
  std::vector<float> rewards;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  Status status;  // of the first failed step

  Played(int steps, const EnvSpec& spec)
      : observations_(spec.observation, static_cast<std::size_t>(steps) * kEnvs),
        last_(observations_),
        critic_observations_(spec.critic_observation, static_cast<std::size_t>(steps) * kEnvs),
        critic_last_(critic_observations_) {
    const std::size_t rows = static_cast<std::size_t>(steps) * kEnvs;
    rewards.resize(rows);
    terminated.resize(rows);
    truncated.resize(rows);
    ends.resize(rows);
  }
  bool ended(std::size_t row) const { return (terminated[row] | truncated[row]) != 0; }
  // Whether all outputs are equal.
  bool equals(const Played& other) const {
    return policy == other.policy && critic == other.critic && rewards == other.rewards &&
           terminated == other.terminated && truncated == other.truncated && ends == other.ends;
  }

  // Whether all environments have the same outputs in every step.
  bool are_alike() const {
    for (std::size_t i = 0; i + 1 < rewards.size(); ++i) {
      if ((i + 1) % kEnvs != 0 && !rows_are_alike(i, i + 1)) return false;
    }
    return true;
  }

  // Output arrays for a step of environments from `row` on.
  StepRows rows_from(std::size_t row, const float* actions) {
    return {actions,
            observations_.rows_from(row),
            &rewards[row],
            &terminated[row],
            &truncated[row],
            last_.rows_from(row),
            &ends[row],
            critic_observations_.rows_from(row),
            critic_last_.rows_from(row)};
  }
  // Copies the observations to `policy` and `critic`. Call this after the last step.
  void read_observations() {
    policy = {observations_.numbers(), last_.numbers()};
    critic = {critic_observations_.numbers(), critic_last_.numbers()};
  }

 private:
  bool rows_are_alike(std::size_t i, std::size_t j) const {
    return policy.rows_are_alike(i, j, rewards.size()) &&
           critic.rows_are_alike(i, j, rewards.size()) && rewards[i] == rewards[j] &&
           terminated[i] == terminated[j] && truncated[i] == truncated[j] && ends[i] == ends[j];
  }

  ObservationBuffer observations_, last_, critic_observations_, critic_last_;
};

// Plays environments. An action depends on the environment's number and on the step number.
class Player {
 public:
  // Environments with the same number modulo `period` get the same actions.
  explicit Player(VecEnv& envs, int first_step = 0, int period = kEnvs)
      : envs_(envs), step_(first_step), period_(period) {
    actions_.resize(static_cast<std::size_t>(envs.spec().action_size()) * kEnvs);
  }

  // Plays all steps of one range, then those of the next. The collector's groups may also run ahead
  // of each other.
  Played play(int steps, const std::vector<EnvRange>& ranges) {
    Played out(steps, envs_.spec());
    StepOutputs outputs(envs_.spec());
    for (const EnvRange& range : ranges) {
      for (int t = 0; t < steps && out.status.ok(); ++t) {
        out.status = step(range, t, actions_.data(), outputs, out);
      }
    }
    step_ += steps;
    out.read_observations();
    return out;
  }

  Played play(int steps) { return play(steps, {{0, kEnvs}}); }

  // Plays both halves concurrently.
  Played play_in_threads(int steps) {
    Played out(steps, envs_.spec());
    Status other;
    const int half = kEnvs / 2;
    const std::size_t width = static_cast<std::size_t>(envs_.spec().action_size());
    Threads thread;
    out.status = thread.start([&] {
      std::vector<float> actions(actions_.size());
      StepOutputs outputs(envs_.spec());
      for (int t = 0; t < steps && other.ok(); ++t) {
        other = step({half, kEnvs}, t, actions.data(), outputs, out);
      }
    });
    std::vector<float> actions(width * kEnvs);
    StepOutputs outputs(envs_.spec());
    for (int t = 0; t < steps && out.status.ok(); ++t) {
      out.status = step({0, half}, t, actions.data(), outputs, out);
    }
    thread.join();
    if (out.status.ok()) out.status = other;
    step_ += steps;
    out.read_observations();
    return out;
  }

 private:
  Status step(EnvRange range, int t, float* actions, StepOutputs& outputs, Played& out) {
    const EnvSpec& spec = envs_.spec();
    MaskRows masks(spec, 3 * kEnvs);  // the rows around the second part bear wrong indices
    masks.read(envs_, range.first, range.second, kEnvs);
    for (int n = range.first; n < range.second; ++n) {
      Random random(99, Purpose::kUser, static_cast<std::uint32_t>(n % period_),
                    static_cast<std::uint64_t>(step_ + t));
      const int k = n - range.first;
      draw_action(spec.action, random, actions + k * spec.action_size(),
                  masks.row(static_cast<std::size_t>(kEnvs) + static_cast<std::size_t>(k)));
    }
    const std::size_t row = static_cast<std::size_t>(t) * kEnvs + range.first;
    const StepRows rows = outputs.begin(actions);
    BROADLOOM_TRY(call_simulator(spec.id, "step",
                                 [&] { return envs_.step(range.first, range.second, rows); }));
    BROADLOOM_TRY(outputs.check(range.first, range.second));
    outputs.copy_to(out.rows_from(row, actions), range.second - range.first);
    return {};
  }

  VecEnv& envs_;
  int step_;
  int period_;
  std::vector<float> actions_;
};

}  // namespace broadloom::conformance
