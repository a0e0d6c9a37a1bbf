// The candidates of a race, and the reasons for leaving some out.
#include "research/advise/lineup.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "broadloom/setup/memory_plan.h"

namespace broadloom {
namespace {

class LineupTest : public testing::Test {
 protected:
  LineupTest() {
    options_.steps = 1000;
    const Overrides given{{"env_id", "CartPole-v1"}};
    base_ = resolve_config(given).take();
    entrants_ = make_portfolio(base_, given).take().entrants;
  }

  AdviceOptions options_;
  AdviceBudget total_budget_{60.0, 1000, {}, {}};
  Config base_;
  std::vector<Entrant> entrants_;
};

TEST_F(LineupTest, TheLeastTrustedAreLeftOut) {
  Lineup lineup(entrants_, options_, total_budget_);
  ASSERT_TRUE(lineup.find_speeds().ok());
  EXPECT_EQ(lineup.left_out(), 0);
  lineup.leave_out_from(5);
  EXPECT_EQ(lineup.left_out(), static_cast<int>(entrants_.size()) - 5);
  ASSERT_EQ(lineup.entrants().size(), 5U);
  EXPECT_EQ(lineup.speeds().size(), 5U);
  EXPECT_EQ(lineup.entrants().back().candidate, entrants_[4].candidate);
}

TEST_F(LineupTest, SpeedsAreMeasuredIfCostsAreSeconds) {
  for (const Entrant& entrant : entrants_) {
    options_.known.speeds.push_back({entrant.candidate, 100.0 * entrant.candidate.num_envs});
  }
  Lineup lineup(entrants_, options_, total_budget_);
  ASSERT_TRUE(lineup.find_speeds().ok());
  lineup.leave_out_from(2);
  const int first = entrants_[0].candidate.num_envs, second = entrants_[1].candidate.num_envs;
  EXPECT_DOUBLE_EQ(lineup.mean_speed(), 50.0 * (first + second));
  const std::vector<CandidateEvidence> in_seconds = lineup.candidates(true);
  ASSERT_EQ(in_seconds.size(), 2U);
  EXPECT_EQ(in_seconds[1].steps_per_second, 100.0 * second);
  EXPECT_TRUE(in_seconds[0].is_default && !in_seconds[1].is_default);
  EXPECT_TRUE(std::isnan(lineup.candidates(false)[0].steps_per_second));
}

TEST_F(LineupTest, CandidatesWithoutASpeedAreLeftOut) {
  options_.known.file = "earlier/advice.json";
  options_.known.speeds = {{entrants_[1].candidate, 1000.0}};
  Lineup lineup(entrants_, options_, total_budget_);
  ASSERT_TRUE(lineup.find_speeds().ok());
  EXPECT_EQ(lineup.left_out() + std::ssize(lineup.entrants()), std::ssize(entrants_));
  ASSERT_FALSE(lineup.entrants().empty());
  for (const Entrant& entrant : lineup.entrants()) {
    EXPECT_TRUE(same_speed(entrant.candidate, entrants_[1].candidate));
  }
  entrants_.resize(1);
  const Status none = Lineup(entrants_, options_, total_budget_).find_speeds();
  EXPECT_EQ(none.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(none.message().find("earlier/advice.json"), std::string::npos) << none.message();
}

TEST_F(LineupTest, ABudgetBelowOneBlockOfEachTrainingIsRefused) {
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < 4; ++i) blocks += 3 * entrants_[i].candidate.batch_size();
  const Status status = Lineup(entrants_, options_, total_budget_).check_steps(0.5);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  const std::string least = "expected at least " + std::to_string(2 * blocks) + ":";
  EXPECT_NE(status.message().find(least), std::string::npos) << status.message();
  AdviceBudget enough(60.0, 2 * blocks, {}, {}), less(60.0, 2 * blocks - 1, {}, {});
  EXPECT_TRUE(Lineup(entrants_, options_, enough).check_steps(0.5).ok());
  EXPECT_FALSE(Lineup(entrants_, options_, less).check_steps(0.5).ok());
}

TEST_F(LineupTest, CandidatesBeyondMemoryAreLeftOut) {
  options_.seeds = 100;
  double bytes = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    bytes += 100.0 * static_cast<double>(plan_memory(entrants_[i].config, 1).take().total());
  }
  // a fifth of it stays free
  base_.memory_limit = static_cast<std::int64_t>(bytes / 0.8 * 1e-6) + 1;
  Lineup three(entrants_, options_, total_budget_);
  ASSERT_TRUE(three.leave_out_by_memory(base_).ok());
  EXPECT_EQ(three.entrants().size(), 3U);
  EXPECT_EQ(three.left_out(), static_cast<int>(entrants_.size()) - 3);
  base_.memory_limit = 1;
  const Status refused = Lineup(entrants_, options_, total_budget_).leave_out_by_memory(base_);
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("memory_limit"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace broadloom
