// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include "cuda/collect/advantages_kernel.h"

#include <gtest/gtest.h>

#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/rollout/advantages.h"
#include "cuda/sides/emulated_block.h"

namespace broadloom::cuda {
namespace {

constexpr int kSteps = 23, kEnvs = 70;
constexpr double kGamma = 0.97, kLambda = 0.9;

RolloutBlock random_block() {
  RolloutBlock block(kSteps, kEnvs, 1, 1, kSteps);
  Random random(3, Purpose::kUser, 0, 0);
  const auto fill = [&](std::vector<float>& numbers) {
    for (float& x : numbers) x = static_cast<float>(random.normal());
  };
  fill(block.rewards);
  fill(block.values);
  fill(block.last_values);
  fill(block.final_values);
  for (int t = 0; t < kSteps; ++t) {
    for (int n = 0; n < kEnvs; ++n) {
      const double u = random.uniform();
      block.terminated[block.index(t, n)] = u < 0.1 ? 1 : 0;
      block.truncated[block.index(t, n)] = u > 0.85 ? 1 : 0;
      block.truncations[static_cast<std::size_t>(n)] += u > 0.85 ? 1 : 0;
    }
  }
  return block;
}

void expect_the_hosts_bits(GaeWeights weights) {
  RolloutBlock block = random_block();
  for (const TruncationMode mode : {TruncationMode::kBootstrap, TruncationMode::kAsTermination,
                                    TruncationMode::kStateValue, TruncationMode::kZero}) {
    compute_advantages(block, 0, kEnvs, kGamma, kLambda, mode, weights);
    const Discounts discounts = Discounts::make(kGamma, kLambda, weights);
    for (const FiberOrder order :
         {FiberOrder::kForward, FiberOrder::kReversed, FiberOrder::kShuffled}) {
      std::vector<float> advantages(block.advantages.size(), -7.0f);
      emulate(AdvantagesKernel{kSteps, kEnvs, kSteps, block.rewards.data(), block.values.data(),
                               block.terminated.data(), block.truncated.data(),
                               block.last_values.data(), block.truncations.data(),
                               block.final_values.data(), discounts, mode, advantages.data()},
              shape_for_rows(kEnvs, 32), order);
      EXPECT_EQ(advantages, block.advantages);
    }
  }
}

TEST(AdvantagesKernel, HasTheHostsBits) { expect_the_hosts_bits(GaeWeights::kGeometric); }

TEST(AdvantagesKernel, HasTheHostsBitsWithNormalisedWeights) {
  expect_the_hosts_bits(GaeWeights::kNormalised);
}

}  // namespace
}  // namespace broadloom::cuda
