// Seaquest of MinAtar 1.0.15: a submarine takes divers on board and shoots fish and submarines. It
// must come up with a diver before its oxygen runs out.
#pragma once

#include <array>
#include <tuple>

#include "broadloom/env/tasks/minatar/minatar.h"
#include "broadloom/env/tasks/minatar/swimmers.h"

namespace broadloom {

struct Seaquest {
  // Front and back of the submarine, its bullets, trails, enemy bullets, fish, enemy submarines,
  // oxygen gauge, divers on board, divers in the water.
  static constexpr int kPlanes = 10;
  static constexpr minatar::ActionSet kMinimal =
      minatar::action_set(minatar::kStay, minatar::kLeft, minatar::kUp, minatar::kRight,
                          minatar::kDown, minatar::kFire);

  // The constants below bound the number of each kind in a game that began with reset().
  //
  // Enemies: one comes every s steps and moves every m + 1 steps, so it stays 10 (m + 1) steps.
  // After the submarine came up k times, s = max(20 - k, 1) and m = max(5 - k / 2, 2). With k = 19
  // for 30 steps there are 30 enemies; then the oldest leaves in each step. Enemies that started
  // with a larger m came when s was at least 15. They are gone by then, since each coming up takes
  // two steps. With m = 3 they stay at most 40 steps and came at least 58 ago; with m = 4 and 5,
  // they stay 50 and 60 steps and came 62 and 66 ago. If k has been 19 for fewer than 30 steps,
  // fewer enemies have come.
  static constexpr int kMostEnemies = 30;
  // A submarine shoots every 11 steps, and a bullet stays at most 10. If submarines come every step
  // and stay 30, two shoot at a time.
  static constexpr int kMostEnemyBullets = 20;
  // One comes every 30 steps and stays for 60.
  static constexpr int kMostDivers = 2;
  // One every 5 steps, for 10 steps.
  static constexpr int kMostBullets = 2;

