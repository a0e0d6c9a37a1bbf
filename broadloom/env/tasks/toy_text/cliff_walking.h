// CliffWalking-v1 of Gymnasium 1.4.0, gymnasium/envs/toy_text/cliffwalking.py (Sutton and Barto,
// example 6.6): walk along a cliff from start to goal.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct CliffWalking {
  static constexpr int kRows = 4;
  static constexpr int kCols = 12;
  static constexpr int kActions = 4;  // up, right, down, left
  static constexpr int kStart = 36;
  static constexpr int kGoal = 47;

  struct Params {
    bool is_slippery = false;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("is_slippery", is_slippery,
        "Whether moves slip to either side, with probability 1/3 each.");
    }
  };
  using Options = Params;
  struct State {
    std::int32_t cell;
  };
  static constexpr auto members = std::tuple{&State::cell};
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::cell, 0, kRows * kCols - 1);
  }

  static constexpr std::array end_reasons{"reached_goal"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "CliffWalking-v1";
    spec.observation = Space::discrete(kRows * kCols);
    spec.action = Space::discrete(kActions);
    spec.set_score_range(-65375.1304, -13.0);  // both exact, from table()
    spec.reward_terms = {{"other_step", -1.0}, {"fall", -100.0}};
    spec.upstream = "Gymnasium 1.4.0 toy_text/cliffwalking.py";
    spec.summary = "Walk along a cliff to the goal; falling costs 100 and leads back.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random&) { s.cell = kStart; }

  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Random& random) {
    int direction = static_cast<int>(action[0]);
    if (p.is_slippery) direction += static_cast<int>(random.below(3)) + 3;  // a - 1, a or a + 1
    const TabularModel::Outcome outcome = move(s.cell, direction % kActions, 1.0);
    s.cell = outcome.next_state;
    return {outcome.reward, outcome.terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.cell);
  }

  static TabularModel table(const Params& p) {
    TabularModel model;
    model.num_states = kRows * kCols;
    model.num_actions = kActions;
    model.start.assign(kRows * kCols, 0.0);
    model.start[kStart] = 1.0;
    for (int s = 0; s < model.num_states; ++s) {
      for (int a = 0; a < kActions; ++a) {
        std::vector<TabularModel::Outcome> list;
        if (p.is_slippery) {
          for (int turn = 3; turn <= 5; ++turn)
            list.push_back(move(s, (a + turn) % kActions, 1.0 / 3.0));
        } else {
          list.push_back(move(s, a, 1.0));
        }
        model.transitions.push_back(list);
      }
    }
    return model;
  }

  BROADLOOM_HD static bool success(const Params&, const State&, bool terminated, bool) {
    return terminated;
  }

  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{kRows, kCols, out};
    grid.ground(Ink::kPanel);
    for (int col = 1; col < kCols - 1; ++col) grid.fill(kRows - 1, col, Ink::kBad, 0.55);
    grid.fill(kGoal / kCols, kGoal % kCols, Ink::kGood, 0.3);
    grid.letter(kGoal / kCols, kGoal % kCols, Ink::kGood, "G");
    grid.letter(kStart / kCols, kStart % kCols, Ink::kMuted, "S");
    grid.lines();
    const int row = s.cell / kCols, col = s.cell % kCols;
    grid.walker(row, col);
    if (action == nullptr) return;
    constexpr std::array kWords{"up", "right", "down", "left"};
    constexpr std::array kDown{-1, 0, 1, 0}, kRight{0, 1, 0, -1};
    const std::size_t a = static_cast<std::size_t>(action[0]) % kActions;
    out.action = kWords[a];
    grid.chosen_move(row, col, kDown[a], kRight[a]);
  }

 private:
  BROADLOOM_HD static TabularModel::Outcome move(int cell, int direction, double probability) {
    int row = cell / kCols;
    int col = cell % kCols;
    if (direction == 0 && row > 0) --row;
    if (direction == 1 && col + 1 < kCols) ++col;
    if (direction == 2 && row + 1 < kRows) ++row;
    if (direction == 3 && col > 0) --col;
    const bool cliff = row == kRows - 1 && col > 0 && col < kCols - 1;
    if (cliff) return {probability, kStart, -100.0, false};
    const int next = row * kCols + col;
    return {probability, next, -1.0, next == kGoal};
  }
};
static_assert(Environment<CliffWalking>);

}  // namespace broadloom
