// MinAtar's games beyond golden trajectories: action sets, sticky actions, options, ends, and
// bounds of the lists in Seaquest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "tests/tasks/minatar_play.h"

namespace broadloom {
namespace {

template <class Game>
std::vector<std::uint8_t> picture_of(const typename Game::State& state) {
  std::vector<std::uint8_t> picture(minatar::Picture<Game::kPlanes>::kSize);
  Game::observe({}, state, picture.data());
  return picture;
}

template <class Game>
StepResult play(typename Game::State& state, int action, const typename Game::Params& params = {},
                std::uint64_t seed = 3) {
  ScriptedDraws draws(seed);
  const float number = static_cast<float>(action);
  return Game::step(params, state, &number, draws);
}

template <class Game>
typename Game::State begun() {
  ScriptedDraws draws(7);
  typename Game::State state{};
  Game::reset({}, state, draws);
  return state;
}

template <class Game>
typename Game::Params without_sticky() {
  typename Game::Params params;
  params.sticky_action_prob = 0.0;
  return params;
}

template <class Game>
class MinAtar : public ::testing::Test {};
using Games = ::testing::Types<Breakout, Asterix, Freeway, Seaquest, SpaceInvaders>;
TYPED_TEST_SUITE(MinAtar, Games);

TYPED_TEST(MinAtar, ItsMinimalActionsAreThoseOfTheSix) {
  typename TypeParam::Params six = without_sticky<TypeParam>(), few = six;
  few.use_minimal_action_set = true;
  EXPECT_EQ(TypeParam::spec(six).action.size, 6);
  EXPECT_EQ(TypeParam::spec(few).action.size, minatar::count_of(TypeParam::kMinimal));
  for (int i = 0; i < minatar::count_of(TypeParam::kMinimal); ++i) {
    typename TypeParam::State a = begun<TypeParam>(), b = a;
    for (int t = 0; t < 4; ++t) {
      play<TypeParam>(a, i, few);
      play<TypeParam>(b, minatar::action_of(TypeParam::kMinimal, i), six);
    }
    EXPECT_EQ(a.last_action, minatar::action_of(TypeParam::kMinimal, i));
    EXPECT_EQ(picture_of<TypeParam>(a), picture_of<TypeParam>(b)) << i;
  }
}

// With probability 1, the first action repeats forever.
TYPED_TEST(MinAtar, SticksToTheActionTakenBefore) {
  typename TypeParam::Params params;
  params.sticky_action_prob = 1.0;
  for (const int first : {0, 4}) {
    typename TypeParam::State asked = begun<TypeParam>();
    asked.last_action = static_cast<std::int16_t>(first);
    typename TypeParam::State taken = asked;
    for (int t = 0; t < 10; ++t) {
      const StepResult step = play<TypeParam>(asked, t % 6, params);
      play<TypeParam>(taken, first, params);
      if (step.terminated != 0) break;
    }
    EXPECT_EQ(asked.last_action, first);
    EXPECT_EQ(picture_of<TypeParam>(asked), picture_of<TypeParam>(taken));
  }
}

TYPED_TEST(MinAtar, AResetLeavesTheLastAction) {
  typename TypeParam::State state = begun<TypeParam>();
  play<TypeParam>(state, 3, without_sticky<TypeParam>());
  ScriptedDraws draws(7);
  TypeParam::reset({}, state, draws);
  EXPECT_EQ(state.last_action, 3);
  EXPECT_EQ(picture_of<TypeParam>(state), picture_of<TypeParam>(begun<TypeParam>()));
}

TYPED_TEST(MinAtar, SaysWhatItIs) {
  const EnvSpec spec = TypeParam::spec({});
  EXPECT_EQ(spec.observation.extents(), (std::vector<int>{10, 10, TypeParam::kPlanes}));
  EXPECT_EQ(spec.observation.full_scale(), 1.0f);
  EXPECT_EQ(spec.max_episode_steps, 0);
  const std::string minimal = spec.id.substr(0, spec.id.size() - 1) + "1";
  EXPECT_EQ(env_spec(spec.id, {}).value().action.size, 6);
  EXPECT_EQ(env_spec(minimal, {}).value().action.size, minatar::count_of(TypeParam::kMinimal));
  EXPECT_EQ(env_spec(minimal, {{"use_minimal_action_set", "false"}}).value().action.size, 6);
  EXPECT_EQ(env_spec(spec.id, {{"sticky_action_prob", "1.5"}}).status().kind(),
            ErrorKind::kInvalidConfig);
}

// Draws that must not be used.
struct NoDraws {
  double uniform() {
    ADD_FAILURE() << "a number was drawn";
    return 0.0;
  }
  std::uint32_t below(std::uint32_t) { return static_cast<std::uint32_t>(uniform()); }
};

TEST(MinAtarChance, IsUnusedInSpaceInvadersWithoutStickyActions) {
  SpaceInvaders::State state{};
  NoDraws draws;
  SpaceInvaders::reset({}, state, draws);
  for (int t = 0; t < 300; ++t) {
    const float action = static_cast<float>(t % 6);
    if (!SpaceInvaders::step(without_sticky<SpaceInvaders>(), state, &action, draws).terminated) {
      continue;
    }
    SpaceInvaders::reset({}, state, draws);
  }
}

// With an invulnerable player, intervals fall to 1 if the game gets harder, and stay otherwise.
TEST(MinAtarRamping, OfAsterix) {
  for (const bool ramping : {true, false}) {
    Asterix::Params params = without_sticky<Asterix>();
    params.difficulty_ramping = ramping;
    Asterix::State state = begun<Asterix>();
    for (int t = 0; t < 102 * 9; ++t) play<Asterix>(state, 0, params, 100u + t);
    EXPECT_EQ(state.spawn_speed, ramping ? 1 : 10);
    EXPECT_EQ(state.move_speed, ramping ? 1 : 5);
  }
}

TEST(MinAtarRamping, OfSpaceInvadersWithItsWaves) {
  for (const bool ramping : {true, false}) {
    SpaceInvaders::Params params = without_sticky<SpaceInvaders>();
    params.difficulty_ramping = ramping;
    SpaceInvaders::State state = begun<SpaceInvaders>();
    for (int wave = 0; wave < 8; ++wave) {
      state.aliens = state.bullets = state.alien_bullets = {};
      minatar::put(state.aliens, 4, 2);
      minatar::put(state.bullets, 5, 2);
      state.move_timer = state.alien_shot_timer = 3;
      EXPECT_EQ(play<SpaceInvaders>(state, 0, params).reward, 1.0);
      EXPECT_EQ(minatar::count(state.aliens), 24);
      EXPECT_FALSE(minatar::any(state.bullets));
    }
    EXPECT_EQ(state.move_interval, ramping ? 6 : 12);
  }
}

TEST(MinAtarEnds, OfSpaceInvaders) {
  const auto ended_by = [](SpaceInvaders::State state) {
    EXPECT_EQ(play<SpaceInvaders>(state, 0, without_sticky<SpaceInvaders>()).terminated, 1);
    return std::string(SpaceInvaders::end_reasons.at(SpaceInvaders::end_reason({}, state)));
  };
  SpaceInvaders::State hit = begun<SpaceInvaders>();
  minatar::put(hit.alien_bullets, 8, hit.cannon);
  EXPECT_EQ(ended_by(hit), "hit_by_bullet");
  SpaceInvaders::State reached = begun<SpaceInvaders>();
  minatar::put(reached.aliens, 9, reached.cannon);
  EXPECT_EQ(ended_by(reached), "reached_by_alien");
  SpaceInvaders::State landed = begun<SpaceInvaders>();
  landed.move_timer = 0;
  minatar::put(landed.aliens, 9, 0);
  EXPECT_EQ(ended_by(landed), "aliens_landed");
}

TEST(MinAtarEnds, OfSeaquest) {
  const auto ended_by = [](Seaquest::State state) {
    EXPECT_EQ(play<Seaquest>(state, 0, without_sticky<Seaquest>()).terminated, 1);
    return std::string(Seaquest::end_reasons.at(Seaquest::end_reason({}, state)));
  };
  Seaquest::State hit = begun<Seaquest>();
  hit.row = 3;
  hit.fish[0] = minatar::Swimmer{3, 5, true, 4, 0}.code();
  hit.fish_count = 1;
  EXPECT_EQ(ended_by(hit), "hit");
  Seaquest::State empty = begun<Seaquest>();
  empty.row = 3;
  empty.oxygen = 0;
  EXPECT_EQ(ended_by(empty), "out_of_oxygen");
  Seaquest::State alone = begun<Seaquest>();
  alone.surfaced = 0;
  EXPECT_EQ(ended_by(alone), "surfaced_without_diver");
}

TEST(Seaquest, PaysTheOxygenForSixDiversAndLeavesMinusOne) {
  Seaquest::State state = begun<Seaquest>();
  state.surfaced = 0;
  state.divers_on_board = 6;
  state.oxygen = 119;
  const StepResult result = play<Seaquest>(state, 0, without_sticky<Seaquest>());
  EXPECT_EQ(result.reward, 5.0);
  EXPECT_EQ(result.terminated, 0);
  EXPECT_EQ(state.divers_on_board, -1);
  EXPECT_EQ(state.oxygen, 200);
  EXPECT_EQ(state.spawn_speed, 19);
}

TEST(Seaquest, RemovesTheFirstOfEqualSwimmers) {
  std::array<std::uint16_t, 4> codes{};
  std::int16_t count = 0;
  minatar::Swimmers list(codes.data(), count, 4);
  const minatar::Swimmer one{2, 9, true, 0, 0}, other{3, 4, false, 1, 0};
  for (const minatar::Swimmer& swimmer : {one, other, one, other}) list.add(swimmer);
  EXPECT_EQ(list.remove_equal(2), 1);  // its new place
  EXPECT_EQ(codes[0], other.code());
  EXPECT_EQ(codes[1], one.code());
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(list.remove_equal(1), minatar::Swimmers::kGone);
  EXPECT_EQ(list.size(), 2);
  list.add(one);
  list.add(one);
  list.add(other);  // beyond the capacity
  EXPECT_EQ(list.size(), 4);
  EXPECT_EQ(codes[3], one.code());
}

// Draws by which everything comes from the left, on rows 2 to 8. 0.25 makes a submarine, 0.4 a
// fish.
struct FromTheLeft {
  double number;
  std::uint32_t next = 0;
  double uniform() { return number; }
  std::uint32_t below(std::uint32_t) { return 1 + next++ % 7; }
};

// The largest number of each kind.
struct Most {
  int fish = 0, subs = 0, enemy_bullets = 0, bullets = 0, divers = 0;
};

// Checks that the last of a list is new: at the left edge, one step closer to its first move.
void expect_just_come(const std::uint16_t* codes, int count, int timer) {
  ASSERT_GT(count, 0);
  const minatar::Swimmer last = minatar::Swimmer::decode(codes[count - 1]);
  EXPECT_EQ(last.column, 0);
  EXPECT_EQ(last.move_timer, timer - 1);
}

// The invulnerable submarine goes down and up again, as fast as the game can get harder.
Most play_for_most(double number) {
  Seaquest::Params params = without_sticky<Seaquest>();
  Seaquest::State s = begun<Seaquest>();
  s.divers_on_board = -1;
  FromTheLeft draws{number};
  Most most;
  for (int t = 0; t < 400; ++t) {
    const bool comes = s.spawn_timer == 0, diver_comes = s.diver_timer == 0;
    const int speed = s.move_speed;
    const float action = t % 2 == 0 ? minatar::kDown : minatar::kUp;
    Seaquest::step(params, s, &action, draws);
    // Checks that none was ignored.
    const bool fish = number > 1.0 / 3.0;
    if (comes && fish) expect_just_come(s.fish.data(), s.fish_count, speed);
    if (comes && !fish) expect_just_come(s.subs.data(), s.sub_count, speed);
    if (diver_comes) expect_just_come(s.divers.data(), s.diver_count, 5);
    most.fish = std::max<int>(most.fish, s.fish_count);
    most.subs = std::max<int>(most.subs, s.sub_count);
    most.enemy_bullets = std::max<int>(most.enemy_bullets, s.enemy_bullet_count);
    most.divers = std::max<int>(most.divers, s.diver_count);
  }
  EXPECT_EQ(s.spawn_speed, 1);
  EXPECT_EQ(s.move_speed, 2);
  return most;
}

TEST(Seaquest, HasRoomForAllSwimmers) {
  const Most fish = play_for_most(0.4), subs = play_for_most(0.25);
  // Counted after a step. Within it, a new one comes before the oldest leaves.
  EXPECT_EQ(fish.fish + 1, Seaquest::kMostEnemies);
  EXPECT_EQ(fish.subs, 0);
  EXPECT_EQ(subs.subs + 1, Seaquest::kMostEnemies);
  EXPECT_EQ(fish.divers, Seaquest::kMostDivers);
  EXPECT_GT(subs.enemy_bullets, 5);
  EXPECT_LE(subs.enemy_bullets + 2, Seaquest::kMostEnemyBullets);  // two shots per step
}

TEST(Seaquest, HasRoomForItsBullets) {
  Seaquest::Params params = without_sticky<Seaquest>();
  Seaquest::State s = begun<Seaquest>();
  FromTheLeft draws{0.4};
  s.column = 0;
  s.to_the_right = 1;
  int most = 0;
  for (int t = 0; t < 60; ++t) {
    const bool shoots = s.shot_timer == 0;
    const float action = minatar::kFire;
    Seaquest::step(params, s, &action, draws);
    if (shoots) {
      ASSERT_GT(s.bullet_count, 0);
      EXPECT_EQ(minatar::Swimmer::decode(s.bullets[s.bullet_count - 1]).column, 1);
    }
    most = std::max<int>(most, s.bullet_count);
  }
  EXPECT_EQ(most, Seaquest::kMostBullets);
}

}  // namespace
}  // namespace broadloom
