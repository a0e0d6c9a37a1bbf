// Changes of shape half-way: what is tried, what it costs, and what is said of it.
#include "broadloom/advise/reprobe.h"

#include <gtest/gtest.h>

#include "broadloom/advise/advice_config.h"
#include "broadloom/advise/portfolio.h"
#include "broadloom/advise/trial.h"
#include "broadloom/config/config.h"
#include "tests/advise/planted.h"

namespace broadloom {
namespace {

Entrant leader(const Candidate& candidate) {
  Config base = resolve_config({{"env_id", "CartPole-v1"}}).take();
  return {candidate, false, config_of(base, candidate)};
}

// What a candidate with planted curves is beside itself with 8 x 128 after 1,000 steps.
AdviceEvidence planted_changes(const std::vector<std::vector<double>>& changed_returns) {
  AdviceEvidence evidence = planted_race();
  Candidate changed = kWide;
  changed.then = {8, 128, 256, 1000};
  evidence.changes = {
      tried(kWide, 1000.0, 2,
            {{50, 60, 120, 110, 120}, {60, 70, 130, 110, 120}, {40, 50, 120, 110, 120}}),
      tried(changed, 1000.0, 2, changed_returns)};
  evidence.changes[1].then_steps_per_second = 1000.0;
  return evidence;
}
const std::vector<std::vector<double>> kSooner{
    {50, 110, 120, 110}, {60, 110, 130, 110}, {40, 110, 120, 110}};
const std::vector<std::vector<double>> kLater{
    {50, 60, 60, 110, 120, 110}, {60, 60, 70, 110, 120, 110}, {40, 60, 60, 110, 120, 110}};

TEST(Reprobe, HalfWayIsInWholeBlocks) {
  EXPECT_EQ(half_way(tried({4, 100, 100, 4, 1e-3}, 1.0, 1, {{0, 100, 100, 100}}), 100.0), 800);
  EXPECT_EQ(half_way(tried({4, 100, 100, 4, 1e-3}, 1.0, 1, {{0, 0, 0, 0}}), 100.0), 2000);
  EXPECT_EQ(half_way(tried(kWide, 1.0, 1, {{100, 100, 100}}), 100.0), 0) << "one block of 1,024";
  EXPECT_EQ(half_way(tried(kWide, 1.0, 1, {}), 100.0), 0);
}

TEST(Reprobe, TriesShapesAroundTheLeader) {
  const std::vector<Entrant> all = changed_entrants(leader({8, 32, 256, 4, 1e-3}), 2560, {});
  ASSERT_EQ(all.size(), 7U);
  EXPECT_FALSE(all[0].candidate.changes());
  EXPECT_EQ(all[1].candidate.then, (ShapeChange{32, 8, 256, 2560}));
  EXPECT_EQ(all[5].candidate.then, (ShapeChange{2, 32, 64, 2560})) << "M is no more than the block";
  for (const Entrant& entrant :
       changed_entrants(leader({8, 32, 256, 4, 1e-3}), 2560, {"num_envs"})) {
    if (entrant.candidate.changes()) EXPECT_EQ(entrant.candidate.then.num_envs, 8);
  }
  for (const Entrant& entrant : changed_entrants(leader({1, 2, 2, 4, 1e-3}), 2560, {})) {
    EXPECT_TRUE(!entrant.candidate.changes() || entrant.candidate.then.num_steps >= 1);
  }
}

TEST(Reprobe, ATrialChangesWhenItShould) {
  const std::vector<Entrant> all = changed_entrants(leader({8, 32, 256, 1, 1e-3}), 512, {});
  Trial trial(all[1].config, 1, 1);
  trial.go_on_to(1024, [] { return false; });
  ASSERT_FALSE(trial.failed()) << trial.curve().error;
  const Config& config = trial.trainer()->config();
  EXPECT_EQ(config.shape_schedule.phase_at(256, config.total_timesteps), 0U);
  EXPECT_EQ(config.shape_schedule.phase_at(512, config.total_timesteps), 1U);
}

TEST(Reprobe, CostsCountBothSpeeds) {
  AdviceEvidence evidence = planted_task();
  CandidateEvidence candidate;
  candidate.candidate = kWide;
  candidate.candidate.then = {8, 128, 256, 1000};
  candidate.steps_per_second = 1000.0;
  candidate.then_steps_per_second = 500.0;
  EXPECT_DOUBLE_EQ(cost_of(evidence, candidate, 500), 0.5);
  EXPECT_DOUBLE_EQ(cost_of(evidence, candidate, 2000), 3.0);
  for (const std::int64_t steps : {500, 1000, 1500, 2000}) {
    EXPECT_EQ(steps_for(evidence, candidate, cost_of(evidence, candidate, steps)), steps);
  }
  evidence.counts_seconds = false;
  EXPECT_DOUBLE_EQ(cost_of(evidence, candidate, 2000), 2000.0);
}

TEST(Reprobe, AChangeThatIsToldApartIsAdvised) {
  const AdviceEvidence evidence = planted_changes(kSooner);
  const Advice advice = advice_of(evidence);
  ASSERT_TRUE(advice.change && advice.change->is_taken);
  EXPECT_TRUE(says({advice.answer}, {"64 x 16", "then 8 x 128 (minibatches of 256) after 1,000"}));
  EXPECT_TRUE(says(advice.because, {"came out ahead of staying", "shape_schedule"}));
  const Overrides given{{"env_id", "CartPole-v1"}};
  const Config config = advised_config(resolve_config(given).take(), given, evidence, advice);
  ASSERT_TRUE(check_config(config).ok()) << check_config(config).message();
  const ShapeSchedule& schedule = config.shape_schedule;
  ASSERT_EQ(schedule.phases.size(), 2U);
  EXPECT_EQ(schedule.phase_at(999, config.total_timesteps), 0U);
  EXPECT_EQ(schedule.phase_at(1000, config.total_timesteps), 1U);
}

TEST(Reprobe, OtherwiseItStaysWithOneShape) {
  const Advice later = advice_of(planted_changes(kLater));
  ASSERT_TRUE(later.change);
  EXPECT_EQ(later.change->change, 0U);
  EXPECT_TRUE(says(later.because, {"Of 1 other shape from half-way on none came out ahead"}));
  EXPECT_FALSE(says({later.answer}, {"then"}));
  const Advice level = advice_of(planted_changes({kSooner[0], kLater[0], kSooner[2]}));
  ASSERT_TRUE(level.change);
  EXPECT_FALSE(level.change->is_taken);
  EXPECT_FALSE(says({level.answer}, {"then 8"}));
  EXPECT_FALSE(advice_of(planted_race()).change.has_value()) << "nobody asked";
}

TEST(Reprobe, WhyNoneWasTriedIsSaid) {
  AdviceEvidence evidence = planted_race();
  evidence.no_changes = "it is over within two blocks";
  EXPECT_TRUE(
      says(advice_of(evidence).not_known, {"none was tried (it is over within two blocks)"}));
}

}  // namespace
}  // namespace broadloom
