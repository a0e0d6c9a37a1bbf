// Turntable-v0: a picture shows a lamp in one of its quarters, and a vector how far the table
// turns; name the quarter where the lamp ends. The smallest task whose observation is an image and
// a vector. Each of them alone says nothing about the right action, and the optimum is known.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct Turntable {
  static constexpr int kSide = 6, kCells = kSide * kSide, kQuarters = 4;
  // The direction that the table turns to, as cosine and sine, and nothing else.
  static constexpr int kObservationSize = kCells + 2, kActionSize = 1;

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t lamp;   // cell, row by row
    std::int32_t turns;  // quarter turns, clockwise
  };
  static constexpr auto members = std::tuple{&State::lamp, &State::turns};
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::lamp, 0, kCells - 1);
    ranges.add(&State::turns, 0, kQuarters - 1);
  }

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Turntable-v0";
    spec.observation = Space::grouped({{"image", Space::bytes({kSide, kSide, 1})},
                                       {"turn", Space::box({-1.0f, -1.0f}, {1.0f, 1.0f})}});
    spec.action = Space::discrete(kQuarters);
    spec.max_episode_steps = 32;
    spec.set_score_range(8.0, 32.0);  // both exact
    spec.reward_terms = {{"quarters_named", 1.0}};
    spec.upstream = "Broadloom";
    spec.summary = "Name a lamp's quarter after a turn; observations are an image and a vector.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) { draw_next(s, random); }

  BROADLOOM_HD static StepResult step(const Params&, State& s, const float* action,
                                      Random& random) {
    const bool right = static_cast<int>(action[0]) == end_quarter(s);
    draw_next(s, random);
    return {right ? 1.0 : 0.0, 0};
  }

  // The lamp is a white pixel.
  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    for (int cell = 0; cell < kCells; ++cell) out[cell] = cell == s.lamp ? 255.0f : 0.0f;
    out[kCells] = s.turns == 0 ? 1.0f : s.turns == 2 ? -1.0f : 0.0f;
    out[kCells + 1] = s.turns == 1 ? 1.0f : s.turns == 3 ? -1.0f : 0.0f;
  }

  // Quarters count clockwise from the upper left one.
  BROADLOOM_HD static int quarter(int cell) {
    const bool is_low = cell / kSide >= kSide / 2, is_right = cell % kSide >= kSide / 2;
    return is_low ? (is_right ? 2 : 3) : (is_right ? 1 : 0);
  }
  BROADLOOM_HD static int end_quarter(const State& s) {
    return (quarter(s.lamp) + s.turns) % kQuarters;
  }

  // The lamp's quarter after the turn is tinted, and the named quarter has a disc in its corner.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{kSide, kSide, out};
    grid.ground(Ink::kPanel);
    for (int cell = 0; cell < kCells; ++cell) {
      if (quarter(cell) == end_quarter(s)) grid.fill(cell / kSide, cell % kSide, Ink::kGood, 0.1);
    }
    grid.fill(s.lamp / kSide, s.lamp % kSide, Ink::kInk);
    grid.lines();
    if (action == nullptr) return;
    const int named = static_cast<int>(action[0]);
    constexpr int kFar = kSide - 1;
    grid.walker(named >= 2 ? kFar : 0, named == 1 || named == 2 ? kFar : 0);
    out.action = "quarter " + std::to_string(named);
  }

 private:
  BROADLOOM_HD static void draw_next(State& s, Random& random) {
    s.lamp = static_cast<std::int32_t>(random.below(kCells));
    s.turns = static_cast<std::int32_t>(random.below(kQuarters));
  }
};
static_assert(Environment<Turntable>);

}  // namespace broadloom
