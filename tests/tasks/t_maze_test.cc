// TMaze-v0: its sign, its rewards, and its two exact scores.
#include "broadloom/env/tasks/puzzles/t_maze.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

std::array<float, 3> shown_in_maze(const TMaze::Params& params, const TMaze::State& state) {
  std::array<float, 3> out{};
  TMaze::observe(params, state, out.data());
  return out;
}

StepResult take_in_maze(const TMaze::Params& params, TMaze::State& state, float action) {
  Random random(1, Purpose::kUser, 0, 0);
  return TMaze::step(params, state, &action, random);
}

TEST(TMaze, OnlyTheStartShowsTheGoal) {
  const TMaze::Params params{.length = 3};
  for (int place = 0; place <= params.length; ++place) {
    const auto upper = shown_in_maze(params, {place, -1, 0}),
               lower = shown_in_maze(params, {place, 1, 0});
    EXPECT_EQ(upper == lower, place > 0) << "place " << place;
  }
  using Seen = std::array<float, 3>;
  EXPECT_EQ(shown_in_maze(params, {0, -1, 0}), (Seen{1, 1, 0}));
  EXPECT_EQ(shown_in_maze(params, {1, -1, 0}), (Seen{1, 0, 1}));
  EXPECT_EQ(shown_in_maze(params, {3, -1, 0}), (Seen{0, 1, 0}));
}

TEST(TMaze, PaysForTheArmOfTheSign) {
  const TMaze::Params params{.length = 2};
  for (const int goal : {-1, 1}) {
    for (const int turn : {0, 2}) {  // up, down
      TMaze::State state{0, goal, 0};
      EXPECT_EQ(take_in_maze(params, state, 3.0f).reward, -0.1) << "a wall";
      EXPECT_EQ(take_in_maze(params, state, 1.0f).reward, 0.0);
      EXPECT_EQ(take_in_maze(params, state, 0.0f).reward, -0.1) << "a wall";
      EXPECT_EQ(take_in_maze(params, state, 1.0f).reward, 0.0);
      EXPECT_EQ(take_in_maze(params, state, 1.0f).reward, -0.1) << "a wall";
      const StepResult last = take_in_maze(params, state, static_cast<float>(turn));
      const bool is_right = turn - 1 == goal;
      EXPECT_TRUE(last.terminated);
      EXPECT_EQ(last.reward, is_right ? 4.0 : -0.1);
      EXPECT_EQ(TMaze::success(params, state, true, false), is_right);
      EXPECT_EQ(TMaze::end_reason(params, state), is_right ? 0 : 1);
    }
  }
}

// The mean return of uniformly random actions, from the probabilities of the places.
TEST(TMaze, RandomPlayHasTheScoreOfTheSpec) {
  const TMaze::Params params;
  const EnvSpec spec = TMaze::spec(params);
  std::vector<double> places(static_cast<std::size_t>(params.length) + 1);
  places[0] = 1.0;
  double mean = 0.0;
  for (int t = 0; t < spec.max_episode_steps; ++t) {
    std::vector<double> next(places.size());
    for (std::size_t place = 0; place < places.size(); ++place) {
      for (int action = 0; action < TMaze::kActions; ++action) {
        TMaze::State state{static_cast<int>(place), 1, 0};
        const StepResult result = take_in_maze(params, state, static_cast<float>(action));
        mean += places[place] / TMaze::kActions * result.reward;
        if (result.terminated) continue;
        next[static_cast<std::size_t>(state.place)] += places[place] / TMaze::kActions;
      }
    }
    places = next;
  }
  EXPECT_NEAR(spec.random_score, mean, 1e-8);
  EXPECT_EQ(spec.reference_score, 4.0);
}

}  // namespace
}  // namespace broadloom
