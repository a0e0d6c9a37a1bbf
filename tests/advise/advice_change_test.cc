// Advice about changes of shape half-way, from planted evidence.
#include <gtest/gtest.h>

#include "broadloom/config/config.h"
#include "broadloom/setup/resolve_config.h"
#include "research/advise/advice.h"
#include "research/advise/advice_config.h"
#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

// A candidate with planted curves, with and without a change to 8 x 128 after 1,000 steps.
AdviceEvidence planted_changes(const std::vector<std::vector<double>>& changed_returns) {
  AdviceEvidence evidence = planted_race();
  Candidate changed = kWide;
  changed.then = {8, 128, 256, 1000};
  evidence.changes = {tried(kWide, 1000.0, 2,
                            {{50, 60, 120, 110, 120},
                             {60, 70, 130, 110, 120},
                             {40, 50, 120, 110, 120},
                             {45, 55, 120, 110, 120}}),
                      tried(changed, 1000.0, 2, changed_returns)};
  evidence.changes[1].then_steps_per_second = 1000.0;
  return evidence;
}
const std::vector<std::vector<double>> kSooner{
    {50, 110, 120, 110}, {60, 110, 130, 110}, {40, 110, 120, 110}, {45, 110, 120, 110}};
const std::vector<std::vector<double>> kLater{{50, 60, 60, 110, 120, 110},
                                              {60, 60, 70, 110, 120, 110},
                                              {40, 60, 60, 110, 120, 110},
                                              {45, 60, 60, 110, 120, 110}};

TEST(AdviceChange, AClearlyBetterChangeIsAdvised) {
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

TEST(AdviceChange, ThreeTrainingsAreTooFew) {
  AdviceEvidence evidence = planted_changes(kSooner);
  for (CandidateEvidence& candidate : evidence.changes) candidate.trials.pop_back();
  const Advice advice = advice_of(evidence);
  ASSERT_TRUE(advice.change);
  EXPECT_EQ(advice.change->change, 1U);
  EXPECT_EQ(advice.change->is_better.low, 1.0) << "all nine pairs";
  EXPECT_FALSE(advice.change->is_taken) << "2 in 20 by chance";
  EXPECT_TRUE(says(advice.because, {"which does not tell them apart"}));
}

TEST(AdviceChange, ARunThatEndsBeforeItsChangeHasNone) {
  AdviceEvidence evidence = planted_changes(kSooner);
  evidence.changes[1].candidate.then.after = 4096;
  const Advice advice = advice_of(evidence);
  ASSERT_TRUE(advice.change && advice.change->is_taken);
  for (const char* steps : {"2048", "4096"}) {
    const Overrides given{{"env_id", "CartPole-v1"}, {"total_timesteps", steps}};
    const Config config = advised_config(resolve_config(given).take(), given, evidence, advice);
    EXPECT_TRUE(config.shape_schedule.empty()) << steps;
    const Result<Overrides> read = parse_toml_overrides(advice_toml(config, advice), "advice.toml");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(resolve_config(read.value()).ok()) << steps;
    EXPECT_NE(advice_toml(config, advice).find("ends before its shape would change"),
              std::string::npos);
  }
}

TEST(AdviceChange, WithoutAClearChangeOneShapeStays) {
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

TEST(AdviceChange, TheReasonForNoChangeIsGiven) {
  AdviceEvidence evidence = planted_race();
  evidence.no_changes = "it is over within two blocks";
  EXPECT_TRUE(
      says(advice_of(evidence).not_known, {"none was tried (it is over within two blocks)"}));
}

}  // namespace
}  // namespace broadloom
