// Pendulum-v1 of Gymnasium 1.4.0, gymnasium/envs/classic_control/pendulum.py: swing a pendulum up
// and hold it there with a torque too weak to lift it directly.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/classic/torque_drawing.h"

namespace broadloom {

struct Pendulum {
  static constexpr double kMostSpeed = 1e6;
  struct Params {
    double gravity = 10.0;    // m/s^2
    double mass = 1.0;        // kg
    double length = 1.0;      // m
    double dt = 0.05;         // s per step
    double max_torque = 2.0;  // N m
    double max_speed = 8.0;   // rad/s

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("gravity", gravity, Range{-1e3, 1e3}, "Gravity, m/s^2 (upstream's argument g).");
      v("mass", mass, Range{1e-6, 1e6}, "Mass of the pendulum, kg.");
      v("length", length, Range{1e-3, 1e3}, "Length of the pendulum, m.");
      v("dt", dt, Range{1e-6, 1.0}, "Seconds per step.");
      v("max_torque", max_torque, Range{0.0, 1e6}, "Largest torque, N m.");
      v("max_speed", max_speed, Range{0.0, kMostSpeed}, "Largest speed, rad/s.");
    }
  };
  using Options = Params;
  static constexpr int kObservationSize = 3;
  static constexpr int kActionSize = 1;
  struct State {
    double theta, theta_dot;  // rad from upright, rad/s
  };
  static constexpr auto members = std::tuple{&State::theta, &State::theta_dot};
  // Strata may draw max_speed up to its option's limit.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::theta_dot, -kMostSpeed, kMostSpeed);
    ranges.add_finite(&State::theta);
  }
  static constexpr double kPi = 3.141592653589793;
  static constexpr std::array<const char*, 0> end_reasons{};    // only the time limit ends episodes
  static constexpr double kUprightCosine = 0.9902680687415704;  // of 8 degrees
  static constexpr double kSlow = 1.0;                          // rad/s

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params& p) {
    const float speed = static_cast<float>(p.max_speed);
    const float torque = static_cast<float>(p.max_torque);
    EnvSpec spec;
    spec.id = "Pendulum-v1";
    spec.observation = Space::box({-1, -1, -speed}, {1, 1, speed});
    spec.action = Space::box({-torque}, {torque});
    spec.max_episode_steps = 200;
    spec.set_score_range(-1228.0, -138.2);  // mean of 100,000 episodes; near-optimal control
    spec.reward_terms = {
        {"angle_squared", -1.0}, {"speed_squared", -0.1}, {"torque_squared", -0.001}};
    spec.mirror = {.observation = "+0 -1 -2", .critic_observation = {}, .action = "-0"};
    spec.upstream = "Gymnasium 1.4.0 classic_control/pendulum.py";
    spec.summary = "Swing a pendulum up and hold it there.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.theta = random.uniform(-kPi, kPi);
    s.theta_dot = random.uniform(-1.0, 1.0);
  }

  // The cost belongs to the state before the step. The angle moves with the new speed.
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const double torque = clip(action[0], -p.max_torque, p.max_torque);
    const double angle = wrap_angle(s.theta);
    const double cost =
        angle * angle + 0.1 * (s.theta_dot * s.theta_dot) + 0.001 * (torque * torque);
    const double acceleration = 3.0 * p.gravity / (2.0 * p.length) * sin_cos(s.theta).sine +
                                3.0 / (p.mass * (p.length * p.length)) * torque;
    s.theta_dot = clip(s.theta_dot + acceleration * p.dt, -p.max_speed, p.max_speed);
    s.theta = s.theta + s.theta_dot * p.dt;
    return {-cost, false};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    const auto [sine, cosine] = sin_cos(s.theta);
    out[0] = static_cast<float>(cosine);
    out[1] = static_cast<float>(sine);
    out[2] = static_cast<float>(s.theta_dot);
  }

  // Success: the pendulum is upright and slow at the time limit. Gymnasium defines no success. The
  // angle, within 8 degrees of upright, is dm_control's bound for its pendulum swingup
  // (dm_control/suite/pendulum.py, _ANGLE_BOUND). Our own additions: only the last state counts,
  // and its speed must be within the bound of the start's, so that swinging through upright is no
  // success.
  BROADLOOM_HD static bool success(const Params&, const State& last, bool, bool truncated) {
    return truncated & (sin_cos(last.theta).cosine >= kUprightCosine) & (last.theta_dot >= -kSlow) &
           (last.theta_dot <= kSlow);
  }

  // Upright points up. Positive angles and torques are counter-clockwise.
  static void draw(const Params& p, const State& s, const float* action, Drawing& out) {
    const double length = p.length, side = 1.25 * length;
    out.view(-side, -side, side, side);
    out.line(Ink::kFaint, 0.015 * length, {{0.0, 0.0}, {0.0, 1.15 * length}});
    const auto [sine, cosine] = sin_cos(s.theta);
    out.line(colour(1), 0.12 * length, {{0.0, 0.0}, {-length * sine, length * cosine}});
    out.circle(Ink::kInk, {0.0, 0.0}, 0.07 * length);
    if (action == nullptr || !(p.max_torque > 0.0)) return;
    const double torque = clip(action[0], -p.max_torque, p.max_torque);
    draw_torque(Ink::kAccent, 0.035 * length, {0.0, 0.0}, 0.4 * length, torque / p.max_torque, out);
  }
};
static_assert(Environment<Pendulum>);

}  // namespace broadloom
