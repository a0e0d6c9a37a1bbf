// Environments with uint8 observations or a separate critic observation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "broadloom/core/config_table.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/register_environment.h"

namespace broadloom {

// A ball falls down a picture. A bat at the lower edge must catch it. The first missed ball ends
// the episode. kSide: pixels of a side of ball and bat.
template <int kSide>
struct CatchOf {
  static constexpr int kRows = 6, kCols = 5;

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t row, col, bat;
  };
  static constexpr auto members = std::tuple{&State::row, &State::col, &State::bat};

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = kSide > 1 ? "LargeCatch-v0" : "Catch-v0";
    spec.observation = Space::bytes({kSide * kRows, kSide * kCols, 1});
    spec.action = Space::discrete(3);
    spec.max_episode_steps = 30;
    spec.summary = "Catch falling balls, seen as pixels.";
    return spec;
  }
  static void reset(const Params&, State& state, Random& random) {
    state = {0, static_cast<std::int32_t>(random.below(kCols)), kCols / 2};
  }
  static StepResult step(const Params&, State& state, const float* action, Random& random) {
    state.bat = std::clamp(state.bat + static_cast<std::int32_t>(action[0]) - 1, 0, kCols - 1);
    if (++state.row < kRows) return {0.0, 0};
    const bool caught = state.col == state.bat;
    if (caught) state = {0, static_cast<std::int32_t>(random.below(kCols)), state.bat};
    if (!caught) state.row = kRows - 1;
    return {caught ? 1.0 : 0.0, static_cast<std::uint8_t>(!caught)};
  }
  static void observe(const Params&, const State& state, std::uint8_t* out) {
    std::fill_n(out, kSide * kRows * kSide * kCols, std::uint8_t{0});
    draw(kRows - 1, state.bat, 100, out);
    draw(state.row, state.col, 255, out);
  }

 private:
  static void draw(int row, int col, std::uint8_t shade, std::uint8_t* out) {
    for (int y = 0; y < kSide; ++y) {
      std::fill_n(out + ((kSide * row + y) * kCols + col) * kSide, kSide, shade);
    }
  }
};
using Catch = CatchOf<1>;
using LargeCatch = CatchOf<8>;  // of a size for encoder = nature

// A cart pushed by wind. The policy observes the cart's position; the critic also observes the
// wind. The goal is position 0. Positions too far away end the episode.
struct Windy {
  struct Params {
    double wind = 0.1;
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("wind", wind, Range{0.0, 1.0}, "The strongest wind.");
    }
  };
  using Options = Params;
  struct State {
    double place, wind;
  };
  static constexpr auto members = std::tuple{&State::place, &State::wind};
  static constexpr int kObservationSize = 1, kActionSize = 1, kCriticObservationSize = 3;

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    constexpr float kAny = std::numeric_limits<float>::infinity();
    EnvSpec spec;
    spec.id = "Windy-v0";
    spec.observation = Space::box({-kAny}, {kAny});
    spec.critic_observation = Space::box({-kAny, -kAny, 0.0f}, {kAny, kAny, kAny});
    spec.action = Space::box({-1.0f}, {1.0f});
    spec.max_episode_steps = 20;
    spec.summary = "Keep a cart in place in a wind that only the critic knows.";
    return spec;
  }
  static void reset(const Params& params, State& state, Random& random) {
    state.place = random.uniform(-1.0, 1.0);
    state.wind = params.wind * random.uniform(-1.0, 1.0);
  }
  static StepResult step(const Params&, State& state, const float* action, Random&) {
    state.place += 0.3 * static_cast<double>(action[0]) + state.wind;
    return {-state.place * state.place, static_cast<std::uint8_t>(std::abs(state.place) > 2.5)};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.place);
  }
  static void observe_critic(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.place);
    out[1] = static_cast<float>(100.0 + 10.0 * state.wind);  // far from 0, to test normalisers
    out[2] = static_cast<float>(state.place * state.place);
  }
};

// Registers these environments, once per process.
inline bool register_observation_envs() {
  static const bool done = register_environment(make_entry<Catch>()).ok() &&
                           register_environment(make_entry<LargeCatch>()).ok() &&
                           register_environment(make_entry<Windy>()).ok();
  return done;
}

}  // namespace broadloom
