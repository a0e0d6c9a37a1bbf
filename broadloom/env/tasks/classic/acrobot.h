// Acrobot-v1 of Gymnasium 1.4.0, gymnasium/envs/classic_control/acrobot.py (Sutton 1996): swing the
// tip of a two-link robot above a line with a torque at the joint between the links. The "book"
// equations.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/classic/torque_drawing.h"

namespace broadloom {

struct Acrobot {
  struct Params {
    double gravity = 9.8;        // m/s^2
    double link_mass_1 = 1.0;    // kg
    double link_mass_2 = 1.0;    // kg
    double link_length_1 = 1.0;  // m
    double link_com_1 = 0.5;     // m, centre of mass from the joint
    double link_com_2 = 0.5;     // m
    double link_moi = 1.0;       // kg m^2, of each link
    double dt = 0.2;             // s per step, one Runge-Kutta step

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("gravity", gravity, Range{0.0, 1e3}, "Gravity, m/s^2.");
      v("link_mass_1", link_mass_1, Range{1e-6, 1e6}, "Mass of the upper link, kg.");
      v("link_mass_2", link_mass_2, Range{1e-6, 1e6}, "Mass of the lower link, kg.");
      v("link_length_1", link_length_1, Range{1e-3, 1e3}, "Length of the upper link, m.");
      v("link_com_1", link_com_1, Range{1e-3, 1e3}, "Centre of mass of the upper link, m.");
      v("link_com_2", link_com_2, Range{1e-3, 1e3}, "Centre of mass of the lower link, m.");
      v("link_moi", link_moi, Range{1e-6, 1e6}, "Moment of inertia of each link, kg m^2.");
      v("dt", dt, Range{1e-6, 1.0}, "Seconds per step.");
    }
  };
  using Options = Params;
  static constexpr int kObservationSize = 6;
  static constexpr int kActionSize = 1;
  struct State {
    double theta1, theta2;  // rad; 0 hangs down, theta2 relative to the first link
    double omega1, omega2;  // rad/s
  };
  static constexpr auto members =
      std::tuple{&State::theta1, &State::theta2, &State::omega1, &State::omega2};

