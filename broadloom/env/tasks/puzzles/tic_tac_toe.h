// TicTacToe-v0: noughts and crosses against an opponent that moves at random. The smallest task
// with action masks: only empty cells may be taken. Its optimum is solved exactly
// (tests/tasks/tic_tac_toe_test.cc).
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct TicTacToe {
  static constexpr int kCells = 9;
  static constexpr std::int32_t kEmpty = 0, kOwn = 1, kTheirs = 2;

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::array<std::int32_t, kCells> cells;  // row by row: kEmpty, kOwn or kTheirs
  };
  static constexpr auto members = std::tuple{&State::cells};
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::cells, kEmpty, kTheirs);
  }
  // An action that masks would have excluded ends the game, too.
  static constexpr std::array end_reasons{"won", "lost", "drawn", "invalid_action"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "TicTacToe-v0";
    spec.observation =
        Space::box(std::vector<float>(2 * kCells, 0.0f), std::vector<float>(2 * kCells, 1.0f));
    spec.action = Space::discrete(kCells);
    spec.set_score_range(0.0, kOptimum);  // both exact
    spec.upstream = "Broadloom, noughts and crosses";
    spec.summary = "Noughts and crosses against random moves; the actions have masks.";
    return spec;
  }

  // The mean return of the best player.
  static constexpr double kOptimum = 0.9598296957671959;

  // Who begins is drawn: the opponent does in half of the games.
  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    if (random.below(2) == 1) move_opponent(s, random);
  }

  BROADLOOM_HD static StepResult step(const Params&, State& s, const float* action,
                                      Random& random) {
    const auto cell = static_cast<std::size_t>(action[0]);
    if (s.cells[cell] != kEmpty) return {-1.0, 1};
    s.cells[cell] = kOwn;
    if (has_line(s, kOwn)) return {1.0, 1};
    if (empty_cells(s) == 0) return {0.0, 1};
    move_opponent(s, random);
    if (has_line(s, kTheirs)) return {-1.0, 1};
    return {0.0, static_cast<std::uint8_t>(empty_cells(s) == 0)};
  }

  // The own cells, then the opponent's.
  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    for (int i = 0; i < kCells; ++i) {
      out[i] = s.cells[i] == kOwn ? 1.0f : 0.0f;
      out[kCells + i] = s.cells[i] == kTheirs ? 1.0f : 0.0f;
    }
  }

  BROADLOOM_HD static void valid_actions(const Params&, const State& s, std::uint8_t* out) {
    for (int i = 0; i < kCells; ++i) out[i] = s.cells[i] == kEmpty ? 1 : 0;
  }

  static int end_reason(const Params&, const State& last) {
    if (has_line(last, kOwn)) return 0;
    if (has_line(last, kTheirs)) return 1;
    return empty_cells(last) == 0 ? 2 : 3;
  }
  static bool success(const Params&, const State& last, bool, bool) { return has_line(last, kOwn); }

  // Discs for the own cells, filled cells for the opponent's; the chosen cell is tinted.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{3, 3, out};
    grid.ground(Ink::kPanel);
    for (int i = 0; i < kCells; ++i) {
      const int row = i / 3, col = i % 3;
      if (s.cells[static_cast<std::size_t>(i)] == kTheirs) grid.fill(row, col, Ink::kBad, 0.5);
      if (action != nullptr && static_cast<int>(action[0]) == i) {
        grid.fill(row, col, Ink::kAccent, 0.3);
        out.action = std::to_string(i);
      }
    }
    grid.lines();
    for (int i = 0; i < kCells; ++i) {
      if (s.cells[static_cast<std::size_t>(i)] == kOwn) grid.walker(i / 3, i % 3);
    }
  }

  BROADLOOM_HD static bool has_line(const State& s, std::int32_t player) {
    const auto is_line = [&](int first, int step) {
      return s.cells[first] == player && s.cells[first + step] == player &&
             s.cells[first + 2 * step] == player;
    };
    for (int i = 0; i < 3; ++i) {
      if (is_line(3 * i, 1) || is_line(i, 3)) return true;
    }
    return is_line(0, 4) || is_line(2, 2);
  }
  BROADLOOM_HD static int empty_cells(const State& s) {
    int count = 0;
    for (int i = 0; i < kCells; ++i) count += s.cells[i] == kEmpty ? 1 : 0;
    return count;
  }

 private:
  // Takes one of the empty cells, each with equal probability. There must be one.
  BROADLOOM_HD static void move_opponent(State& s, Random& random) {
    int left = static_cast<int>(random.below(static_cast<std::uint32_t>(empty_cells(s))));
    for (int i = 0; i < kCells; ++i) {
      if (s.cells[i] == kEmpty && left-- == 0) s.cells[i] = kTheirs;
    }
  }
};
static_assert(Environment<TicTacToe>);

}  // namespace broadloom
