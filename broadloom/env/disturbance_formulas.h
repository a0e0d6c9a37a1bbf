// Disturbances (disturbance.h) of one environment at a time, for host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/random_action.h"

namespace broadloom {

// The use of a random stream. It is stored in the highest bits of the lane, which seed families
// leave free.
enum class DisturbanceDraw : std::uint32_t {
  kNoise = 0,
  kFinalNoise = 1,
  kPush = 2,
  kActionDelay = 3,
  kObsDelay = 4
};

// State of the disturbances of N environments. All of it starts at 0.
struct DisturbanceArrays {
  std::int64_t* steps = nullptr;      // [N] steps since the environment was made
  std::int64_t* age = nullptr;        // [N] transitions of the current episode
  std::int32_t* push_left = nullptr;  // [N] remaining steps of the push
  float* push = nullptr;              // [N, A] the push's action
  float* delayed = nullptr;           // [N, longest delay, A] ring buffer, indexed by age
};

struct Disturber {
  DisturbanceNumbers disturbance;
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::kTrainDisturb;
  int families = 1;
  int observation_size = 0, action_size = 0;  // D, A
  ActionBounds bounds;
  DisturbanceArrays arrays;
  // [D] deviations of the noise on each number; null: disturbance.obs_noise on all.
  const double* deviations = nullptr;

  // action [A]: in, the policy's action for environment i; out, the action that it receives.
  BROADLOOM_HD void take_action(int i, float* action) const {
    if (disturbance.most_action_delay() > 0) delay(i, action);
    if (disturbance.push_interval > 0.0) push(i, action);
  }

  // Call this after environment i's step. is_transition: false for a step that only begins an
  // episode. Pushes and delays end with the episode.
  BROADLOOM_HD void take_step(int i, bool is_transition, bool has_ended) const {
    arrays.steps[i] += 1;
    if (is_transition) arrays.age[i] += 1;
    if (has_ended) end_episode(i);
  }
  BROADLOOM_HD void end_episode(int i) const {
    arrays.age[i] = 0;
    arrays.push_left[i] = 0;
  }

  // observation [D]: the current one of environment i; for kFinalNoise, its final one.
  BROADLOOM_HD void add_noise(int i, DisturbanceDraw draw, float* observation) const {
    if (deviations == nullptr && disturbance.obs_noise <= 0.0) return;
    Random random = stream(i, draw);
    for (int d = 0; deviations != nullptr && d < observation_size; ++d) {
      if (deviations[d] > 0.0) {
        observation[d] += static_cast<float>(deviations[d] * random.normal());
      }
    }
    for (int d = 0; deviations == nullptr && d < observation_size; ++d) {
      observation[d] += static_cast<float>(disturbance.obs_noise * random.normal());
    }
  }

  // Draws of the delays of observations of environment i's episode.
  BROADLOOM_HD Random obs_delay_draws(int i) const {
    return episode_stream(i, DisturbanceDraw::kObsDelay);
  }
  // A delay of the episode, steps.
  BROADLOOM_HD static int drawn_delay(Random& random, int least, int most) {
    if (least >= most) return most;
    return least + static_cast<int>(random.below(static_cast<std::uint32_t>(most - least + 1)));
  }

 private:
  BROADLOOM_HD Random stream(int i, DisturbanceDraw draw) const {
    return stream_at(i, draw, arrays.steps[i]);
  }
  BROADLOOM_HD Random stream_at(int i, DisturbanceDraw draw, std::int64_t step) const {
    const std::uint32_t lane = static_cast<std::uint32_t>(i % families);
    return Random(seed, purpose, lane | (static_cast<std::uint32_t>(draw) << 28),
                  static_cast<std::uint64_t>(step));
  }

  // The stream of the episode's first step, so that no state must keep what it draws.
  BROADLOOM_HD Random episode_stream(int i, DisturbanceDraw draw) const {
    return stream_at(i, draw, arrays.steps[i] - arrays.age[i]);
  }

  // Replaces the action by the one from as many steps ago as the episode's delay.
  BROADLOOM_HD void delay(int i, float* action) const {
    const int most = disturbance.most_action_delay();
    const std::size_t slots = static_cast<std::size_t>(most);
    const std::size_t width = static_cast<std::size_t>(action_size);
    float* const ring = arrays.delayed + static_cast<std::size_t>(i) * slots * width;
    for (std::size_t k = 0; arrays.age[i] == 0 && k < slots * width; ++k)
      ring[k] = action[k % width];
    Random random = episode_stream(i, DisturbanceDraw::kActionDelay);
    const int steps = drawn_delay(random, disturbance.action_delay, most);
    const std::size_t age = static_cast<std::size_t>(arrays.age[i]) % slots;
    const float* const source =
        ring + (age + slots - static_cast<std::size_t>(steps)) % slots * width;
    float* const place = ring + age * width;
    for (std::size_t a = 0; a < width; ++a) {
      const float chosen = action[a];
      if (steps > 0) action[a] = source[a];
      place[a] = chosen;
    }
  }

  BROADLOOM_HD void push(int i, float* action) const {
    const std::size_t width = static_cast<std::size_t>(action_size);
    float* const pushed = arrays.push + static_cast<std::size_t>(i) * width;
    if (arrays.push_left[i] == 0) {
      Random random = stream(i, DisturbanceDraw::kPush);
      if (random.uniform() * disturbance.push_interval >= 1.0) return;
      arrays.push_left[i] = disturbance.push_steps;
      draw_action(bounds, random, pushed);
    }
    arrays.push_left[i] -= 1;
    for (std::size_t a = 0; a < width; ++a) action[a] = pushed[a];
  }
};

}  // namespace broadloom
