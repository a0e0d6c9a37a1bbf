#include "broadloom/rollout/block.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

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

// The bytes are counted by hand, without the list of arrays.
TEST(RolloutBlock, TakesTheBytesThatItSays) {
  const RolloutBlock block(7, 5, 3, 2, 4);
  const std::size_t floats = block.observations.size() + block.actions.size() +
                             block.log_probs.size() + block.values.size() + block.rewards.size() +
                             block.last_values.size() + block.final_observations.size() +
                             block.final_values.size() + block.advantages.size();
  EXPECT_EQ(floats, 35u * (3 + 2 + 4) + 5 + 20 * (3 + 1));
  EXPECT_EQ(RolloutBlock::bytes(block), 4 * floats + 2 * 35 + sizeof(int) * 5);
  EXPECT_TRUE(block.ends.empty());
  BlockSizes sizes = block;
  sizes.with_ends = true;
  EXPECT_EQ(RolloutBlock(sizes).ends.size(), 35u);
  EXPECT_EQ(RolloutBlock::bytes(sizes), RolloutBlock::bytes(block) + sizeof(EpisodeEnd) * 35);
}

TEST(RolloutBlock, ListsEveryArrayOnceByItsName) {
  const RolloutBlock block(7, 5, 3, 2, 4);
  std::set<std::string> names;
  std::size_t listed = 0;
  RolloutBlock::visit_arrays(block, [&](const BlockArray& array, auto member) {
    EXPECT_TRUE(names.insert(array.name).second) << array.name;
    EXPECT_EQ((block.*member).size(), array.count(block)) << array.name;
    listed += sizeof(block.*member);
  });
  // A missing array would have no memory, no hash and no part in the memory plan.
  EXPECT_NEAR(sizeof(RolloutBlock), listed + sizeof(BlockSizes), alignof(RolloutBlock) - 1);
}

}  // namespace
}  // namespace broadloom
