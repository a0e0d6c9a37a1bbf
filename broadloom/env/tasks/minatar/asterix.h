// Asterix of MinAtar 1.0.15: gold and enemies cross eight rows, faster and faster. Collect gold and
// avoid enemies.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom {

struct Asterix {
  static constexpr int kPlanes = 4;  // player, enemy, trail, gold
  static constexpr minatar::ActionSet kMinimal = minatar::action_set(
      minatar::kStay, minatar::kLeft, minatar::kUp, minatar::kRight, minatar::kDown);
  static constexpr int kSlots = 8;  // rows 1 to 8, at most one thing in each

  using Params = minatar::Params;
  using Options = minatar::RampingOptions;
  struct State {
    std::int16_t player_row, player_column;
    std::array<std::uint8_t, kSlots> things;  // by slot; see kColumn
    std::int16_t spawn_speed, spawn_timer;    // steps between new things
    std::int16_t move_speed, move_timer;      // steps between moves of all things
    std::int16_t ramp_timer, ramp_index;      // steps until it gets harder; how often it did
    std::int16_t last_action;
  };
  static constexpr auto members = std::tuple{
      &State::player_row,  &State::player_column, &State::things,     &State::spawn_speed,
      &State::spawn_timer, &State::move_speed,    &State::move_timer, &State::ramp_timer,
      &State::ramp_index,  &State::last_action};
  static constexpr auto kept = std::tuple{&State::last_action};

  // The bits of a thing: its column, direction and kind. 0: no thing.
  static constexpr int kColumn = 15, kToTheRight = 16, kGold = 32, kThere = 64;

  // Timers count down to 0 (the ramp's to -1), then restart at their speed.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::player_row, 1, kSlots);
    ranges.add(&State::player_column, 0, minatar::kLast);
    ranges.add(&State::things, 0, kThere | kGold | kToTheRight | kColumn);
    ranges.add_bits(&State::things, 0, 4, 0, minatar::kLast);  // kColumn
    ranges.add(&State::spawn_speed, 1, kFirstSpawnSpeed);
    ranges.add(&State::spawn_timer, 0, kFirstSpawnSpeed);
    ranges.add(&State::move_speed, 1, kFirstMoveSpeed);
    ranges.add(&State::move_timer, 0, kFirstMoveSpeed);
    ranges.add(&State::ramp_timer, -1, kRampInterval);
    ranges.add(&State::ramp_index, 0, kFirstSpawnSpeed + kFirstMoveSpeed);  // speeds stop at 1
    minatar::add_last_action(ranges);
  }

  static constexpr std::array end_reasons{"hit_by_enemy"};

  static Result<Params> make_params(const Options& options) { return minatar::params_of(options); }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec = minatar::spec_of("Asterix", "asterix.py", kPlanes, kMinimal, p);
    spec.reward_terms = {{"gold", 1.0}};
    spec.summary =
        "MinAtar: collect gold and keep clear of enemies, on eight rows that get faster.";
    return spec;
  }

  template <class Draws>
  BROADLOOM_HD static void reset(const Params&, State& s, Draws&) {
    s.player_row = s.player_column = 5;
    s.things = {};
    s.spawn_speed = s.spawn_timer = kFirstSpawnSpeed;
    s.move_speed = s.move_timer = kFirstMoveSpeed;
    s.ramp_timer = kRampInterval;
    s.ramp_index = 0;
  }

  template <class Draws>
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Draws& draws) {
    const int taken = minatar::taken_action(p, kMinimal, action[0], s.last_action, draws);
    if (s.spawn_timer == 0) {
      spawn(s, draws);
      s.spawn_timer = s.spawn_speed;
    }
    move_player(s, taken);
    StepResult result{0.0, 0};
    meet(s, result);
    if (s.move_timer == 0) {
      s.move_timer = s.move_speed;
      move_things(s);
      meet(s, result);
    }
    --s.spawn_timer;
    --s.move_timer;
    if (p.difficulty_ramping) ramp(s);
    return result;
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, std::uint8_t* out) {
    const minatar::Picture<kPlanes> picture(out);
    picture.set(0, s.player_row, s.player_column);
    for (int slot = 0; slot < kSlots; ++slot) {
      const int thing = s.things[slot];
      if (thing == 0) continue;
      const int row = slot + 1, column = thing & kColumn;
      picture.set((thing & kGold) != 0 ? 3 : 1, row, column);
      picture.set_within(2, row, column + ((thing & kToTheRight) != 0 ? -1 : 1));
    }
  }

 private:
  static constexpr std::int16_t kFirstSpawnSpeed = 10, kFirstMoveSpeed = 5, kRampInterval = 100;

  // Spawns a thing on a random free row. Draws its kind first, even if no row is free.
  template <class Draws>
  BROADLOOM_HD static void spawn(State& s, Draws& draws) {
    const bool to_the_right = draws.uniform() < 0.5;
    const bool gold = draws.uniform() < 1.0 / 3.0;
    std::uint32_t free = 0;
    for (int slot = 0; slot < kSlots; ++slot) free += s.things[slot] == 0 ? 1u : 0u;
    if (free == 0) return;
    std::uint32_t left = draws.below(free);
    int slot = 0;
    while (s.things[slot] != 0 || left-- > 0) ++slot;
    s.things[slot] = static_cast<std::uint8_t>(kThere | (gold ? kGold : 0) |
                                               (to_the_right ? kToTheRight : minatar::kLast));
  }

  BROADLOOM_HD static void move_player(State& s, int taken) {
    if (taken == minatar::kLeft && s.player_column > 0) --s.player_column;
    if (taken == minatar::kRight && s.player_column < minatar::kLast) ++s.player_column;
    if (taken == minatar::kUp && s.player_row > 1) --s.player_row;
    if (taken == minatar::kDown && s.player_row < kSlots) ++s.player_row;
  }

  // Handles the thing in the player's cell: takes gold; an enemy ends the episode.
  BROADLOOM_HD static void meet(State& s, StepResult& result) {
    const int thing = s.things[s.player_row - 1];
    if (thing == 0 || (thing & kColumn) != s.player_column) return;
    if ((thing & kGold) == 0) {
      result.terminated = 1;
      return;
    }
    result.reward += 1.0;
    s.things[s.player_row - 1] = 0;
  }

  BROADLOOM_HD static void move_things(State& s) {
    for (int slot = 0; slot < kSlots; ++slot) {
      const int thing = s.things[slot];
      if (thing == 0) continue;
      const int column = (thing & kColumn) + ((thing & kToTheRight) != 0 ? 1 : -1);
      const bool gone = column < 0 || column > minatar::kLast;
      s.things[slot] = static_cast<std::uint8_t>(gone ? 0 : (thing & ~kColumn) | column);
    }
  }

  BROADLOOM_HD static void ramp(State& s) {
    if (s.spawn_speed <= 1 && s.move_speed <= 1) return;
    if (s.ramp_timer >= 0) {
      --s.ramp_timer;
      return;
    }
    if (s.move_speed > 1 && s.ramp_index % 2 != 0) --s.move_speed;
    if (s.spawn_speed > 1) --s.spawn_speed;
    ++s.ramp_index;
    s.ramp_timer = kRampInterval;
  }
};
static_assert(Environment<Asterix>);

}  // namespace broadloom
