// Turntable-v0: its rules, its scores, and that neither half of the observation suffices.
#include "broadloom/env/tasks/puzzles/turntable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

std::vector<Turntable::State> all_states() {
  std::vector<Turntable::State> states;
  for (int lamp = 0; lamp < Turntable::kCells; ++lamp) {
    for (int turns = 0; turns < Turntable::kQuarters; ++turns) states.push_back({lamp, turns});
  }
  return states;
}

std::vector<float> seen(const Turntable::State& state) {
  std::vector<float> out(Turntable::kObservationSize);
  Turntable::observe({}, state, out.data());
  return out;
}

double reward(Turntable::State state, int choice) {
  const float action = static_cast<float>(choice);
  Random random(1, Purpose::kUser, 0, 0);
  return Turntable::step({}, state, &action, random).reward;
}

// The mean reward of the best choice for each part [begin, end) of the observation, over all
// states, which are equally likely.
double best_mean_reward(std::size_t begin, std::size_t end) {
  std::map<std::vector<float>, std::array<double, 4>> sums;
  for (const Turntable::State& state : all_states()) {
    const std::vector<float> whole = seen(state);
    std::array<double, 4>& sum = sums[{whole.begin() + begin, whole.begin() + end}];
    for (int choice = 0; choice < 4; ++choice) sum[choice] += reward(state, choice);
  }
  double best = 0.0;
  for (const auto& [part, sum] : sums) best += *std::max_element(sum.begin(), sum.end());
  return best / static_cast<double>(all_states().size());
}

TEST(Turntable, NeedsTheImageAndTheVector) {
  const EnvSpec spec = Turntable::spec({});
  EXPECT_EQ(best_mean_reward(0, Turntable::kCells), 0.25);
  EXPECT_EQ(best_mean_reward(Turntable::kCells, Turntable::kObservationSize), 0.25);
  EXPECT_EQ(best_mean_reward(0, Turntable::kObservationSize), 1.0);
  EXPECT_EQ(spec.random_score, 0.25 * spec.max_episode_steps);
  EXPECT_EQ(spec.reference_score, 1.0 * spec.max_episode_steps);
}

// The quarter in which a lamp ends if the table is turned about its middle, by the coordinates of
// the cell's centre.
TEST(Turntable, TurnsClockwise) {
  for (const Turntable::State& state : all_states()) {
    double x = state.lamp % 6 - 2.5, y = 2.5 - state.lamp / 6;  // y points up
    for (int turn = 0; turn < state.turns; ++turn) {
      const double old_x = x;
      x = y;
      y = -old_x;
    }
    const int quarter = y > 0.0 ? (x < 0.0 ? 0 : 1) : (x > 0.0 ? 2 : 3);
    for (int choice = 0; choice < 4; ++choice) {
      EXPECT_EQ(reward(state, choice), choice == quarter ? 1.0 : 0.0)
          << state.lamp << " turned " << state.turns;
    }
  }
}

TEST(Turntable, ShowsTheLampAndTheDirection) {
  const std::vector<float> out = seen({.lamp = 9, .turns = 3});
  EXPECT_EQ(std::count(out.begin(), out.begin() + 36, 0.0f), 35);
  EXPECT_EQ(out[9], 255.0f);
  EXPECT_EQ(out[36], 0.0f);
  EXPECT_EQ(out[37], -1.0f);
}

TEST(Turntable, DrawsEachStateEquallyOften) {
  std::map<std::pair<int, int>, int> counts;
  Turntable::State state{};
  for (std::uint32_t i = 0; i < 14400; ++i) {
    Random random(7, Purpose::kUser, i, 0);
    Turntable::reset({}, state, random);
    ++counts[{state.lamp, state.turns}];
  }
  EXPECT_EQ(counts.size(), 144u);
  for (const auto& [place, count] : counts) EXPECT_NEAR(count, 100, 60);
}

}  // namespace
}  // namespace broadloom
