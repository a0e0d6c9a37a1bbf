// Freeway of MinAtar 1.0.15: a chicken crosses eight lanes of cars as often as it can in 2,501
// steps.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom {

struct Freeway {
  static constexpr int kPlanes = 7;  // chicken, car, and the trail of cars of speed 1 to 5
  static constexpr minatar::ActionSet kMinimal =
      minatar::action_set(minatar::kStay, minatar::kUp, minatar::kDown);
  static constexpr int kCars = 8;  // one on each of rows 1 to 8

  using Params = minatar::Params;
  using Options = minatar::Options;
  struct State {
    std::int16_t chicken;                        // its row, in column kColumn
    std::int16_t move_timer;                     // steps until it may move again
    std::int16_t steps_left;                     // the episode ends when this becomes -1
    std::array<std::int16_t, kCars> columns;     // of each car
    std::array<std::int16_t, kCars> timers;      // steps until each car moves by a column
    std::array<std::int16_t, kCars> slownesses;  // steps between moves; below 0: to the left
    std::int16_t last_action;
  };
  static constexpr auto members =
      std::tuple{&State::chicken, &State::move_timer, &State::steps_left, &State::columns,
                 &State::timers,  &State::slownesses, &State::last_action};
  static constexpr auto kept = std::tuple{&State::last_action};

  static constexpr int kColumn = 4;
  static constexpr std::int16_t kSteps = 2500;

  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::chicken, 1, minatar::kLast);
    ranges.add(&State::move_timer, 0, kRest);
    ranges.add(&State::steps_left, 0, kSteps);
    ranges.add(&State::columns, 0, minatar::kLast);
    ranges.add(&State::timers, 0, kSlowest);
    ranges.add(&State::slownesses, -kSlowest, kSlowest);
    minatar::add_last_action(ranges);
  }

  static constexpr std::array end_reasons{"time_is_up"};

  static Result<Params> make_params(const Options& options) { return minatar::params_of(options); }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec = minatar::spec_of("Freeway", "freeway.py", kPlanes, kMinimal, p);
    spec.reward_terms = {{"crossing", 1.0}};
    spec.summary = "MinAtar: cross eight lanes of cars, as often as 2,501 steps allow.";
    return spec;
  }

  template <class Draws>
  BROADLOOM_HD static void reset(const Params&, State& s, Draws& draws) {
    s.chicken = minatar::kLast;
    s.move_timer = kRest;
    s.steps_left = kSteps;
    s.columns = {};
    draw_cars(s, draws);
  }

  template <class Draws>
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Draws& draws) {
    const int taken = minatar::taken_action(p, kMinimal, action[0], s.last_action, draws);
    if (s.move_timer == 0) move_chicken(s, taken);
    StepResult result{0.0, 0};
    if (s.chicken == 0) {
      result.reward = 1.0;
      draw_cars(s, draws);
      s.chicken = minatar::kLast;
    }
    for (int car = 0; car < kCars; ++car) drive(s, car);
    if (s.move_timer > 0) --s.move_timer;
    --s.steps_left;
    result.terminated = s.steps_left < 0 ? 1 : 0;
    return result;
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, std::uint8_t* out) {
    const minatar::Picture<kPlanes> picture(out);
    picture.set(0, s.chicken, kColumn);
    for (int car = 0; car < kCars; ++car) {
      const int row = car + 1, slowness = s.slownesses[car];
      picture.set(1, row, s.columns[car]);
      const int behind = around(s.columns[car] + (slowness > 0 ? -1 : 1));
      picture.set(1 + (slowness > 0 ? slowness : -slowness), row, behind);
    }
  }

 private:
  static constexpr std::int16_t kRest = 3;  // steps per move of the chicken
  static constexpr int kSlowest = 5;        // steps per column

  BROADLOOM_HD static void move_chicken(State& s, int taken) {
    if (taken == minatar::kUp) {
      s.move_timer = kRest;
      if (s.chicken > 0) --s.chicken;
    } else if (taken == minatar::kDown) {
      s.move_timer = kRest;
      if (s.chicken < minatar::kLast) ++s.chicken;
    }
  }

  // Draws new speeds, 1 to 5 steps per column, then new directions. Cars keep their columns.
  template <class Draws>
  BROADLOOM_HD static void draw_cars(State& s, Draws& draws) {
    for (int car = 0; car < kCars; ++car) {
      s.timers[car] = static_cast<std::int16_t>(1 + static_cast<int>(draws.below(kSlowest)));
    }
    for (int car = 0; car < kCars; ++car) {
      const std::int16_t slowness = s.timers[car];
      s.slownesses[car] = draws.uniform() < 0.5 ? static_cast<std::int16_t>(-slowness) : slowness;
    }
  }

  BROADLOOM_HD static int around(int column) {
    return column < 0 ? minatar::kLast : (column > minatar::kLast ? 0 : column);
  }

  // Moves a car. If it meets the chicken before or after its move, the chicken returns to the
  // start.
  BROADLOOM_HD static void drive(State& s, int car) {
    hit(s, car);
    if (s.timers[car] > 0) {
      --s.timers[car];
      return;
    }
    const int slowness = s.slownesses[car];
    s.timers[car] = static_cast<std::int16_t>(slowness > 0 ? slowness : -slowness);
    s.columns[car] = static_cast<std::int16_t>(around(s.columns[car] + (slowness > 0 ? 1 : -1)));
    hit(s, car);
  }

  BROADLOOM_HD static void hit(State& s, int car) {
    if (s.columns[car] == kColumn && s.chicken == car + 1) s.chicken = minatar::kLast;
  }
};
static_assert(Environment<Freeway>);

}  // namespace broadloom
