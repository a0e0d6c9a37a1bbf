// MountainCar-v0 of Gymnasium 1.4.0, gymnasium/envs/classic_control/mountain_car.py (Moore 1990):
// rock a car out of a valley whose slope its engine cannot climb.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/classic/hill_drawing.h"

namespace broadloom {

struct MountainCar {
  struct Params {
    double goal_velocity = 0.0;
    double force = 0.001;
    double gravity = 0.0025;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("goal_velocity", goal_velocity, Range{-0.07, 0.07}, "Least speed at the goal that counts.");
      v("force", force, Range{0.0, 1.0}, "Change of speed per step of throttle.");
      v("gravity", gravity, Range{0.0, 1.0}, "Change of speed per step on the steepest slope.");
    }
  };
  using Options = Params;
  static constexpr int kObservationSize = 2;
  static constexpr int kActionSize = 1;
  struct State {
    double position, velocity;
  };
  static constexpr auto members = std::tuple{&State::position, &State::velocity};

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = 0.6;
  static constexpr double kMaxSpeed = 0.07;
  static constexpr double kGoalPosition = 0.5;

  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::position, kMinPosition, kMaxPosition);
    ranges.add(&State::velocity, -kMaxSpeed, kMaxSpeed);
  }

  static constexpr std::array end_reasons{"reached_goal"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "MountainCar-v0";
    spec.observation = Space::box({-1.2f, -0.07f}, {0.6f, 0.07f});
    spec.action = Space::discrete(3);
    spec.max_episode_steps = 200;
    spec.has_reward_threshold = true;
    spec.reward_threshold = -110.0;
    spec.set_score_range(-200.0, -110.0);  // none of 100,000 got out; upstream's threshold
    spec.reward_terms = {{"step", -1.0}};
    spec.upstream = "Gymnasium 1.4.0 classic_control/mountain_car.py";
    spec.summary = "Rock a weak car out of a valley (three throttles).";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.position = random.uniform(-0.6, -0.4);
    s.velocity = 0.0;
  }

  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const int throttle = static_cast<int>(action[0]) - 1;
    s.velocity += throttle * p.force + sin_cos(3.0 * s.position).cosine * (-p.gravity);
    s.velocity = clip(s.velocity, -kMaxSpeed, kMaxSpeed);
    s.position = clip(s.position + s.velocity, kMinPosition, kMaxPosition);
    s.velocity = select((s.position == kMinPosition) & (s.velocity < 0.0), 0.0, s.velocity);
    const bool terminated = (s.position >= kGoalPosition) & (s.velocity >= p.goal_velocity);
    return {-1.0, terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.position);
    out[1] = static_cast<float>(s.velocity);
  }

  BROADLOOM_HD static bool success(const Params&, const State&, bool terminated, bool) {
    return terminated;
  }

  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const int throttle = action == nullptr ? 0 : static_cast<int>(action[0]) - 1;
    draw_hill({kMinPosition, kMaxPosition, kGoalPosition, s.position, 1.0 * throttle}, out);
    if (action == nullptr) return;
    out.action = throttle > 0   ? "accelerate right"
                 : throttle < 0 ? "accelerate left"
                                : "no acceleration";
  }
};
static_assert(Environment<MountainCar>);

}  // namespace broadloom
