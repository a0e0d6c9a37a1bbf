#include "broadloom/rollout/block.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

TEST(ShardPlan, CoversEveryEnvironmentOnce) {
  for (int num_envs = 1; num_envs < 3000; num_envs += num_envs < 200 ? 1 : 37) {
    const ShardPlan plan(num_envs, 64);
    int next = 0;
    for (int s = 0; s < plan.count(); ++s) {
      EXPECT_EQ(plan[s].begin, next);
      EXPECT_GE(plan[s].size(), 1);
      EXPECT_LE(plan[s].size(), 64);
      next = plan[s].end;
    }
    EXPECT_EQ(next, num_envs);
  }
}

TEST(ShardPlan, GivesTwoThreadsWorkFromTwoEnvironmentsOn) {
  EXPECT_EQ(ShardPlan(1, 64).count(), 1);
  for (const int num_envs : {2, 3, 4, 15, 16, 17, 32}) {
    EXPECT_EQ(ShardPlan(num_envs, 64).count(), 2) << num_envs;
  }
  EXPECT_EQ(ShardPlan(64, 64).count(), 4);
  EXPECT_EQ(ShardPlan(1024, 64).count(), 16);
}

TEST(RolloutBlock, TakesTheBytesThatItSays) {
  const RolloutBlock block(7, 5, 3, 2, 4);
  const std::size_t floats = block.observations.size() + block.actions.size() +
                             block.log_probs.size() + block.values.size() + block.rewards.size() +
                             block.last_values.size() + block.final_observations.size() +
                             block.final_values.size() + block.advantages.size();
  EXPECT_EQ(RolloutBlock::bytes(7, 5, 3, 2, 4), 4 * floats + block.terminated.size() +
                                                    block.truncated.size() +
                                                    sizeof(int) * block.truncations.size());
  EXPECT_TRUE(block.ends.empty());
  const RolloutBlock with_ends(7, 5, 3, 2, 4, true);
  EXPECT_EQ(with_ends.ends.size(), 35u);
  EXPECT_EQ(RolloutBlock::bytes(7, 5, 3, 2, 4, true),
            RolloutBlock::bytes(7, 5, 3, 2, 4) + sizeof(EpisodeEnd) * 35);
}

}  // namespace
}  // namespace broadloom
