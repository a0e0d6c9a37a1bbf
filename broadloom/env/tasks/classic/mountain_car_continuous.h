// MountainCarContinuous-v0 of Gymnasium 1.4.0,
// gymnasium/envs/classic_control/continuous_mountain_car.py: the valley of MountainCar with a
// continuous throttle, which costs its square.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/classic/hill_drawing.h"

namespace broadloom {

struct MountainCarContinuous {
  struct Params {
    double goal_velocity = 0.0;
    double power = 0.0015;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("goal_velocity", goal_velocity, Range{-0.07, 0.07}, "Least speed at the goal that counts.");
      v("power", power, Range{0.0, 1.0}, "Change of speed per step at full throttle.");
    }
  };
  using Options = Params;
  static constexpr int kObservationSize = 2;
  static constexpr int kActionSize = 1;
  // Rounded to float32 after every step, as upstream stores it.
  struct State {
    double position, velocity;
  };
  static constexpr auto members = std::tuple{&State::position, &State::velocity};

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = 0.6;
  static constexpr double kMaxSpeed = 0.07;
  static constexpr double kGoalPosition = 0.45;

  // Limits as float32, which may lie slightly beyond the double.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::position, static_cast<float>(kMinPosition),
               static_cast<float>(kMaxPosition));
    ranges.add(&State::velocity, -static_cast<float>(kMaxSpeed), static_cast<float>(kMaxSpeed));
  }

  static constexpr std::array end_reasons{"reached_goal"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "MountainCarContinuous-v0";
    spec.observation = Space::box({-1.2f, -0.07f}, {0.6f, 0.07f});
    spec.action = Space::box({-1.0f}, {1.0f});
    spec.max_episode_steps = 999;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 90.0;
    spec.set_score_range(-33.12, 90.0);  // mean of 100,000 episodes; upstream's threshold
    spec.reward_terms = {{"goal", 100.0}, {"action_squared", -0.1}};
    spec.upstream = "Gymnasium 1.4.0 classic_control/continuous_mountain_car.py";
    spec.summary = "Rock a weak car out of a valley (continuous throttle).";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.position = random.uniform(-0.6, -0.4);
    s.velocity = 0.0;
  }

  // The force uses the clipped action; the cost uses the action before clipping.
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const double raw = action[0];
    const double force = clip(raw, -1.0, 1.0);
    double velocity = s.velocity + force * p.power - 0.0025 * sin_cos(3.0 * s.position).cosine;
    velocity = clip(velocity, -kMaxSpeed, kMaxSpeed);
    const double position = clip(s.position + velocity, kMinPosition, kMaxPosition);
    velocity = select((position == kMinPosition) & (velocity < 0.0), 0.0, velocity);
    const bool terminated = (position >= kGoalPosition) & (velocity >= p.goal_velocity);
    s.position = static_cast<float>(position);
    s.velocity = static_cast<float>(velocity);
    return {(terminated ? 100.0 : 0.0) - raw * raw * 0.1, terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.position);
    out[1] = static_cast<float>(s.velocity);
  }

  BROADLOOM_HD static bool success(const Params&, const State&, bool terminated, bool) {
    return terminated;
  }

  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const double throttle = action == nullptr ? 0.0 : clip(action[0], -1.0, 1.0);
    draw_hill({kMinPosition, kMaxPosition, kGoalPosition, s.position, throttle}, out);
  }
};
static_assert(Environment<MountainCarContinuous>);

}  // namespace broadloom
