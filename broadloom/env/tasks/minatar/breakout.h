// Breakout of MinAtar 1.0.15: a paddle on the lowest row keeps a ball in play, which removes
// bricks.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom {

struct Breakout {
  static constexpr int kPlanes = 4;  // paddle, ball, trail, brick
  static constexpr minatar::ActionSet kMinimal =
      minatar::action_set(minatar::kStay, minatar::kLeft, minatar::kRight);

  using Params = minatar::Params;
  using Options = minatar::Options;
  struct State {
    std::int16_t ball_row, ball_column;
    std::int16_t heading;                // 0 up left, 1 up right, 2 down right, 3 down left
    std::int16_t last_row, last_column;  // the ball's last cell, its trail
    std::int16_t paddle;                 // its column
    std::int16_t inside;  // 1 if the ball was in a brick in the last step: it then removes no other
    std::uint32_t bricks;  // rows 1 to 3, bit 10 * (row - 1) + column
    std::int16_t last_action;
  };
  static constexpr auto members =
      std::tuple{&State::ball_row, &State::ball_column, &State::heading,
                 &State::last_row, &State::last_column, &State::paddle,
                 &State::inside,   &State::bricks,      &State::last_action};
  static constexpr auto kept = std::tuple{&State::last_action};

  // A ball in the lowest row bounces back to the row above, or is lost.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::ball_row, 0, minatar::kLast - 1);
    ranges.add(&State::ball_column, 0, minatar::kLast);
    ranges.add(&State::heading, 0, 3);
    ranges.add(&State::last_row, 0, minatar::kLast - 1);
    ranges.add(&State::last_column, 0, minatar::kLast);
    ranges.add(&State::paddle, 0, minatar::kLast);
    ranges.add(&State::inside, 0, 1);
    ranges.add(&State::bricks, 0, kWall);
    minatar::add_last_action(ranges);
  }

  static constexpr std::array end_reasons{"ball_lost"};

  static Result<Params> make_params(const Options& options) { return minatar::params_of(options); }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec = minatar::spec_of("Breakout", "breakout.py", kPlanes, kMinimal, p);
    spec.reward_terms = {{"brick", 1.0}};
    spec.summary = "MinAtar: take bricks away with a ball that a paddle keeps in play.";
    return spec;
  }

  template <class Draws>
  BROADLOOM_HD static void reset(const Params&, State& s, Draws& draws) {
    const bool right = draws.below(2) == 1;
    s.ball_row = 3;
    s.ball_column = right ? minatar::kLast : 0;
    s.heading = right ? 3 : 2;
    s.last_row = s.ball_row;
    s.last_column = s.ball_column;
    s.paddle = 4;
    s.inside = 0;
    s.bricks = kWall;
  }

  template <class Draws>
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Draws& draws) {
    const int taken = minatar::taken_action(p, kMinimal, action[0], s.last_action, draws);
    if (taken == minatar::kLeft && s.paddle > 0) --s.paddle;
    if (taken == minatar::kRight && s.paddle < minatar::kLast) ++s.paddle;
    return move_ball(s);
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, std::uint8_t* out) {
    const minatar::Picture<kPlanes> picture(out);
    picture.set(0, minatar::kLast, s.paddle);
    picture.set(1, s.ball_row, s.ball_column);
    picture.set(2, s.last_row, s.last_column);
    for (int cell = 0; cell < 3 * minatar::kSide; ++cell) {
      out[(minatar::kSide + cell) * kPlanes + 3] = static_cast<std::uint8_t>(s.bricks >> cell & 1u);
    }
  }

 private:
  static constexpr std::uint32_t kWall = (1u << 3 * minatar::kSide) - 1u;

  // Headings after a side wall, after floor or ceiling, and after both at once.
  BROADLOOM_HD static std::int16_t sideways(int heading) {
    return static_cast<std::int16_t>(heading ^ 1);
  }
  BROADLOOM_HD static std::int16_t upside_down(int heading) {
    return static_cast<std::int16_t>(3 - heading);
  }
  BROADLOOM_HD static std::int16_t backwards(int heading) {
    return static_cast<std::int16_t>(heading ^ 2);
  }

  BROADLOOM_HD static StepResult move_ball(State& s) {
    s.last_row = s.ball_row;
    s.last_column = s.ball_column;
    int row = s.ball_row + (s.heading >= 2 ? 1 : -1);
    int column = s.ball_column + (s.heading == 1 || s.heading == 2 ? 1 : -1);
    if (column < 0 || column > minatar::kLast) {
      column = s.ball_column;
      s.heading = sideways(s.heading);
    }
    StepResult result{0.0, 0};
    const std::int16_t was_inside = s.inside;
    s.inside = 0;
    if (row < 0) {
      row = 0;
      s.heading = upside_down(s.heading);
    } else if (row >= 1 && row <= 3 && has_brick(s, row, column)) {
      s.inside = 1;
      if (!was_inside) {
        result.reward = 1.0;
        s.bricks &= ~brick(row, column);
        row = s.last_row;
        s.heading = upside_down(s.heading);
      }
    } else if (row == minatar::kLast) {
      result.terminated = !bounce(s, row, column);
    }
    s.ball_row = static_cast<std::int16_t>(row);
    s.ball_column = static_cast<std::int16_t>(column);
    return result;
  }

  BROADLOOM_HD static std::uint32_t brick(int row, int column) {
    return 1u << (minatar::kSide * (row - 1) + column);
  }
  BROADLOOM_HD static bool has_brick(const State& s, int row, int column) {
    return (s.bricks & brick(row, column)) != 0;
  }

  // Handles a ball in the lowest row. Returns whether the paddle caught it. Rebuilds an empty wall.
  BROADLOOM_HD static bool bounce(State& s, int& row, int column) {
    if (s.bricks == 0) s.bricks = kWall;
    if (s.ball_column == s.paddle) {
      s.heading = upside_down(s.heading);
    } else if (column == s.paddle) {
      s.heading = backwards(s.heading);
    } else {
      return false;
    }
    row = s.last_row;
    return true;
  }
};
static_assert(Environment<Breakout>);

}  // namespace broadloom
