// A small task with commands and seeded worlds, which audits look at.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"

namespace broadloom {

// The task: go at the commanded speed, drawn for each episode within +- max_command.
struct Commanded {
  struct Params {
    double max_command = 1.0;
    double tempo = 1.0;
    std::uint64_t world = 1;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("max_command", max_command, Range{0.0, 10.0}, "Commands are within +- this.");
      v("tempo", tempo, Range{0.0, 10.0}, "Times the action.");
      v("world", world, "What the world is made from.");
    }
  };
  using Options = Params;
  struct State {
    double command, speed;
  };
  static constexpr auto members = std::tuple{&State::command, &State::speed};

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    constexpr float kAny = std::numeric_limits<float>::infinity();
    EnvSpec spec;
    spec.id = "Commanded-v0";
    spec.observation = Space::box({-kAny, -kAny}, {kAny, kAny});
    spec.action = Space::box({-1.0f}, {1.0f});
    spec.max_episode_steps = 40;
    spec.commands = {{"speed, m/s", -params.max_command, params.max_command}};
    spec.context = {{"speed, m/s", -params.max_command, params.max_command}};
    spec.world_seeds = {params.world, 1};
    return spec;
  }
  static void reset(const Params& params, State& state, Random& random) {
    state.command = random.uniform(-params.max_command, params.max_command);
    state.speed = random.uniform(-0.1, 0.1);
  }
  static StepResult step(const Params& params, State& state, const float* action, Random&) {
    state.speed += 0.1 * params.tempo * static_cast<double>(action[0]);
    const double off = state.speed - state.command;
    return {-off * off, 0};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.speed);
    out[1] = static_cast<float>(state.command);
  }
  static void context(const Params&, const State& state, std::span<double> out) {
    out[0] = state.command;
  }
};

}  // namespace broadloom
