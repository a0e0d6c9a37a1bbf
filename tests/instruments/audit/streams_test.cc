// Colliding streams, planted in descriptions.
#include "broadloom/instruments/audit/streams.h"

#include <gtest/gtest.h>

#include <vector>

namespace broadloom {
namespace {

std::vector<StreamUse> all_streams(std::uint64_t train_seed, std::uint64_t eval_seed) {
  std::vector<StreamUse> uses = training_streams(train_seed, 64, 8);
  for (const StreamUse& use : evaluation_streams(eval_seed, 100)) uses.push_back(use);
  return uses;
}

TEST(AuditStreams, TheLibrarysOwnAreDisjointWhateverTheSeeds) {
  for (const std::uint64_t eval_seed : {1, 2}) {
    const std::vector<StreamUse> uses = all_streams(1, eval_seed);
    EXPECT_EQ(find_collisions(uses).size(), 0u);
    EXPECT_EQ(equal_first_draws(uses), 0);
  }
}

TEST(AuditStreams, AnEvaluationThatTakesTrainingsResetsIsFound) {
  std::vector<StreamUse> uses = all_streams(1, 1);
  for (StreamUse& use : uses) {
    if (use.name == "eval_reset") use.purpose = 3;  // kTrainReset
  }
  const std::vector<StreamCollision> collisions = find_collisions(uses);
  ASSERT_EQ(collisions.size(), 1u);
  EXPECT_TRUE(collisions[0].evaluation_seen());
  EXPECT_EQ(collisions[0].first->name, "train_reset");
  EXPECT_EQ(collisions[0].second->name, "eval_reset");
  EXPECT_EQ(collisions[0].lanes, 8);
  EXPECT_EQ(equal_first_draws(uses), 8);
  // On another seed they are other numbers.
  for (StreamUse& use : uses) use.seed += use.evaluation ? 1 : 0;
  EXPECT_EQ(find_collisions(uses).size(), 0u);
  EXPECT_EQ(equal_first_draws(uses), 0);
}

TEST(AuditStreams, TwoPurposesWithOneNumberAreFound) {
  std::vector<StreamUse> uses = training_streams(5, 64, 64);
  uses[4].purpose = uses[3].purpose;  // actions draw what steps draw
  const std::vector<StreamCollision> collisions = find_collisions(uses);
  ASSERT_EQ(collisions.size(), 1u);
  EXPECT_FALSE(collisions[0].evaluation_seen());
  EXPECT_EQ(collisions[0].lanes, 64);
}

// The purpose has 8 bits of the counter: no description shows what draws do.
TEST(AuditStreams, DrawsShowWhatNumbersHide) {
  std::vector<StreamUse> uses = training_streams(5, 4, 4);
  uses[4].purpose = uses[3].purpose + 256;
  EXPECT_EQ(find_collisions(uses).size(), 0u);
  EXPECT_EQ(equal_first_draws(uses), 4);
}

TEST(AuditStreams, TheSameEvaluationTwiceIsNone) {
  std::vector<StreamUse> uses = evaluation_streams(1, 10);
  for (const StreamUse& use : evaluation_streams(1, 20)) uses.push_back(use);
  EXPECT_EQ(find_collisions(uses).size(), 0u);
}

}  // namespace
}  // namespace broadloom
