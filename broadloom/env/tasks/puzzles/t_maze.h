// TMaze-v0: a sign at the start of a corridor tells which way to turn at its end (Bakker 2001,
// "Reinforcement Learning with Long Short-Term Memory"). The smallest task that needs memory, with
// known optima with and without it.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct TMaze {
  static constexpr int kActions = 4;  // up, right, down, left
  static constexpr double kRight = 4.0, kWrong = -0.1;

  struct Params {
    int length = 10;  // steps from the start to the junction

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("length", length, Range{1, 80}, "Steps from the start of the corridor to the junction.");
    }
  };
  using Options = Params;
  struct State {
    std::int32_t place;  // in the corridor; `length` is the junction
    std::int32_t goal;   // -1: the upper arm, 1: the lower arm
    std::int32_t arm;    // 0 before the turn, then -1 or 1
  };
  static constexpr auto members = std::tuple{&State::place, &State::goal, &State::arm};
  static void state_ranges(const Params& p, StateRanges<State>& ranges) {
    ranges.add(&State::place, 0, p.length);
    ranges.add(&State::goal, -1, 1);
    ranges.add(&State::arm, -1, 1);
  }

  static constexpr std::array end_reasons{"right_arm", "wrong_arm"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "TMaze-v0";
    spec.observation = Space::box({0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f});
    spec.action = Space::discrete(kActions);
    spec.max_episode_steps = 100;
    spec.set_score_range(-4.64097057, kRight);  // both exact
    spec.reward_terms = {{"right_arm", kRight}, {"wrong_arm_or_wall", kWrong}};
    spec.upstream = "Bakker 2001, Reinforcement Learning with Long Short-Term Memory, figure 2";
    spec.summary = "Remember a sign at the start, and turn accordingly at the corridor's end.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    s.goal = random.below(2) == 0 ? -1 : 1;
  }

  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action, Random&) {
    const int direction = static_cast<int>(action[0]);
    if (direction % 2 == 0) {
      if (s.place < p.length) return {kWrong, false};
      s.arm = direction - 1;
      return {s.arm == s.goal ? kRight : kWrong, true};
    }
    const int next = s.place + 2 - direction;
    if (next < 0 || next > p.length) return {kWrong, false};
    s.place = next;
    return {0.0, false};
  }

  // The start shows the goal: 1 1 0 or 0 1 1. The corridor is 1 0 1, the junction 0 1 0.
  BROADLOOM_HD static void observe(const Params& p, const State& s, float* out) {
    const bool starts = s.place == 0, in_corridor = s.place > 0 && s.place < p.length;
    out[0] = in_corridor || (starts && s.goal < 0) ? 1.0f : 0.0f;
    out[1] = in_corridor ? 0.0f : 1.0f;
    out[2] = in_corridor || (starts && s.goal > 0) ? 1.0f : 0.0f;
  }

  BROADLOOM_HD static int end_reason(const Params&, const State& last) {
    return last.arm == last.goal ? 0 : 1;
  }
  BROADLOOM_HD static bool success(const Params&, const State& last, bool terminated, bool) {
    return terminated && last.arm == last.goal;
  }

  static void draw(const Params& p, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{3, p.length + 1, out};
    grid.ground(Ink::kPanel);
    for (const int row : {0, 2}) {
      for (int col = 0; col < p.length; ++col) grid.fill(row, col, Ink::kFaint);
      grid.fill(row, p.length, row - 1 == s.goal ? Ink::kGood : Ink::kBad, 0.3);
    }
    grid.letter(1, 0, Ink::kMuted, s.goal < 0 ? "up" : "dn");
    grid.lines();
    grid.walker(1 + s.arm, s.place);
    if (action == nullptr) return;
    constexpr std::array kWords{"up", "right", "down", "left"};
    constexpr std::array kDown{-1, 0, 1, 0}, kAcross{0, 1, 0, -1};
    const std::size_t a = static_cast<std::size_t>(action[0]) % kActions;
    out.action = kWords[a];
    grid.chosen_move(1 + s.arm, s.place, kDown[a], kAcross[a]);
  }
};
static_assert(Environment<TMaze>);

}  // namespace broadloom