  static constexpr double kPi = 3.141592653589793;
  static constexpr double kMaxSpeed1 = 4.0 * kPi;
  static constexpr double kMaxSpeed2 = 9.0 * kPi;

  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    constexpr double kRounding = 1e-9;  // tolerance of wrap_angle()
    for (const auto angle : {&State::theta1, &State::theta2})
      ranges.add(angle, -kPi - kRounding, kPi + kRounding);
    ranges.add(&State::omega1, -kMaxSpeed1, kMaxSpeed1);
    ranges.add(&State::omega2, -kMaxSpeed2, kMaxSpeed2);
  }

  static constexpr std::array end_reasons{"reached_height"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    const float w1 = static_cast<float>(kMaxSpeed1);
    const float w2 = static_cast<float>(kMaxSpeed2);
    EnvSpec spec;
    spec.id = "Acrobot-v1";
    spec.observation = Space::box({-1, -1, -1, -1, -w1, -w2}, {1, 1, 1, 1, w1, w2});
    spec.action = Space::discrete(3);
    spec.max_episode_steps = 500;
    spec.has_reward_threshold = true;
    spec.reward_threshold = -100.0;
    spec.set_score_range(-498.9, -100.0);  // mean of 100,000 episodes; upstream's threshold
    spec.reward_terms = {{"step_below_line", -1.0}};
    spec.mirror = {
        .observation = "+0 -1 +2 -3 -4 -5", .critic_observation = {}, .action = "+2 +1 +0"};
    spec.upstream = "Gymnasium 1.4.0 classic_control/acrobot.py";
    spec.summary = "Swing a two-link robot's tip above a line.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.theta1 = static_cast<float>(random.uniform(-0.1, 0.1));
    s.theta2 = static_cast<float>(random.uniform(-0.1, 0.1));
    s.omega1 = static_cast<float>(random.uniform(-0.1, 0.1));
    s.omega2 = static_cast<float>(random.uniform(-0.1, 0.1));
  }

  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const double torque = static_cast<double>(static_cast<int>(action[0]) - 1);
    const State k1 = derivative(p, s, torque);
    const State k2 = derivative(p, moved(s, p.dt / 2.0, k1), torque);
    const State k3 = derivative(p, moved(s, p.dt / 2.0, k2), torque);
    const State k4 = derivative(p, moved(s, p.dt, k3), torque);
    const double sixth = p.dt / 6.0;
    s.theta1 += sixth * (k1.theta1 + 2.0 * k2.theta1 + 2.0 * k3.theta1 + k4.theta1);
    s.theta2 += sixth * (k1.theta2 + 2.0 * k2.theta2 + 2.0 * k3.theta2 + k4.theta2);
    s.omega1 += sixth * (k1.omega1 + 2.0 * k2.omega1 + 2.0 * k3.omega1 + k4.omega1);
    s.omega2 += sixth * (k1.omega2 + 2.0 * k2.omega2 + 2.0 * k3.omega2 + k4.omega2);
    s.theta1 = wrap_angle(s.theta1);
    s.theta2 = wrap_angle(s.theta2);
    s.omega1 = clip(s.omega1, -kMaxSpeed1, kMaxSpeed1);
    s.omega2 = clip(s.omega2, -kMaxSpeed2, kMaxSpeed2);
    const bool terminated = -sin_cos(s.theta1).cosine - sin_cos(s.theta2 + s.theta1).cosine > 1.0;
    return {terminated ? 0.0 : -1.0, terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    const SinCos angle1 = sin_cos(s.theta1);
    const SinCos angle2 = sin_cos(s.theta2);
    out[0] = static_cast<float>(angle1.cosine);
    out[1] = static_cast<float>(angle1.sine);
    out[2] = static_cast<float>(angle2.cosine);
    out[3] = static_cast<float>(angle2.sine);
    out[4] = static_cast<float>(s.omega1);
    out[5] = static_cast<float>(s.omega2);
  }

  BROADLOOM_HD static bool success(const Params&, const State&, bool terminated, bool) {
    return terminated;
  }

  // Draws links with length 1, since the test of the tip's height assumes it. The dynamics may use
  // other lengths.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    constexpr double kSide = 2.3, kLine = 1.0, kLink = 0.14;
    out.view(-kSide, -kSide, kSide, kSide);
    out.line(Ink::kGood, 0.03, {{-kSide, kLine}, {kSide, kLine}});
    const SinCos upper = sin_cos(s.theta1), lower = sin_cos(s.theta1 + s.theta2);
    const Point joint{upper.sine, -upper.cosine};
    const Point tip{joint.x + lower.sine, joint.y - lower.cosine};
    out.line(colour(0), kLink, {{0.0, 0.0}, joint});
    out.line(colour(1), kLink, {joint, tip});
    out.circle(Ink::kMuted, {0.0, 0.0}, 0.1);
    out.circle(Ink::kInk, joint, 0.1);
    out.circle(Ink::kInk, tip, 0.05);
    if (action == nullptr) return;
    const int torque = static_cast<int>(action[0]) - 1;
    out.action = torque > 0 ? "counter-clockwise" : torque < 0 ? "clockwise" : "no torque";
    draw_torque(Ink::kAccent, 0.05, joint, 0.32, 0.5 * torque, out);
  }

 private:
  BROADLOOM_HD static State moved(const State& s, double h, const State& k) {
    return {s.theta1 + h * k.theta1, s.theta2 + h * k.theta2, s.omega1 + h * k.omega1,
            s.omega2 + h * k.omega2};
  }

  // Equations of motion from Sutton and Barto, "Reinforcement Learning", figure of the acrobot.
  BROADLOOM_HD static State derivative(const Params& p, const State& s, double torque) {
    const double m1 = p.link_mass_1, m2 = p.link_mass_2, l1 = p.link_length_1;
    const double lc1 = p.link_com_1, lc2 = p.link_com_2, moi = p.link_moi, g = p.gravity;
    const auto [s2, c2] = sin_cos(s.theta2);
    const double d1 =
        m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2.0 * l1 * lc2 * c2) + moi + moi;
    const double d2 = m2 * (lc2 * lc2 + l1 * lc2 * c2) + moi;
    const double phi2 = m2 * lc2 * g * sin_cos(s.theta1 + s.theta2 - kPi / 2.0).cosine;
    const double phi1 = -m2 * l1 * lc2 * (s.omega2 * s.omega2) * s2 -
                        2.0 * m2 * l1 * lc2 * s.omega2 * s.omega1 * s2 +
                        (m1 * lc1 + m2 * l1) * g * sin_cos(s.theta1 - kPi / 2.0).cosine + phi2;
    const double acc2 =
        (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * (s.omega1 * s.omega1) * s2 - phi2) /
        (m2 * (lc2 * lc2) + moi - d2 * d2 / d1);
    const double acc1 = -(d2 * acc2 + phi1) / d1;
    return {s.omega1, s.omega2, acc1, acc2};
  }
};
static_assert(Environment<Acrobot>);

}  // namespace broadloom