  using Params = minatar::Params;
  using Options = minatar::RampingOptions;
  struct State {
    std::int16_t row, column, to_the_right;  // of the submarine
    std::int16_t oxygen;                     // 200 is full
    std::int32_t divers_on_board;            // can be negative, see come_up()
    std::int16_t surfaced;                   // 1 while at the surface after coming up
    std::int16_t shot_timer;
    std::int16_t spawn_speed, spawn_timer;  // steps between enemies
    std::int16_t diver_timer;               // steps until the next diver
    std::int16_t move_speed;                // steps between moves of new enemies
    std::int16_t ramp_index;                // how often it got harder
    std::int16_t bullet_count, enemy_bullet_count, fish_count, sub_count, diver_count;
    std::array<std::uint16_t, kMostBullets> bullets;
    std::array<std::uint16_t, kMostEnemyBullets> enemy_bullets;
    std::array<std::uint16_t, kMostEnemies> fish, subs;
    std::array<std::uint16_t, kMostDivers> divers;
    std::int16_t ended_by;  // index of end_reasons
    std::int16_t last_action;
  };
  static constexpr auto members = std::tuple{&State::row,
                                             &State::column,
                                             &State::to_the_right,
                                             &State::oxygen,
                                             &State::divers_on_board,
                                             &State::surfaced,
                                             &State::shot_timer,
                                             &State::spawn_speed,
                                             &State::spawn_timer,
                                             &State::diver_timer,
                                             &State::move_speed,
                                             &State::ramp_index,
                                             &State::bullet_count,
                                             &State::enemy_bullet_count,
                                             &State::fish_count,
                                             &State::sub_count,
                                             &State::diver_count,
                                             &State::bullets,
                                             &State::enemy_bullets,
                                             &State::fish,
                                             &State::subs,
                                             &State::divers,
                                             &State::ended_by,
                                             &State::last_action};
  static constexpr auto kept = std::tuple{&State::last_action};

  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::row, 0, kLowest);
    ranges.add(&State::column, 0, minatar::kLast);
    ranges.add(&State::to_the_right, 0, 1);
    ranges.add(&State::oxygen, 0, kFullOxygen);
    ranges.add(&State::divers_on_board, -(1 << 30), kAllDivers);  // coming up subtracts 1
    ranges.add(&State::surfaced, 0, 1);
    ranges.add(&State::shot_timer, 0, kShotInterval);
    ranges.add(&State::spawn_speed, 1, kFirstSpawnSpeed);
    ranges.add(&State::spawn_timer, 0, kFirstSpawnSpeed);
    ranges.add(&State::diver_timer, 0, kDiverInterval);
    ranges.add(&State::move_speed, 2, kFirstMoveSpeed);
    ranges.add(&State::ramp_index, 0, kFirstSpawnSpeed + kFirstMoveSpeed);  // speeds stop
    add_list(&State::bullet_count, &State::bullets, kMostBullets, ranges);
    add_list(&State::enemy_bullet_count, &State::enemy_bullets, kMostEnemyBullets, ranges);
    add_list(&State::fish_count, &State::fish, kMostEnemies, ranges);
    add_list(&State::sub_count, &State::subs, kMostEnemies, ranges);
    add_list(&State::diver_count, &State::divers, kMostDivers, ranges);
    ranges.add(&State::ended_by, 0, kWithoutDiver);
    minatar::add_last_action(ranges);
  }

  static constexpr std::array end_reasons{"hit", "out_of_oxygen", "surfaced_without_diver"};

  static constexpr int kFullOxygen = 200, kAllDivers = 6;

  static Result<Params> make_params(const Options& options) { return minatar::params_of(options); }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec = minatar::spec_of("Seaquest", "seaquest.py", kPlanes, kMinimal, p);
    spec.reward_terms = {{"enemy", 1.0}, {"tenth_of_oxygen_left_with_six_divers", 1.0}};
    spec.summary = "MinAtar: shoot fish and submarines, save divers, come up for oxygen.";
    return spec;
  }

  template <class Draws>
  BROADLOOM_HD static void reset(const Params&, State& s, Draws&) {
    const std::int16_t last_action = s.last_action;
    s = {};
    s.last_action = last_action;
    s.column = 5;
    s.oxygen = kFullOxygen;
    s.surfaced = 1;
    s.spawn_speed = s.spawn_timer = kFirstSpawnSpeed;
    s.diver_timer = kDiverInterval;
    s.move_speed = kFirstMoveSpeed;
  }

  template <class Draws>
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Draws& draws) {
    const int taken = minatar::taken_action(p, kMinimal, action[0], s.last_action, draws);
    StepResult result{0.0, 0};
    spawn(s, draws);
    act(s, taken);
    move_bullets(s, result);
    move_divers(s);
    move_enemies(s, subs_of(s), true, result);
    move_enemy_bullets(s, result);
    move_enemies(s, fish_of(s), false, result);
    if (s.spawn_timer > 0) --s.spawn_timer;
    if (s.diver_timer > 0) --s.diver_timer;
    if (s.shot_timer > 0) --s.shot_timer;
    breathe(p, s, result);
    return result;
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, std::uint8_t* out) {
    const minatar::Picture<kPlanes> picture(out);
    picture.set(0, s.row, s.column);
    picture.set_within(1, s.row, s.column + (s.to_the_right ? -1 : 1));
    draw(picture, s.bullets.data(), s.bullet_count, 2, false);
    draw(picture, s.enemy_bullets.data(), s.enemy_bullet_count, 4, false);
    draw(picture, s.fish.data(), s.fish_count, 5, true);
    draw(picture, s.subs.data(), s.sub_count, 6, true);
    draw(picture, s.divers.data(), s.diver_count, 9, true);
    const int tenths = s.oxygen * minatar::kSide / kFullOxygen;
    for (int i = 0; i < tenths; ++i) picture.set(7, minatar::kLast, i);
    for (int i = 1; i <= s.divers_on_board; ++i) picture.set(8, minatar::kLast, minatar::kLast - i);
  }

  BROADLOOM_HD static int end_reason(const Params&, const State& last) { return last.ended_by; }

 private:
  enum Ending : std::int16_t { kHit, kOutOfOxygen, kWithoutDiver };
  static constexpr int kTrail = 3;  // plane
  static constexpr std::int16_t kShotInterval = 5, kEnemyShotInterval = 10;
  static constexpr std::int16_t kDiverInterval = 30, kDiverMoveInterval = 5;
  static constexpr std::int16_t kFirstSpawnSpeed = 20, kFirstMoveSpeed = 5;
  static constexpr int kLowest = 8;  // lowest row of swimmers; 0 is the surface

  template <class Codes>
  static void add_list(std::int16_t State::*count, Codes State::*codes, int most,
                       StateRanges<State>& ranges) {
    ranges.add(count, 0, most);
    minatar::Swimmer::add_ranges(codes, kLowest, ranges);
  }

  BROADLOOM_HD static minatar::Swimmers bullets_of(State& s) {
    return {s.bullets.data(), s.bullet_count, kMostBullets};
  }
  BROADLOOM_HD static minatar::Swimmers enemy_bullets_of(State& s) {
    return {s.enemy_bullets.data(), s.enemy_bullet_count, kMostEnemyBullets};
  }
  BROADLOOM_HD static minatar::Swimmers fish_of(State& s) {
    return {s.fish.data(), s.fish_count, kMostEnemies};
  }
  BROADLOOM_HD static minatar::Swimmers subs_of(State& s) {
    return {s.subs.data(), s.sub_count, kMostEnemies};
  }
  BROADLOOM_HD static minatar::Swimmers divers_of(State& s) {
    return {s.divers.data(), s.diver_count, kMostDivers};
  }

  // If several endings happen in one step, the first one counts.
  BROADLOOM_HD static void end(State& s, Ending ending, StepResult& result) {
    if (!result.terminated) s.ended_by = ending;
    result.terminated = 1;
  }

  template <class Draws>
  BROADLOOM_HD static minatar::Swimmer draw_row(bool to_the_right, Draws& draws) {
    const int row = 1 + static_cast<int>(draws.below(kLowest));
    return {row, to_the_right ? 0 : minatar::kLast, to_the_right, 0, 0};
  }

  template <class Draws>
  BROADLOOM_HD static void spawn(State& s, Draws& draws) {
    if (s.spawn_timer == 0) {
      spawn_enemy(s, draws);
      s.spawn_timer = s.spawn_speed;
    }
    if (s.diver_timer == 0) {
      const bool to_the_right = draws.uniform() < 0.5;
      minatar::Swimmer diver = draw_row(to_the_right, draws);
      diver.move_timer = kDiverMoveInterval;
      divers_of(s).add(diver);
      s.diver_timer = kDiverInterval;
    }
  }

  // Spawns an enemy, unless another one on its row moves in the other direction.
  template <class Draws>
  BROADLOOM_HD static void spawn_enemy(State& s, Draws& draws) {
    const bool to_the_right = draws.uniform() < 0.5;
    const bool is_sub = draws.uniform() < 1.0 / 3.0;
    minatar::Swimmer enemy = draw_row(to_the_right, draws);
    minatar::Swimmers subs = subs_of(s), fish = fish_of(s);
    if (meets_another(subs, enemy) || meets_another(fish, enemy)) return;
    enemy.move_timer = s.move_speed;
    if (is_sub) enemy.shot_timer = kEnemyShotInterval;
    (is_sub ? subs : fish).add(enemy);
  }
  BROADLOOM_HD static bool meets_another(const minatar::Swimmers& others,
                                         const minatar::Swimmer& enemy) {
    for (int i = 0; i < others.size(); ++i) {
      const minatar::Swimmer other = others.at(i);
      if (other.row == enemy.row && other.to_the_right != enemy.to_the_right) return true;
    }
    return false;
  }

  BROADLOOM_HD static void act(State& s, int taken) {
    if (taken == minatar::kFire && s.shot_timer == 0) {
      bullets_of(s).add({s.row, s.column, s.to_the_right != 0, 0, 0});
      s.shot_timer = kShotInterval;
    } else if (taken == minatar::kLeft) {
      if (s.column > 0) --s.column;
      s.to_the_right = 0;
    } else if (taken == minatar::kRight) {
      if (s.column < minatar::kLast) ++s.column;
      s.to_the_right = 1;
    } else if (taken == minatar::kUp) {
      if (s.row > 0) --s.row;
    } else if (taken == minatar::kDown) {
      if (s.row < kLowest) ++s.row;
    }
  }

  // As upstream, all lists are processed from last to first.
  BROADLOOM_HD static void move_bullets(State& s, StepResult& result) {
    minatar::Swimmers bullets = bullets_of(s), fish = fish_of(s), subs = subs_of(s);
    for (int i = bullets.size() - 1; i >= 0; --i) {
      minatar::Swimmer bullet = bullets.at(i);
      bullet.move();
      bullets.set(i, bullet);
      if (bullet.is_out()) {
        bullets.remove_equal(i);
      } else if (remove_hit(fish, bullet) || remove_hit(subs, bullet)) {
        bullets.remove_equal(i);
        result.reward += 1.0;
      }
    }
  }
  // Removes the first swimmer in the cell of `other`. False if there is none.
  BROADLOOM_HD static bool remove_hit(minatar::Swimmers& list, const minatar::Swimmer& other) {
    const int found = list.find(other.row, other.column);
    if (found == minatar::Swimmers::kGone) return false;
    list.remove(found);
    return true;
  }

  BROADLOOM_HD static bool is_at_sub(const State& s, const minatar::Swimmer& swimmer) {
    return swimmer.is_at(s.row, s.column);
  }

  BROADLOOM_HD static void move_divers(State& s) {
    minatar::Swimmers divers = divers_of(s);
    for (int i = divers.size() - 1; i >= 0; --i) {
      minatar::Swimmer diver = divers.at(i);
      if (take_on_board(s, divers, i, diver)) continue;
      if (diver.move_timer > 0) {
        --diver.move_timer;
        divers.set(i, diver);
        continue;
      }
      diver.move_timer = kDiverMoveInterval;
      diver.move();
      divers.set(i, diver);
      if (diver.is_out()) {
        divers.remove_equal(i);
      } else {
        take_on_board(s, divers, i, diver);
      }
    }
  }
  BROADLOOM_HD static bool take_on_board(State& s, minatar::Swimmers& divers, int place,
                                         const minatar::Swimmer& diver) {
    if (!is_at_sub(s, diver) || s.divers_on_board >= kAllDivers) return false;
    ++s.divers_on_board;
    divers.remove_equal(place);
    return true;
  }

  // Moves fish, or submarines, which shoot. A submarine that leaves in this step still shoots.
  BROADLOOM_HD static void move_enemies(State& s, minatar::Swimmers enemies, bool shoot,
                                        StepResult& result) {
    minatar::Swimmers bullets = bullets_of(s), enemy_bullets = enemy_bullets_of(s);
    for (int i = enemies.size() - 1; i >= 0; --i) {
      minatar::Swimmer enemy = enemies.at(i);
      if (is_at_sub(s, enemy)) end(s, kHit, result);
      int place = i;
      if (enemy.move_timer > 0) {
        --enemy.move_timer;
        enemies.set(i, enemy);
      } else {
        enemy.move_timer = s.move_speed;
        enemy.move();
        enemies.set(i, enemy);
        if (enemy.is_out()) {
          place = enemies.remove_equal(i);
        } else if (is_at_sub(s, enemy)) {
          end(s, kHit, result);
        } else if (remove_hit(bullets, enemy)) {
          place = enemies.remove_equal(i);
          result.reward += 1.0;
        }
      }
      if (!shoot) continue;
      if (enemy.shot_timer > 0) {
        --enemy.shot_timer;
      } else {
        enemy.shot_timer = kEnemyShotInterval;
        enemy_bullets.add({enemy.row, enemy.column, enemy.to_the_right, 0, 0});
      }
      if (place != minatar::Swimmers::kGone) enemies.set(place, enemy);
    }
  }

  BROADLOOM_HD static void move_enemy_bullets(State& s, StepResult& result) {
    minatar::Swimmers bullets = enemy_bullets_of(s);
    for (int i = bullets.size() - 1; i >= 0; --i) {
      minatar::Swimmer bullet = bullets.at(i);
      if (is_at_sub(s, bullet)) end(s, kHit, result);
      bullet.move();
      bullets.set(i, bullet);
      if (bullet.is_out()) {
        bullets.remove_equal(i);
      } else if (is_at_sub(s, bullet)) {
        end(s, kHit, result);
      }
    }
  }

  BROADLOOM_HD static void breathe(const Params& p, State& s, StepResult& result) {
    if (s.oxygen <= 0) end(s, kOutOfOxygen, result);
    if (s.row > 0) {
      --s.oxygen;
      s.surfaced = 0;
    } else if (!s.surfaced) {
      come_up(p, s, result);
    }
  }

  // Coming up costs a diver. With six divers, the reward is the remaining oxygen, and all leave. As
  // upstream, one more is then subtracted, so -1 are on board. Coming up is free while the number
  // is negative.
  BROADLOOM_HD static void come_up(const Params& p, State& s, StepResult& result) {
    if (s.divers_on_board == 0) return end(s, kWithoutDiver, result);
    s.surfaced = 1;
    if (s.divers_on_board == kAllDivers) {
      s.divers_on_board = 0;
      const int tenths = s.oxygen * 10 / kFullOxygen;
      result.reward += tenths;
    }
    s.oxygen = kFullOxygen;
    --s.divers_on_board;
    if (p.difficulty_ramping) ramp(s);
  }

  BROADLOOM_HD static void ramp(State& s) {
    if (s.spawn_speed <= 1 && s.move_speed <= 2) return;
    if (s.move_speed > 2 && s.ramp_index % 2 != 0) --s.move_speed;
    if (s.spawn_speed > 1) --s.spawn_speed;
    ++s.ramp_index;
  }

  // Draws `count` swimmers into a plane, and their trails into the plane of trails.
  BROADLOOM_HD static void draw(const minatar::Picture<kPlanes>& picture,
                                const std::uint16_t* codes, int count, int plane, bool trail) {
    for (int i = 0; i < count; ++i) {
      const minatar::Swimmer swimmer = minatar::Swimmer::decode(codes[i]);
      picture.set_within(plane, swimmer.row, swimmer.column);
      if (trail) {
        picture.set_within(kTrail, swimmer.row, swimmer.column + (swimmer.to_the_right ? -1 : 1));
      }
    }
  }
};
static_assert(Environment<Seaquest>);

}  // namespace broadloom
