// Hover: a drone that moves up and down, and must stay one metre above the ground.
//
// A worked example of an environment that is not part of the library. An environment is plain data
// and pure functions: it knows nothing of time limits, resets, statistics or threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "broadloom/core/config_table.h"
#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/state_ranges.h"

struct Hover {
  // Constants of the physics. Trivially copyable: no pointers, no strings.
  struct Params {
    double gravity = 9.81;     // m/s^2
    double max_thrust = 20.0;  // m/s^2 that the rotors give at full power
    double dt = 0.05;          // s between two actions
    double target = 1.0;       // m

    // Names every constant that a user may set, with its range.
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("gravity", gravity, broadloom::Range{0.0, 100.0}, "Acceleration downwards in m/s^2.");
      v("max_thrust", max_thrust, broadloom::Range{0.0, 1000.0}, "Rotors at full power, m/s^2.");
      v("target", target, broadloom::Range{0.1, 1.9}, "Height to hold, in m.");
    }
  };
  using Options = Params;

  // All that changes from step to step.
  struct State {
    double height;  // m
    double speed;   // m/s, upwards
  };
  static constexpr auto members = std::tuple{&State::height, &State::speed};

  // Which values a saved state may have; others are refused where a run is resumed.
  static void state_ranges(const Params&, broadloom::StateRanges<State>& ranges) {
    ranges.add(&State::height, 0.0, 2.0);  // beyond, the episode is over
    ranges.add_finite(&State::speed);
  }

  // Turns options into constants, or says what is wrong with them.
  static broadloom::Result<Params> make_params(const Options& options) {
    if (options.max_thrust <= options.gravity) {
      return broadloom::Status(broadloom::ErrorKind::kInvalidConfig,
                               "max_thrust is not above gravity: this drone cannot fly");
    }
    return options;
  }

  static broadloom::EnvSpec spec(const Params&) {
    broadloom::EnvSpec spec;
    spec.id = "Hover-v0";
    // How far and how fast depends on the options: no bounds.
    constexpr float kAny = std::numeric_limits<float>::infinity();
    spec.observation = broadloom::Space::box({-kAny, -kAny}, {kAny, kAny});
    spec.action = broadloom::Space::box({-1.0f}, {1.0f});
    spec.max_episode_steps = 200;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 180.0;
    spec.summary = "Hold a drone one metre above the ground.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& state, broadloom::Random& random) {
    state.height = random.uniform(0.5, 1.5);
    state.speed = random.uniform(-0.5, 0.5);
  }

  // action[0] in [-1, 1]: rotors off to full power. One reward a step at the target, less away from
  // it; below the ground or above two metres the episode is over.
  BROADLOOM_HD static broadloom::StepResult step(const Params& params, State& state,
                                                 const float* action, broadloom::Random&) {
    const double power = 0.5 * (1.0 + std::clamp(static_cast<double>(action[0]), -1.0, 1.0));
    state.speed += (power * params.max_thrust - params.gravity) * params.dt;
    state.height += state.speed * params.dt;
    const bool terminated = state.height <= 0.0 || state.height >= 2.0;
    return {1.0 - std::fabs(state.height - params.target), terminated};
  }

  // What the policy sees: out is [2].
  BROADLOOM_HD static void observe(const Params& params, const State& state, float* out) {
    out[0] = static_cast<float>(state.height - params.target);
    out[1] = static_cast<float>(state.speed);
  }

  // What `own_env watch` shows, in metres: ground, height to hold, drone, and its thrust.
  static void draw(const Params& params, const State& state, const float* action,
                   broadloom::Drawing& out) {
    using broadloom::Ink;
    out.view(-1.0, -0.1, 1.0, 2.1);
    out.line(Ink::kMuted, 0.02, {{-1.0, 0.0}, {1.0, 0.0}});
    out.line(Ink::kGood, 0.01, {{-1.0, params.target}, {1.0, params.target}});
    out.line(Ink::kBad, 0.02, {{-1.0, 2.0}, {1.0, 2.0}});
    out.rectangle(Ink::kInk, {-0.2, state.height - 0.03}, 0.4, 0.06);
    if (action == nullptr) return;  // the episode is over
    const double power = 0.5 * (1.0 + std::clamp(static_cast<double>(action[0]), -1.0, 1.0));
    out.arrow(Ink::kAccent, 0.02, {0.0, state.height}, {0.0, state.height + 0.4 * power});
  }
};
