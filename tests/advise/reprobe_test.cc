// Changes of shape half-way: the candidates and their costs.
#include "research/advise/reprobe.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include "broadloom/config/config.h"
#include "research/advise/portfolio.h"
#include "research/advise/trial.h"
#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

Entrant leader(const Candidate& candidate) {
  Config base = resolve_config({{"env_id", "CartPole-v1"}}).take();
  return {candidate, false, config_of(base, candidate)};
}

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

TEST(Reprobe, ATrialChangesAtTheRightStep) {
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

}  // namespace
}  // namespace broadloom
