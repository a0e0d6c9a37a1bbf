// CartPole-v1 of Gymnasium 1.4.0, gymnasium/envs/classic_control/cartpole.py (Barto, Sutton and
// Anderson 1983): balance a pole on a cart by pushing it left or right.
#pragma once

#include <array>
#include <limits>
#include <tuple>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"

namespace broadloom {

struct CartPole {
  struct Params {
    double gravity = 9.8;      // m/s^2
    double cart_mass = 1.0;    // kg
    double pole_mass = 0.1;    // kg
    double half_length = 0.5;  // m
    double force = 10.0;       // N
    double tau = 0.02;         // s per step

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("gravity", gravity, Range{0.0, 1e3}, "Gravity, m/s^2.");
      v("cart_mass", cart_mass, Range{1e-6, 1e6}, "Mass of the cart, kg.");
      v("pole_mass", pole_mass, Range{1e-6, 1e6}, "Mass of the pole, kg.");
      v("half_length", half_length, Range{1e-3, 1e3}, "Half the pole's length, m.");
      v("force", force, Range{0.0, 1e6}, "Size of a push, N.");
      v("tau", tau, Range{1e-6, 1.0}, "Seconds per step.");
    }
  };
  using Options = Params;
  static constexpr int kObservationSize = 4;
  static constexpr int kActionSize = 1;
  struct State {
    double x, x_dot;          // m, m/s
    double theta, theta_dot;  // rad from upright, rad/s
  };
  static constexpr auto members =
      std::tuple{&State::x, &State::x_dot, &State::theta, &State::theta_dot};

  static constexpr double kPositionLimit = 2.4;
  static constexpr double kAngleLimit = 12.0 * 2.0 * 3.141592653589793 / 360.0;

  // The step that leaves these limits ends the episode and starts a new one.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::x, -kPositionLimit, kPositionLimit);
    ranges.add(&State::theta, -kAngleLimit, kAngleLimit);
    ranges.add_finite(&State::x_dot);
    ranges.add_finite(&State::theta_dot);
  }

  static constexpr std::array end_reasons{"cart_left_track", "pole_fell"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    const float inf = std::numeric_limits<float>::infinity();
    const float x = static_cast<float>(2.0 * kPositionLimit);
    const float angle = static_cast<float>(2.0 * kAngleLimit);
    EnvSpec spec;
    spec.id = "CartPole-v1";
    spec.observation = Space::box({-x, -inf, -angle, -inf}, {x, inf, angle, inf});
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 500;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 475.0;
    spec.set_score_range(22.33, 500.0);  // mean of 100,000 episodes; one for each of 500 steps
    spec.reward_terms = {{"step", 1.0}};
    spec.mirror = {.observation = "-0 -1 -2 -3", .critic_observation = {}, .action = "+1 +0"};
    spec.upstream = "Gymnasium 1.4.0 classic_control/cartpole.py";
    spec.summary = "Balance a pole on a cart.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.x = random.uniform(-0.05, 0.05);
    s.x_dot = random.uniform(-0.05, 0.05);
    s.theta = random.uniform(-0.05, 0.05);
    s.theta_dot = random.uniform(-0.05, 0.05);
  }

  // Explicit Euler: positions move with the old velocities. The reward is 1 in every step, also in
  // the last.
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const double force = action[0] > 0.5f ? p.force : -p.force;
    const auto [sine, cosine] = sin_cos(s.theta);
    const double total_mass = p.pole_mass + p.cart_mass;
    const double pole_moment = p.pole_mass * p.half_length;
    const double temp = (force + pole_moment * (s.theta_dot * s.theta_dot) * sine) / total_mass;
    const double theta_acc =
        (p.gravity * sine - cosine * temp) /
        (p.half_length * (4.0 / 3.0 - p.pole_mass * (cosine * cosine) / total_mass));
    const double x_acc = temp - pole_moment * theta_acc * cosine / total_mass;
    s.x = s.x + p.tau * s.x_dot;
    s.x_dot = s.x_dot + p.tau * x_acc;
    s.theta = s.theta + p.tau * s.theta_dot;
    s.theta_dot = s.theta_dot + p.tau * theta_acc;
    const bool terminated = (s.x < -kPositionLimit) | (s.x > kPositionLimit) |
                            (s.theta < -kAngleLimit) | (s.theta > kAngleLimit);
    return {1.0, terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.x);
    out[1] = static_cast<float>(s.x_dot);
    out[2] = static_cast<float>(s.theta);
    out[3] = static_cast<float>(s.theta_dot);
  }

  // If pole and cart leave their limits in the same step, the reason is the pole.
  BROADLOOM_HD static int end_reason(const Params&, const State& last) {
    const bool fell = (last.theta < -kAngleLimit) | (last.theta > kAngleLimit);
    return fell ? 1 : 0;
  }
  // The pole stood until the time limit.
  BROADLOOM_HD static bool success(const Params&, const State&, bool, bool truncated) {
    return truncated;
  }

  // The pole's hinge is at height 0. The dynamics do not define the cart's size.
  static void draw(const Params& p, const State& s, const float* action, Drawing& out) {
    constexpr double kHalfCart = 0.25, kCart = 0.3, kBeyond = 0.7;
    const double length = 2.0 * p.half_length;
    const double end = kPositionLimit + kBeyond;
    out.view(-end, -kCart - 0.2, end, length + 0.2);
    out.line(Ink::kMuted, 0.02, {{-end, -kCart}, {end, -kCart}});
    for (const double limit : {-kPositionLimit, kPositionLimit}) {
      out.line(Ink::kBad, 0.03, {{limit, -kCart - 0.12}, {limit, -kCart + 0.12}});
    }
    const auto tip = [&](double angle) {
      const auto [sine, cosine] = sin_cos(angle);
      return Point{s.x + length * sine, length * cosine};
    };
    for (const double limit : {-kAngleLimit, kAngleLimit}) {
      out.line(Ink::kFaint, 0.015, {{s.x, 0.0}, tip(limit)});
    }
    out.rectangle(Ink::kInk, {s.x - kHalfCart, -kCart}, 2.0 * kHalfCart, kCart);
    out.line(colour(1), 0.08, {{s.x, 0.0}, tip(s.theta)});
    out.circle(Ink::kMuted, {s.x, 0.0}, 0.05);
    if (action == nullptr) return;
    const double side = action[0] > 0.5f ? 1.0 : -1.0;
    out.action = side > 0.0 ? "push right" : "push left";
    const double tail = s.x + side * (kHalfCart + 0.03), height = -0.5 * kCart;
    out.arrow(Ink::kAccent, 0.04, {tail, height}, {tail + 0.45 * side, height});
  }
};
static_assert(Environment<CartPole>);

}  // namespace broadloom
