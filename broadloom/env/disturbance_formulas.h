// Disturbances (disturbance.h) of one environment at a time, host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/random_action.h"

namespace broadloom {

// What of a disturbance a stream is for: the highest bits of its lane, which families leave free.
enum class DisturbanceDraw : std::uint32_t { kNoise = 0, kFinalNoise = 1, kPush = 2 };

// What is under way in N environments. All is 0 where they begin.
struct DisturbanceArrays {
  std::int64_t* steps = nullptr;      // [N] since the environment was made
  std::int64_t* age = nullptr;        // [N] steps of the present episode that were seen
  std::int32_t* push_left = nullptr;  // [N] steps that a push still has
  float* push = nullptr;              // [N, A] its action
  float* delayed = nullptr;           // [N, action_delay, A] ring by age
};

struct Disturber {
  Disturbance how;
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::kTrainDisturb;
  int families = 1;
  int observation_size = 0, action_size = 0;  // D, A
  ActionBounds bounds;
  DisturbanceArrays of;

  // action [A]: from what was chosen for environment i to what arrives.
  BROADLOOM_HD void take_action(int i, float* action) const {
    if (how.action_delay > 0) delay(i, action);
    if (how.push_interval > 0.0) push(i, action);
  }

  // After environment i's step. is_transition: not one that only begins an episode. Whatever is
  // still under way ends with the episode.
  BROADLOOM_HD void take_step(int i, bool is_transition, bool has_ended) const {
    of.steps[i] += 1;
    if (is_transition) of.age[i] += 1;
    if (!has_ended) return;
    of.age[i] = 0;
    of.push_left[i] = 0;
  }

  // observation [D]: what environment i shows now, or kFinalNoise showed last.
  BROADLOOM_HD void add_noise(int i, DisturbanceDraw draw, float* observation) const {
    if (how.obs_noise <= 0.0) return;
    Random random = stream(i, draw);
    for (int d = 0; d < observation_size; ++d) {
      observation[d] += static_cast<float>(how.obs_noise * random.normal());
    }
  }

 private:
  BROADLOOM_HD Random stream(int i, DisturbanceDraw draw) const {
    const std::uint32_t lane = static_cast<std::uint32_t>(i % families);
    return Random(seed, purpose, lane | (static_cast<std::uint32_t>(draw) << 28),
                  static_cast<std::uint64_t>(of.steps[i]));
  }

  // Exchanges the action for that of action_delay steps ago.
  BROADLOOM_HD void delay(int i, float* action) const {
    const std::size_t slots = static_cast<std::size_t>(how.action_delay);
    const std::size_t width = static_cast<std::size_t>(action_size);
    float* const ring = of.delayed + static_cast<std::size_t>(i) * slots * width;
    for (std::size_t k = 0; of.age[i] == 0 && k < slots * width; ++k) ring[k] = action[k % width];
    float* const place = ring + static_cast<std::size_t>(of.age[i]) % slots * width;
    for (std::size_t a = 0; a < width; ++a) {
      const float arriving = place[a];
      place[a] = action[a];
      action[a] = arriving;
    }
  }

  BROADLOOM_HD void push(int i, float* action) const {
    const std::size_t width = static_cast<std::size_t>(action_size);
    float* const pushed = of.push + static_cast<std::size_t>(i) * width;
    if (of.push_left[i] == 0) {
      Random random = stream(i, DisturbanceDraw::kPush);
      if (random.uniform() * how.push_interval >= 1.0) return;
      of.push_left[i] = how.push_steps;
      draw_action(bounds, random, pushed);
    }
    of.push_left[i] -= 1;
    for (std::size_t a = 0; a < width; ++a) action[a] = pushed[a];
  }
};

}  // namespace broadloom
