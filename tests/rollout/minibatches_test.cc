#include "broadloom/rollout/minibatches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

void expect_every_sample_once(int batch_size, int count) {
  Minibatches minibatches(batch_size, count);
  minibatches.shuffle(3, 11, 2);
  std::vector<int> seen(batch_size, 0);
  int smallest = batch_size;
  int largest = 0;
  for (int m = 0; m < minibatches.count(); ++m) {
    for (int i = 0; i < minibatches.size(m); ++i) ++seen[minibatches.indices(m)[i]];
    smallest = std::min(smallest, minibatches.size(m));
    largest = std::max(largest, minibatches.size(m));
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
  EXPECT_LE(largest - smallest, 1);
  EXPECT_EQ(largest, minibatches.max_size());
}

TEST(Minibatches, UseEverySampleExactlyOnceAlsoWhereTheBatchDoesNotDivide) {
  for (const int batch_size : {1, 2, 7, 64, 100, 513, 4096}) {
    for (const int count : {1, 2, 3, 4, 7, 32}) {
      if (count <= batch_size) expect_every_sample_once(batch_size, count);
    }
  }
}

// Groups of environments, each step by step.
TEST(Minibatches, OfWholeEnvironmentsListThemStepByStep) {
  constexpr int kSteps = 30, kEnvs = 11, kTogether = 2;
  Minibatches minibatches(kSteps * kEnvs, 3, kSteps, kTogether);
  EXPECT_EQ(minibatches.max_size(), 4 * kSteps);
  minibatches.shuffle(3, 11, 2);
  std::vector<int> seen(kEnvs);
  for (int m = 0; m < 3; ++m) {
    ASSERT_EQ(minibatches.size(m) % kSteps, 0);
    const int envs = minibatches.size(m) / kSteps;
    for (int first = 0; first < envs; first += kTogether) {
      const int group = std::min(kTogether, envs - first);
      const std::int32_t* rows = minibatches.indices(m) + first * kSteps;
      for (int e = 0; e < group; ++e) ++seen[rows[e]];
      for (int i = 0; i < group * kSteps; ++i) {
        ASSERT_EQ(rows[i], i / group * kEnvs + rows[i % group]) << "minibatch " << m;
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(kEnvs, 1));
}

// A sequence is a run of steps of one environment, and every one is in one minibatch.
TEST(Minibatches, OfSequencesListThemStepByStep) {
  constexpr int kSteps = 30, kEnvs = 7, kLength = 5, kTogether = 3, kSequences = 6 * kEnvs;
  Minibatches minibatches(kSteps * kEnvs, 4, kLength, kTogether);
  EXPECT_EQ(minibatches.max_size(), 11 * kLength);
  minibatches.shuffle(3, 11, 2, {}, kEnvs);
  std::vector<int> seen(kSequences);
  for (int m = 0; m < 4; ++m) {
    ASSERT_EQ(minibatches.size(m) % kLength, 0);
    const int count = minibatches.size(m) / kLength;
    for (int first = 0; first < count; first += kTogether) {
      const int group = std::min(kTogether, count - first);
      const std::int32_t* rows = minibatches.indices(m) + first * kLength;
      for (int s = 0; s < group; ++s) {
        const int step = rows[s] / kEnvs, env = rows[s] % kEnvs;
        ASSERT_EQ(step % kLength, 0);
        ++seen[static_cast<std::size_t>(step / kLength * kEnvs + env)];
        for (int t = 0; t < kLength; ++t) ASSERT_EQ(rows[t * group + s], (step + t) * kEnvs + env);
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(kSequences, 1));
}

TEST(Minibatches, AreCountedInTheLargestBlock) {
  constexpr int kMost = 2146435072;  // of a configuration
  EXPECT_EQ((MinibatchCut{kMost, kMost}.max_size()), 1);
  EXPECT_EQ((MinibatchCut{kMost, kMost - 1}.max_size()), 2);
  EXPECT_EQ((MinibatchCut{kMost, 1}.max_size()), kMost);
  EXPECT_EQ((MinibatchCut{3, kMost}.max_size()), 1);
}

TEST(Minibatches, LeaveFillersOut) {
  for (const int count : {1, 3, 7, 40}) {  // 26 of 40 rows are samples
    Minibatches minibatches(40, count);
    std::vector<std::uint8_t> fillers(40);
    for (std::size_t i = 0; i < 40; i += 3) fillers[i] = 1;
    minibatches.shuffle(3, 11, 2, fillers);
    EXPECT_EQ(minibatches.samples(), 26);
    EXPECT_EQ(minibatches.count(), std::min(count, 26));
    std::vector<int> seen(40, 0);
    for (int m = 0; m < minibatches.count(); ++m) {
      EXPECT_GT(minibatches.size(m), 0);
      EXPECT_LE(minibatches.size(m), minibatches.max_size());
      for (int i = 0; i < minibatches.size(m); ++i) ++seen[minibatches.indices(m)[i]];
    }
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(seen[i], fillers[i] == 0 ? 1 : 0);
    minibatches.shuffle(3, 11, 2);
    EXPECT_EQ(minibatches.samples(), 40);
  }
}

TEST(Minibatches, PermutationIsFisherAndYatesWithTheStreamsDraws) {
  for (const int batch_size : {1, 2, 255, 256, 257, 258, 5000}) {
    std::vector<std::int32_t> expected(static_cast<std::size_t>(batch_size));
    std::iota(expected.begin(), expected.end(), 0);
    Random random(9, Purpose::kShuffle, 2, 7);
    for (int i = batch_size; i > 1; --i) {
      std::swap(expected[i - 1], expected[random.below(static_cast<std::uint32_t>(i))]);
    }
    Minibatches minibatches(batch_size, 1);
    minibatches.shuffle(9, 7, 2);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), minibatches.indices(0)));
  }
}

TEST(Minibatches, PermutationsDifferByEpochIterationAndSeedAndRepeat) {
  const auto draw = [](std::uint64_t seed, std::int64_t iteration, int epoch) {
    Minibatches minibatches(256, 4);
    minibatches.shuffle(seed, iteration, epoch);
    return std::vector<std::int32_t>(minibatches.indices(0), minibatches.indices(0) + 256);
  };
  EXPECT_EQ(draw(1, 1, 0), draw(1, 1, 0));
  EXPECT_NE(draw(1, 1, 0), draw(1, 1, 1));
  EXPECT_NE(draw(1, 1, 0), draw(1, 2, 0));
  EXPECT_NE(draw(1, 1, 0), draw(2, 1, 0));
}

}  // namespace
}  // namespace broadloom
