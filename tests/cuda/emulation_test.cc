// The emulation itself: guarantees for kernels, and faults that it finds.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "cuda/sides/emulated_block.h"

namespace broadloom::cuda {
namespace {

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

// Sums of blocks by a tree in shared memory. forgets: leave out the sync() between two levels.
struct TreeSum {
  const float* numbers;
  float* sums;  // [blocks]
  bool forgets;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    float* const shared = block.template shared<float>();
    const int t = block.thread();
    shared[t] = numbers[block.index() * block.threads() + t];
    block.sync();
    for (int half = block.threads() / 2; half > 0; half /= 2) {
      if (t < half) shared[t] += shared[t + half];
      if (!forgets) block.sync();
    }
    if (t == 0) sums[block.index()] = shared[0];
  }
};

// The same for a warp, by shuffles.
struct WarpSum {
  const float* numbers;
  float* sums;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    float sum = numbers[block.thread()];
    for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    sums[block.thread()] = sum;
  }
};

struct Hangs {
  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    if (block.thread() != 3) block.sync();
  }
};

struct StartsAnother {
  template <class Block>
  BROADLOOM_HD void operator()(Block& /*block*/) const {
    emulate(Hangs{}, {1, 32});
  }
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = 1.0f / static_cast<float>(i + 1);
  return out;
}

std::vector<float> tree_sums(FiberOrder order, bool forgets) {
  const std::vector<float> all = numbers(3 * 128);
  std::vector<float> sums(3);
  emulate(TreeSum{all.data(), sums.data(), forgets}, {3, 128, 128 * sizeof(float)}, order, 5);
  return sums;
}

TEST(EmulatedKernels, GiveTheSameResultInAnyOrder) {
  const std::vector<float> sums = tree_sums(FiberOrder::kForward, false);
  const std::vector<float> all = numbers(3 * 128);
  for (std::size_t b = 0; b < 3; ++b) {
    const double sum = std::accumulate(&all[b * 128], &all[b * 128] + 128, 0.0);
    EXPECT_NEAR(sums[b], sum, 1e-5);
  }
  for (const FiberOrder order : kOrders) EXPECT_EQ(tree_sums(order, false), sums);
}

TEST(EmulatedKernels, RevealAMissingSync) {
  EXPECT_NE(tree_sums(FiberOrder::kForward, true), tree_sums(FiberOrder::kReversed, true));
}

TEST(EmulatedKernels, ShuffleWithinAWarp) {
  const std::vector<float> all = numbers(64);
  for (const FiberOrder order : kOrders) {
    std::vector<float> sums(64);
    emulate(WarpSum{all.data(), sums.data()}, {1, 64}, order);
    for (std::size_t t = 0; t < 64; ++t) EXPECT_EQ(sums[t], sums[t / 32 * 32]);
    EXPECT_NEAR(sums[0], std::accumulate(all.begin(), all.begin() + 32, 0.0), 1e-6);
    EXPECT_NEAR(sums[32], std::accumulate(all.begin() + 32, all.end(), 0.0), 1e-6);
  }
}

TEST(EmulatedKernels, RunOnSeveralThreadsAtOnce) {
  const std::vector<float> all = numbers(3 * 128);
  std::vector<float> alone(3);
  emulate(TreeSum{all.data(), alone.data(), false}, {3, 128, 128 * sizeof(float)});
  std::vector<std::vector<float>> sums(4, std::vector<float>(3));
  {
    std::vector<std::jthread> threads;
    for (std::vector<float>& own : sums) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          emulate(TreeSum{all.data(), own.data(), false}, {3, 128, 128 * sizeof(float)});
        }
      });
    }
  }
  for (const std::vector<float>& own : sums) EXPECT_EQ(own, alone);
}

TEST(EmulatedKernelsDeathTest, ReportHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(emulate(Hangs{}, {1, 32}), "others never come to");
  EXPECT_DEATH(emulate(Hangs{}, {1, 33}), "has 32, 64");
  EXPECT_DEATH(emulate(Hangs{}, {0, 32}), "at least one block");
  EXPECT_DEATH(emulate(Hangs{}, {1, 32, 233472}), "at most 227 KB");
  EXPECT_DEATH(emulate(StartsAnother{}, {1, 32}), "starts no other kernel");
}

}  // namespace
}  // namespace broadloom::cuda
