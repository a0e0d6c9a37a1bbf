// The steps of a block that count, the steps after the time limit, and the same steps in training.
#include "research/lab/episodes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "research/lab/bias.h"

namespace broadloom {
namespace {

constexpr TimeLimit kLimit{4, 3};

// One environment with rewards 1, 2, 3, ...; episodes end after these steps, or at the limit.
FrozenBlock one_environment(int steps, int age, const std::vector<int>& ends) {
  FrozenBlock block(steps, 1, 0, 0, steps);
  block.ages = {age};
  std::size_t next = 0;
  for (int t = 0; t < steps; ++t, ++age) {
    block.rewards[t] = static_cast<float>(t + 1);
    block.values[t] = 100.0f + static_cast<float>(t);
    const bool end = next < ends.size() && ends[next] == t;
    block.truncated[t] = end && age + 1 == kLimit.longest();
    block.terminated[t] = end && age + 1 < kLimit.longest();
    if (block.truncated[t] != 0) {
      block.final_values[block.final_index(0, block.truncations[0]++)] = 200.0f + t;
    }
    if (end) age = -1, ++next;
  }
  return block;
}

TEST(Episodes, CountStepsBeforeTheLimit) {
  // Begins at age 2: two steps count, then three follow past the limit; the next one terminates.
  const FrozenBlock block = one_environment(12, 2, {4, 6, 11});
  EXPECT_EQ(steps_within(block, 0, kLimit), (std::vector<int>{0, 1, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(steps_within(block, 0, {7, 0}).size(), 12u);
  std::vector<double> returns;
  returns_to_end(block, 0, 0.5, returns);
  EXPECT_DOUBLE_EQ(returns[4], 5.0);
  EXPECT_DOUBLE_EQ(returns[1], 2.0 + 0.5 * (3.0 + 0.5 * (4.0 + 0.5 * 5.0)));  // past the limit
  EXPECT_DOUBLE_EQ(returns[5], 6.0 + 0.5 * 7.0);
}

TEST(Episodes, OfTrainingEndAtTheLimit) {
  const FrozenBlock block = one_environment(16, 2, {4, 6, 13});
  const std::vector<std::vector<int>> places{steps_within(block, 0, kLimit)};
  const RolloutBlock trained = as_trained(block, 0, 1, places, 8, kLimit);
  EXPECT_EQ(trained.rewards, (std::vector<float>{1, 2, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(trained.truncated, (std::vector<std::uint8_t>{0, 1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(trained.terminated, (std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0, 0, 0}));
  ASSERT_EQ(trained.truncations[0], 2);
  EXPECT_EQ(trained.final_values[0], 102.0f);  // of the next step, as a final observation
  EXPECT_EQ(trained.final_values[1], 111.0f);
  // If the limit is an end, there is a final observation.
  const FrozenBlock ended = one_environment(8, 3, {3});
  const TimeLimit end{kLimit.longest(), 0};
  const RolloutBlock same = as_trained(ended, 0, 1, {steps_within(ended, 0, end)}, 8, end);
  EXPECT_EQ(same.truncated, ended.truncated);
  EXPECT_EQ(same.final_values[0], 203.0f);
}

TEST(Episodes, FindTheSimulatorsOwnLimit) {
  FrozenBlock block = one_environment(12, 0, {6});
  EXPECT_TRUE(check_continued(block, kLimit).ok());
  block.truncated[3] = 1;
  const Status status = check_continued(block, kLimit);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("after 4 steps"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("--time_limit end"), std::string::npos);
}

TEST(Episodes, LookAsFarAsTheDiscount) {
  for (const double gamma : {0.5, 0.9, 0.99, 0.999}) {
    const int steps = steps_to_a_hundredth(gamma);
    EXPECT_LE(std::pow(gamma, steps), 0.01 * (1.0 + 1e-9));
    EXPECT_GT(std::pow(gamma, steps - 1), 0.01);
  }
  EXPECT_EQ(steps_to_a_hundredth(1.0), 0);
  EXPECT_EQ(steps_to_a_hundredth(0.99999), 0);
}

}  // namespace
}  // namespace broadloom
