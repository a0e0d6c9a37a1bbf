// Space Invaders of MinAtar 1.0.15: a cannon on the lowest row shoots at waves of aliens that come
// down and shoot back.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/env/tasks/minatar/cells.h"
#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom {

struct SpaceInvaders {
  // Cannon, alien, alien moving left, alien moving right, the cannon's bullet, an alien's bullet.
  static constexpr int kPlanes = 6;
  static constexpr minatar::ActionSet kMinimal =
      minatar::action_set(minatar::kStay, minatar::kLeft, minatar::kRight, minatar::kFire);

  using Params = minatar::Params;
  using Options = minatar::RampingOptions;
  struct State {
    minatar::Cells aliens, bullets, alien_bullets;
    std::int16_t cannon;         // its column
    std::int16_t heading;        // of all aliens: -1 left, 1 right
    std::int16_t move_interval;  // most steps between moves of the aliens
    std::int16_t move_timer, alien_shot_timer, shot_timer;
    std::int16_t ended_by;  // index of end_reasons
    std::int16_t last_action;
  };
  static constexpr auto members = std::tuple{
      &State::aliens,     &State::bullets,       &State::alien_bullets, &State::cannon,
      &State::heading,    &State::move_interval, &State::move_timer,    &State::alien_shot_timer,
      &State::shot_timer, &State::ended_by,      &State::last_action};
  static constexpr auto kept = std::tuple{&State::last_action};

  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    for (const auto cells : {&State::aliens, &State::bullets, &State::alien_bullets})
      ranges.add(cells, 0, minatar::kWordBits);
    ranges.add(&State::cannon, 0, minatar::kLast);
    ranges.add(&State::heading, -1, 1);
    ranges.add(&State::move_interval, kShortestInterval, kFirstInterval);
    ranges.add(&State::move_timer, 0, kFirstInterval);
    ranges.add(&State::alien_shot_timer, 0, kAlienShotInterval);
    ranges.add(&State::shot_timer, 0, kShotInterval);
    ranges.add(&State::ended_by, 0, kLanded);
    minatar::add_last_action(ranges);
  }

  static constexpr std::array end_reasons{"hit_by_bullet", "reached_by_alien", "aliens_landed"};

  static Result<Params> make_params(const Options& options) { return minatar::params_of(options); }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec = minatar::spec_of("SpaceInvaders", "space_invaders.py", kPlanes, kMinimal, p);
    spec.reward_terms = {{"alien", 1.0}};
    spec.summary = "MinAtar: shoot aliens that come down and shoot back, wave after wave.";
    return spec;
  }

  template <class Draws>
  BROADLOOM_HD static void reset(const Params&, State& s, Draws&) {
    s.aliens = {kWave, 0};
    s.bullets = s.alien_bullets = {};
    s.cannon = 5;
    s.heading = -1;
    s.move_interval = s.move_timer = kFirstInterval;
    s.alien_shot_timer = kAlienShotInterval;
    s.shot_timer = 0;
    s.ended_by = 0;
  }

  // Only sticky actions are random.
  template <class Draws>
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Draws& draws) {
    StepResult result{0.0, 0};
    act(s, minatar::taken_action(p, kMinimal, action[0], s.last_action, draws));
    s.bullets = minatar::up(s.bullets);
    s.alien_bullets = minatar::down(s.alien_bullets);
    if (minatar::has(s.alien_bullets, minatar::kLast, s.cannon)) end(s, kHit, result);
    if (minatar::has(s.aliens, minatar::kLast, s.cannon)) end(s, kReached, result);
    if (s.move_timer == 0) move_aliens(s, result);
    if (s.alien_shot_timer == 0) {
      s.alien_shot_timer = kAlienShotInterval;
      shoot_back(s);
    }
    const minatar::Cells shot = minatar::both(s.aliens, s.bullets);
    if (minatar::any(shot)) {
      result.reward = minatar::count(shot);
      minatar::take(s.aliens, shot);
      minatar::take(s.bullets, shot);
    }
    if (s.shot_timer > 0) --s.shot_timer;
    --s.move_timer;
    --s.alien_shot_timer;
    if (!minatar::any(s.aliens)) next_wave(p, s);
    return result;
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, std::uint8_t* out) {
    const minatar::Picture<kPlanes> picture(out);
    picture.set(0, minatar::kLast, s.cannon);
    minatar::draw<kPlanes>(s.aliens, out, 1);
    minatar::draw<kPlanes>(s.aliens, out, s.heading < 0 ? 2 : 3);
    minatar::draw<kPlanes>(s.bullets, out, 4);
    minatar::draw<kPlanes>(s.alien_bullets, out, 5);
  }

  BROADLOOM_HD static int end_reason(const Params&, const State& last) { return last.ended_by; }

 private:
  enum Ending : std::int16_t { kHit, kReached, kLanded };
  static constexpr std::int16_t kFirstInterval = 12, kShortestInterval = 6;
  static constexpr std::int16_t kShotInterval = 5, kAlienShotInterval = 10;
  // Rows 0 to 3, columns 2 to 7.
  static constexpr std::uint64_t kRowOfWave = 0xfc;
  static constexpr std::uint64_t kWave =
      kRowOfWave | kRowOfWave << 10 | kRowOfWave << 20 | kRowOfWave << 30;

  // If several endings happen in one step, the first one counts.
  BROADLOOM_HD static void end(State& s, Ending ending, StepResult& result) {
    if (!result.terminated) s.ended_by = ending;
    result.terminated = 1;
  }

  BROADLOOM_HD static void act(State& s, int taken) {
    if (taken == minatar::kLeft && s.cannon > 0) --s.cannon;
    if (taken == minatar::kRight && s.cannon < minatar::kLast) ++s.cannon;
    if (taken != minatar::kFire || s.shot_timer > 0) return;
    minatar::put(s.bullets, minatar::kLast, s.cannon);
    s.shot_timer = kShotInterval;
  }

  // Moves all aliens sideways. If one is at the edge, moves them down a row and turns them around.
  BROADLOOM_HD static void move_aliens(State& s, StepResult& result) {
    const int aliens = minatar::count(s.aliens);
    s.move_timer = static_cast<std::int16_t>(aliens < s.move_interval ? aliens : s.move_interval);
    if (minatar::any_in_column(s.aliens, s.heading < 0 ? 0 : minatar::kLast)) {
      s.heading = static_cast<std::int16_t>(-s.heading);
      const std::uint64_t landed = minatar::row_of(s.aliens, minatar::kLast);
      if (landed != 0) end(s, kLanded, result);
      s.aliens = minatar::down(s.aliens);
      s.aliens[0] |= landed;  // the last picture shows them at the top
    } else {
      s.aliens = s.heading < 0 ? minatar::left(s.aliens) : minatar::right(s.aliens);
    }
    if (minatar::has(s.aliens, minatar::kLast, s.cannon)) end(s, kReached, result);
  }

  // The lowest alien of the column nearest to the cannon shoots. On a tie, the left column.
  BROADLOOM_HD static void shoot_back(State& s) {
    for (int distance = 0; distance < minatar::kSide; ++distance) {
      for (const int column : {s.cannon - distance, s.cannon + distance}) {
        if (column < 0 || column > minatar::kLast) continue;
        if (!minatar::any_in_column(s.aliens, column)) continue;
        int row = minatar::kLast;
        while (!minatar::has(s.aliens, row, column)) --row;
        minatar::put(s.alien_bullets, row, column);
        return;
      }
    }
  }

  BROADLOOM_HD static void next_wave(const Params& p, State& s) {
    if (p.difficulty_ramping && s.move_interval > kShortestInterval) --s.move_interval;
    s.aliens = {kWave, 0};
  }
};
static_assert(Environment<SpaceInvaders>);

}  // namespace broadloom
