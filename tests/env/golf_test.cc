// Golf's scores, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/puzzles/golf.h"

namespace broadloom::golf_tests {
namespace {

double reward(const Golf::State& state, float club, float force, float aim) {
  const float action[] = {club, force, aim};
  Golf::State next = state;
  Random random(1, Purpose::kUser, 0, 0);
  return Golf::step({}, next, action, random).reward;
}

// One club reaches every hole, and the aim undoes every wind.
TEST(Golf, AlwaysHasAPerfectStrike) {
  for (int i = 0; i < 300; ++i) {
    const Golf::State state{i / 100.0, std::sin(i)};
    const int club = i / 100;
    const double force = 2.0 * (state.distance - club) - 1.0, aim = -state.wind * (club + 1) / 3.0;
    EXPECT_NEAR(
        reward(state, static_cast<float>(club), static_cast<float>(force), static_cast<float>(aim)),
        1.0, 1e-6);
  }
}

TEST(Golf, PaysLessFurtherAway) {
  const Golf::State state{1.5, 0.6};
  EXPECT_NEAR(reward(state, 1.0f, 0.0f, -0.4f), 1.0, 1e-6);
  EXPECT_NEAR(reward(state, 1.0f, 0.5f, -0.4f), 0.75, 1e-6);
  EXPECT_NEAR(reward(state, 1.0f, 0.0f, 0.0f), 0.6, 1e-6);
  EXPECT_NEAR(reward(state, 2.0f, -1.0f, -0.6f), 0.5, 1e-6);
  EXPECT_EQ(reward(state, 0.0f, -1.0f, 0.0f), 0.0);
}

// The score of random play by a sum over a grid of clubs, winds, distances, forces and aims.
TEST(Golf, RandomPlayHasItsScore) {
  constexpr int kCuts = 24;
  const auto middle = [](int i, double low, double high) {
    return low + (high - low) * (i + 0.5) / kCuts;
  };
  double sum = 0.0;
  for (int club = 0; club < 3; ++club) {
    for (int d = 0; d < 3 * kCuts; ++d) {
      for (int w = 0; w < kCuts; ++w) {
        const Golf::State state{(d + 0.5) / kCuts, middle(w, -1.0, 1.0)};
        for (int f = 0; f < kCuts; ++f) {
          for (int a = 0; a < kCuts; ++a) {
            sum += reward(state, static_cast<float>(club), static_cast<float>(middle(f, -1.0, 1.0)),
                          static_cast<float>(middle(a, -1.0, 1.0)));
          }
        }
      }
    }
  }
  const double mean = sum / (3.0 * 3.0 * std::pow(kCuts, 4));
  EXPECT_NEAR(32.0 * mean, Golf::spec({}).random_score, 0.02);
}

}  // namespace
}  // namespace broadloom::golf_tests
