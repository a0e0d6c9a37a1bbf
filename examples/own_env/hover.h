// Hover: a drone that moves up and down, and must stay one metre above the ground.
//
// A worked example of your own environment. An environment is plain data and pure functions. The
// library handles time limits, resets, statistics and threads.
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
    double max_thrust = 20.0;  // m/s^2, rotors at full power
    double dt = 0.05;          // s per step
    double target = 1.0;       // m

    // Lists the constants that users may set, with their ranges.
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("gravity", gravity, broadloom::Range{0.0, 100.0}, "Acceleration downwards in m/s^2.");
      v("max_thrust", max_thrust, broadloom::Range{0.0, 1000.0}, "Rotors at full power, m/s^2.");
      v("target", target, broadloom::Range{0.1, 1.9}, "Height to hold, in m.");
    }
  };
  using Options = Params;

  // Everything that changes between steps.
  struct State {
    double height;  // m
    double speed;   // m/s, upwards
  };
  static constexpr auto members = std::tuple{&State::height, &State::speed};

  // Allowed values of a saved state. Resuming a run refuses others.
  static void state_ranges(const Params&, broadloom::StateRanges<State>& ranges) {
    ranges.add(&State::height, 0.0, 2.0);  // the episode ends outside
    ranges.add_finite(&State::speed);
  }

  // Turns options into constants, or explains what is wrong.
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
    // Heights and speeds depend on the options, so there are no bounds.
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

  // action[0] in [-1, 1]: rotors off to full power. The reward is 1 at the target and less away
  // from it. The episode ends below the ground or above two metres.
  BROADLOOM_HD static broadloom::StepResult step(const Params& params, State& state,
                                                 const float* action, broadloom::Random&) {
    const double power = 0.5 * (1.0 + std::clamp(static_cast<double>(action[0]), -1.0, 1.0));
    state.speed += (power * params.max_thrust - params.gravity) * params.dt;
    state.height += state.speed * params.dt;
    const bool terminated = state.height <= 0.0 || state.height >= 2.0;
    return {1.0 - std::fabs(state.height - params.target), terminated};
  }

  // Writes the policy's observation, out: [2].
  BROADLOOM_HD static void observe(const Params& params, const State& state, float* out) {
    out[0] = static_cast<float>(state.height - params.target);
    out[1] = static_cast<float>(state.speed);
  }

  // Draws the state for `own_env watch`, in metres: ground, target height, drone and thrust.
  static void draw(const Params& params, const State& state, const float* action,
                   broadloom::Drawing& out) {
    using broadloom::Ink;
    out.view(-1.0, -0.1, 1.0, 2.1);
    out.line(Ink::kMuted, 0.02, {{-1.0, 0.0}, {1.0, 0.0}});
    out.line(Ink::kGood, 0.01, {{-1.0, params.target}, {1.0, params.target}});
    out.line(Ink::kBad, 0.02, {{-1.0, 2.0}, {1.0, 2.0}});
    out.rectangle(Ink::kInk, {-0.2, state.height - 0.03}, 0.4, 0.06);
    if (action == nullptr) return;  // the episode has ended
    const double power = 0.5 * (1.0 + std::clamp(static_cast<double>(action[0]), -1.0, 1.0));
    out.arrow(Ink::kAccent, 0.02, {0.0, state.height}, {0.0, state.height + 0.4 * power});
  }
};
