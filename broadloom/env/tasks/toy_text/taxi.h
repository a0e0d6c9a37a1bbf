// Taxi-v3 of Gymnasium, gymnasium/envs/toy_text/taxi.py (Dietterich 2000): fetch a passenger and
// take them to their destination. Since Gymnasium 1.3 the same dynamics are registered as Taxi-v4.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct Taxi {
  static constexpr int kSize = 5;
  static constexpr int kInTaxi = 4;  // passenger's place when on board; 0..3 are R, G, Y, B
  static constexpr int kStates = kSize * kSize * 5 * 4;
  static constexpr int kActions = 6;  // south, north, east, west, pick up, drop off

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  // ((row * 5 + col) * 5 + passenger) * 4 + destination
  struct State {
    std::int32_t code;
  };
  static constexpr auto members = std::tuple{&State::code};
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::code, 0, kStates - 1);
  }

  static constexpr std::array end_reasons{"delivered"};

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Taxi-v3";
    spec.observation = Space::discrete(kStates);
    spec.action = Space::discrete(kActions);
    spec.max_episode_steps = 200;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 8.0;
    spec.set_score_range(-771.0909994, 7.93);  // both exact, from table() within 200 steps
    spec.reward_terms = {
        {"other_step", -1.0}, {"illegal_pickup_or_dropoff", -10.0}, {"delivery", 20.0}};
    spec.upstream = "Gymnasium 1.4.0 toy_text/taxi.py";
    spec.summary = "Fetch a passenger and drop them off at one of four places.";
    return spec;
  }

  // Draws one of the 300 states in which the passenger does not wait at the destination.
  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) {
    const int cell = static_cast<int>(random.below(kSize * kSize));
    const int passenger = static_cast<int>(random.below(4));
    const int other = static_cast<int>(random.below(3));
    s.code = (cell * 5 + passenger) * 4 + other + (other >= passenger ? 1 : 0);
  }

  BROADLOOM_HD static StepResult step(const Params&, State& s, const float* action, Random&) {
    const TabularModel::Outcome outcome = move(s.code, static_cast<int>(action[0]));
    s.code = outcome.next_state;
    return {outcome.reward, outcome.terminated};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.code);
  }

  static TabularModel table(const Params&) {
    TabularModel model;
    model.num_states = kStates;
    model.num_actions = kActions;
    for (int s = 0; s < kStates; ++s) {
      const int passenger = s / 4 % 5;
      const int destination = s % 4;
      model.start.push_back(passenger < 4 && passenger != destination ? 1.0 / 300.0 : 0.0);
      for (int a = 0; a < kActions; ++a) model.transitions.push_back({move(s, a)});
    }
    return model;
  }

  BROADLOOM_HD static bool success(const Params&, const State&, bool terminated, bool) {
    return terminated;
  }

  // The disc is the passenger, at a place or in the taxi. The destination has a frame.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    constexpr std::array kWords{"south", "north", "east", "west", "pick up", "drop off"};
    constexpr std::array kDown{1, -1, 0, 0}, kRight{0, 0, 1, -1};
    const int destination = s.code % 4, passenger = s.code / 4 % 5;
    const int col = s.code / 20 % kSize, row = s.code / 100;
    const GridDrawing grid{kSize, kSize, out};
    draw_city(grid);
    draw_frame(grid, destination);
    const Point taxi = grid.middle(row, col);
    out.rectangle(Ink::kInk, {taxi.x - 0.34, taxi.y - 0.22}, 0.68, 0.44);
    const bool aboard = passenger == kInTaxi;
    const Point waits = aboard ? taxi : grid.middle(kPlaceRow[passenger], kPlaceCol[passenger]);
    const double corner = aboard ? 0.0 : 0.3;  // beside the place's letter
    out.circle(colour(3), {waits.x - corner, waits.y + corner}, 0.13);
    if (action == nullptr) return;
    const std::size_t a = static_cast<std::size_t>(action[0]) % kActions;
    out.action = kWords[a];
    if (a < kDown.size()) grid.chosen_move(row, col, kDown[a], kRight[a]);
  }

 private:
  static constexpr std::array kPlaceRow{0, 0, 4, 4}, kPlaceCol{0, 4, 0, 3};

  static void draw_city(const GridDrawing& grid) {
    constexpr std::array kLetters{"R", "G", "Y", "B"};
    constexpr std::array kInks{colour(1), colour(2), colour(4), colour(0)};
    grid.ground(Ink::kPanel);
    grid.lines();
    for (std::size_t i = 0; i < kLetters.size(); ++i) {
      grid.fill(kPlaceRow[i], kPlaceCol[i], kInks[i], 0.25);
      grid.letter(kPlaceRow[i], kPlaceCol[i], kInks[i], kLetters[i]);
    }
    for (int row = 0; row < kSize; ++row) {
      for (int col = 0; col + 1 < kSize; ++col) {
        if (!wall_east(row, col)) continue;
        const Point low = grid.low_corner(row, col + 1);
        grid.out.line(Ink::kInk, 0.08, {low, {low.x, low.y + 1.0}});
      }
    }
  }

  static void draw_frame(const GridDrawing& grid, int place) {
    const Point low = grid.low_corner(kPlaceRow[place], kPlaceCol[place]);
    const double a = 0.06, b = 0.94;
    grid.out.line(Ink::kGood, 0.07,
                  {{low.x + a, low.y + a},
                   {low.x + b, low.y + a},
                   {low.x + b, low.y + b},
                   {low.x + a, low.y + b},
                   {low.x + a, low.y + a}});
  }

  // Whether a wall is east of (row, col). Walls are after column 1 in rows 0 and 1, after columns 0
  // and 2 in rows 3 and 4, and at the border.
  BROADLOOM_HD static bool wall_east(int row, int col) {
    if (col == kSize - 1) return true;
    if (row <= 1) return col == 1;
    return row >= 3 && (col == 0 || col == 2);
  }

  // Index of the place at (row, col): R (0,0), G (0,4), Y (4,0), B (4,3); -1: none.
  BROADLOOM_HD static int place_at(int row, int col) {
    if (row == 0) return col == 0 ? 0 : (col == 4 ? 1 : -1);
    if (row == 4) return col == 0 ? 2 : (col == 3 ? 3 : -1);
    return -1;
  }

  BROADLOOM_HD static TabularModel::Outcome move(int code, int action) {
    const int destination = code % 4;
    int passenger = code / 4 % 5;
    int col = code / 20 % kSize;
    int row = code / 100;
    double reward = -1.0;
    bool terminated = false;
    const int place = place_at(row, col);
    if (action == 0 && row + 1 < kSize) ++row;
    if (action == 1 && row > 0) --row;
    if (action == 2 && !wall_east(row, col)) ++col;
    if (action == 3 && col > 0 && !wall_east(row, col - 1)) --col;
    if (action == 4) {
      if (passenger < kInTaxi && place == passenger) {
        passenger = kInTaxi;
      } else {
        reward = -10.0;
      }
    }
    if (action == 5) {
      if (passenger == kInTaxi && place == destination) {
        passenger = destination;
        reward = 20.0;
        terminated = true;
      } else if (passenger == kInTaxi && place >= 0) {
        passenger = place;
      } else {
        reward = -10.0;
      }
    }
    return {1.0, ((row * kSize + col) * 5 + passenger) * 4 + destination, reward, terminated};
  }
};
static_assert(Environment<Taxi>);

}  // namespace broadloom
