// Environments played under actions that depend on environment and step alone: what the kit of
// conformance.h does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::fixed_play {

inline constexpr int kEnvs = 5;
inline constexpr float kUntouched = -7.25f;  // of final observations, before a step

using EnvRange = std::pair<int, int>;  // [first, second)

// All that steps gave, [steps, kEnvs].
struct Played {
  std::vector<float> observations, rewards, last;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
  Status status;  // of the first step that failed

  Played(int steps, const EnvSpec& spec) {
    const std::size_t rows = static_cast<std::size_t>(steps) * kEnvs;
    const std::size_t width = static_cast<std::size_t>(spec.observation_size());
    observations.resize(rows * width);
    last.resize(rows * width, kUntouched);
    rewards.resize(rows);
    terminated.resize(rows);
    truncated.resize(rows);
    ends.resize(rows);
  }
  bool ended(std::size_t row) const { return (terminated[row] | truncated[row]) != 0; }
  // As far as an environment may matter that hands out no final observations.
  bool is_as(const Played& other) const {
    return observations == other.observations && rewards == other.rewards && last == other.last &&
           terminated == other.terminated && truncated == other.truncated && ends == other.ends;
  }
};

// Plays environments whose actions depend on their number, and the step since they were made.
class Player {
 public:
  // Environments whose numbers differ by a multiple of `period` get the same actions.
  explicit Player(VecEnv& envs, int first_step = 0, int period = kEnvs)
      : envs_(envs), step_(first_step), period_(period) {
    actions_.resize(static_cast<std::size_t>(envs.spec().action_size()) * kEnvs);
  }

  // One range for all steps, then the next: as the collector's groups may be ahead of each other.
  Played play(int steps, const std::vector<EnvRange>& ranges) {
    Played out(steps, envs_.spec());
    for (const EnvRange& range : ranges) {
      for (int t = 0; t < steps && out.status.ok(); ++t) {
        out.status = step(range, t, actions_.data(), out);
      }
    }
    step_ += steps;
    return out;
  }

  Played play(int steps) { return play(steps, {{0, kEnvs}}); }

  // Both halves at the same time.
  Played play_in_threads(int steps) {
    Played out(steps, envs_.spec());
    Status other;
    const int half = kEnvs / 2;
    const std::size_t width = static_cast<std::size_t>(envs_.spec().action_size());
    std::thread thread([&] {
      std::vector<float> actions(actions_.size());
      for (int t = 0; t < steps && other.ok(); ++t) {
        other = step({half, kEnvs}, t, actions.data(), out);
      }
    });
    std::vector<float> actions(width * kEnvs);
    for (int t = 0; t < steps && out.status.ok(); ++t) {
      out.status = step({0, half}, t, actions.data(), out);
    }
    thread.join();
    if (out.status.ok()) out.status = other;
    step_ += steps;
    return out;
  }

 private:
  Status step(EnvRange range, int t, float* actions, Played& out) {
    const EnvSpec& spec = envs_.spec();
    for (int n = range.first; n < range.second; ++n) {
      Random random(99, Purpose::kUser, static_cast<std::uint32_t>(n % period_),
                    static_cast<std::uint64_t>(step_ + t));
      draw_action(spec.action, random, actions + (n - range.first) * spec.action_size());
    }
    const std::size_t row = static_cast<std::size_t>(t) * kEnvs + range.first;
    const std::size_t width = static_cast<std::size_t>(spec.observation_size());
    return envs_.step(
        range.first, range.second,
        {actions, &out.observations[row * width], &out.rewards[row], &out.terminated[row],
         &out.truncated[row], &out.last[row * width], &out.ends[row]});
  }

  VecEnv& envs_;
  int step_;
  int period_;
  std::vector<float> actions_;
};

}  // namespace broadloom::fixed_play
