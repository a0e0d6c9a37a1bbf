// The candidates that a race begins with, and its refusals.
#include "research/advise/portfolio.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "broadloom/env/tasks/registry.h"
#include "research/advise/advise_options.h"
#include "research/advise/candidates.h"
#include "research/advise/laboratory.h"
#include "research/advise/race.h"
#include "research/advise/trial_machine.h"
#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

Result<Portfolio> portfolio(const Overrides& given) {
  const Result<Config> base = resolve_config(given);
  EXPECT_TRUE(base.ok()) << base.status().message();
  return make_portfolio(base.value(), given);
}

TEST(Portfolio, BeginsWithTheDefaultsWithoutRepeats) {
  const Portfolio p = portfolio({{"env_id", "CartPole-v1"}}).take();
  ASSERT_GE(p.entrants.size(), 16U);
  EXPECT_TRUE(p.entrants[0].is_default);
  EXPECT_EQ(p.entrants[0].candidate, (Candidate{4, 128, 128, 4, 2.5e-4}));
  EXPECT_TRUE(p.held.empty());
  for (std::size_t i = 0; i < p.entrants.size(); ++i) {
    const Entrant& a = p.entrants[i];
    EXPECT_EQ(candidate_of(a.config), a.candidate);
    EXPECT_EQ(a.config.lr_schedule, "constant");
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(a.candidate == p.entrants[j].candidate);
  }
}

TEST(Candidates, FollowTheTaskAndTheDevice) {
  const auto kind = [](const EnvSpec& spec, const std::string& device) {
    Config config;
    config.device = device;
    return std::string(kind_name(kind_of(config, spec)));
  };
  const EnvSpec pole = env_spec("CartPole-v1", {}).take();
  const EnvSpec images = env_spec("MinAtar/Breakout-v1", {}).take();
  EnvSpec robot = env_spec("Pendulum-v1", {}).take();
  EXPECT_EQ(kind(pole, "cpu"), "small");
  EXPECT_EQ(kind(robot, "cpu"), "small");
  EXPECT_EQ(kind(images, "cpu"), "games");
  EXPECT_EQ(kind(images, "cuda"), "gpu");
  EXPECT_EQ(kind(pole, "cuda"), "gpu");
  robot.engine = "MuJoCo 4.0.0, robot.xml 1234";
  EXPECT_EQ(kind(robot, "cpu"), "robots");
}

TEST(Candidates, MeasuredOnesOfTheKindComeFirst) {
  const std::vector<CandidateRow> small = candidate_rows(TaskKind::kSmall);
  for (const TaskKind kind : {TaskKind::kRobots, TaskKind::kGames, TaskKind::kGpu}) {
    const std::vector<CandidateRow> rows = candidate_rows(kind);
    ASSERT_GT(rows.size(), small.size());
    const std::size_t own = rows.size() - small.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].why.find("never") == std::string_view::npos, i < own) << rows[i].why;
      if (i < own) continue;
      EXPECT_EQ(rows[i].num_envs, small[i - own].num_envs);
      EXPECT_EQ(rows[i].rate, small[i - own].rate);
    }
  }
}

TEST(Candidates, EachFitsItsBlock) {
  for (const TaskKind kind :
       {TaskKind::kSmall, TaskKind::kRobots, TaskKind::kGames, TaskKind::kGpu}) {
    for (const CandidateRow& row : candidate_rows(kind)) {
      EXPECT_EQ(row.num_envs * row.num_steps % row.minibatch_size, 0) << row.why;
      EXPECT_GT(row.rate, 0.0);
    }
  }
}

TEST(Portfolio, TakesTheKindThatIsAskedFor) {
  const Overrides given{{"env_id", "Pendulum-v1"}};
  const Config base = resolve_config(given).take();
  const Portfolio robots = make_portfolio(base, given, TaskKind::kRobots).take();
  EXPECT_EQ(robots.entrants[1].candidate, (Candidate{128, 16, 64, 10, 1e-3}));
  // The defaults of Box actions are one of the measured settings.
  EXPECT_EQ(robots.entrants[0].candidate, (Candidate{1, 2048, 64, 10, 3e-4}));
  EXPECT_NE(robots.entrants[0].why.find("experiments/mujoco"), std::string_view::npos);
  const Portfolio own = make_portfolio(base, given).take();
  EXPECT_EQ(own.entrants[0].why, "the task's defaults");
  EXPECT_LT(own.entrants.size(), robots.entrants.size());
}

TEST(Portfolio, KeepsTheCallersSettings) {
  const Portfolio p =
      portfolio({{"env_id", "CartPole-v1"}, {"num_envs", "16"}, {"learning_rate", "0.003"}}).take();
  EXPECT_EQ(p.held, (std::vector<std::string>{"num_envs", "learning_rate"}));
  std::set<int> steps;
  for (const Entrant& entrant : p.entrants) {
    EXPECT_EQ(entrant.candidate.num_envs, 16);
    EXPECT_EQ(entrant.candidate.learning_rate, 0.003);
    steps.insert(entrant.candidate.num_steps);
  }
  EXPECT_GT(steps.size(), 3U);
  const Portfolio minibatches =
      portfolio({{"env_id", "CartPole-v1"}, {"num_minibatches", "2"}}).take();
  for (const Entrant& entrant : minibatches.entrants)
    EXPECT_EQ(entrant.config.minibatch_count(), 2);
}

TEST(Portfolio, LeavesOutCandidatesThatDoNotFitTheConfig) {
  const Portfolio p =
      portfolio({{"env_id", "CartPole-v1"}, {"num_envs", "96"}, {"seed_families", "3"}}).take();
  EXPECT_GT(p.entrants.size(), 1U);
  const Portfolio families = portfolio({{"env_id", "CartPole-v1"}, {"seed_families", "4"}}).take();
  for (const Entrant& entrant : families.entrants) EXPECT_EQ(entrant.candidate.num_envs % 4, 0);
}

TEST(Portfolio, RefusesImpossibleCandidates) {
  const auto message = [](const Overrides& given) { return portfolio(given).status().message(); };
  EXPECT_NE(message({{"lr_schedule", "linear"}}).find("lr_schedule: got linear; expected constant"),
            std::string::npos);
  EXPECT_NE(message({{"anneal_lr", "true"}}).find("expected constant"), std::string::npos);
  EXPECT_NE(message({{"shape_schedule", "8x128 @ 0, 64x16 @ 0.5"}}).find("leave it out"),
            std::string::npos);
  EXPECT_NE(message({{"ent_schedule", "linear"}}).find("ent_schedule = linear"), std::string::npos);
  EXPECT_NE(message({{"algorithm", "pqn"}}).find("eps_decay"), std::string::npos);
  EXPECT_NE(message({{"num_envs", "8"},
                     {"num_steps", "32"},
                     {"minibatch_size", "64"},
                     {"update_epochs", "4"},
                     {"learning_rate", "0.001"}})
                .find("nothing is left to advise on"),
            std::string::npos);
  EXPECT_TRUE(portfolio({{"lr_schedule", "constant"}}).ok());
}

TEST(Portfolio, RatesGrowWithTheRoot) {
  EXPECT_DOUBLE_EQ(scaled_learning_rate(1e-3, 64.0, 256.0), 2e-3);
}

TEST(RaceSizes, HalveDownToThree) {
  EXPECT_EQ(rung_sizes(24), (std::vector<std::size_t>{24, 12, 6, 3}));
  EXPECT_EQ(rung_sizes(4), (std::vector<std::size_t>{4, 3}));
  EXPECT_EQ(rung_sizes(2), (std::vector<std::size_t>{2}));
}

TEST(RaceSizes, SmallBudgetsTakeFewCandidates) {
  const std::vector<std::int64_t> blocks(24, 512);
  EXPECT_EQ(entrants_with_room(blocks, 1e9, 3), 24U);
  EXPECT_EQ(entrants_with_room(blocks, 1000.0, 3), 4U);
  EXPECT_EQ(entrants_with_room({512, 512}, 1000.0, 3), 2U);
  const std::size_t some = entrants_with_room(blocks, 3e6, 3);
  EXPECT_GT(some, 4U);
  EXPECT_LT(some, 24U);
  EXPECT_LE(some, entrants_with_room(blocks, 3e6, 1));
}

TEST(RaceSizes, LargeBlocksTakeMoreRoom) {
  // Five entrants have two rungs, with 25,000 steps of each training or one block.
  const std::vector<std::int64_t> small(5, 25000), large{512, 512, 512, 512, 250000};
  EXPECT_EQ(entrants_with_room(small, 2.0 * 5 * 25000, 1), 5U);
  EXPECT_EQ(entrants_with_room(large, 2.0 * 5 * 25000, 1), 4U);
  EXPECT_EQ(entrants_with_room(large, 2.0 * (4 * 25000 + 250000), 1), 5U);
}

TEST(Speeds, AreFoundByTheKeysTheyDependOn) {
  const Portfolio p = portfolio({{"env_id", "CartPole-v1"}}).take();
  KnownSpeeds known;
  known.speeds = {{p.entrants[0].candidate, 123.0}};
  known.speeds[0].candidate.learning_rate = 1.0;
  const std::vector<double> speeds = look_up_speeds(p.entrants, known);
  ASSERT_EQ(speeds.size(), p.entrants.size());
  EXPECT_EQ(speeds[0], 123.0);
  EXPECT_TRUE(std::isnan(speeds[1]));
}

TEST(Speeds, OfAnotherTaskOrOtherSettingsAreRefused) {
  const auto config = [](const Overrides& keys) { return resolve_config(keys).take(); };
  const Overrides task{{"env_id", "CartPole-v1"}};
  const auto message = [&](const Overrides& more) {
    Overrides ours = task;
    ours.insert(ours.end(), more.begin(), more.end());
    KnownSpeeds known{"earlier/advice.json", to_overrides(config(task)), {}, {{kWide, 1.0}}};
    const Status status = check_known_speeds(known, config(ours));
    EXPECT_EQ(status.kind(), status.ok() ? ErrorKind::kOk : ErrorKind::kMismatch);
    return status.message();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({{"num_envs", "16"}, {"seed", "3"}, {"learning_rate", "0.01"}}), "");
  EXPECT_EQ(message({{"total_timesteps", "20000"}, {"memory_limit", "900"}}), "");
  EXPECT_NE(message({{"hidden_sizes", "512,512"}}).find("hidden_sizes = 64,64, but here it is 512"),
            std::string::npos);
  EXPECT_NE(message({{"env_id", "Acrobot-v1"}}).find("env_id = CartPole-v1"), std::string::npos);
  EXPECT_NE(message({{"env.gravity", "5"}}).find("env.gravity = 9.8, but here it is 5"),
            std::string::npos);
  EXPECT_EQ(message({{"env.gravity", "9.8"}}), "");
  EXPECT_NE(message({{"isa", "exact"}}).find("isa"), std::string::npos);
}

TEST(AdviceOptionsCheck, NamesTheBadValue) {
  const auto message = [](auto change) {
    AdviceOptions options;
    change(options);
    return check_options(options).message();
  };
  EXPECT_EQ(message([](AdviceOptions&) {}), "");
  EXPECT_NE(message([](AdviceOptions& o) { o.seconds = 0.2; }).find("0.2 seconds"),
            std::string::npos);
  EXPECT_NE(message([](AdviceOptions& o) { o.seeds = 0; }).find("seeds is 0"), std::string::npos);
  EXPECT_NE(message([](AdviceOptions& o) { o.threads = 0; }).find("threads is 0"),
            std::string::npos);
  EXPECT_NE(message([](AdviceOptions& o) {
              o.known.speeds = {{kWide, 1.0}};
            }).find("--steps"),
            std::string::npos);
  EXPECT_NE(message([](AdviceOptions& o) { o.threshold = kNotKnown; }).find("not finite"),
            std::string::npos);
}

TEST(LaboratoryPlan, FitsItsBudgetOrNamesItsCost) {
  const LaboratoryPlan none = plan_laboratory(1000, 500, 4, 1024);
  EXPECT_EQ(none.start_envs, 0);
  const LaboratoryPlan least = plan_laboratory(none.least, 500, 4, 1024);
  EXPECT_GE(least.start_envs, 32);
  EXPECT_FALSE(least.agreement);
  EXPECT_GE(least.blocks, 10);
  const LaboratoryPlan much = plan_laboratory(20000000, 500, 4, 1024);
  EXPECT_GT(much.start_envs, least.start_envs);
  EXPECT_TRUE(much.agreement);
  EXPECT_LE(6LL * 500 * much.start_envs + 3 * much.budget + 4LL * 1024 * much.blocks, 20000000);
}

TEST(LaboratoryPlan, ShapesHaveOneBatch) {
  for (const BlockShape& shape : laboratory_shapes(1024, 128)) EXPECT_EQ(shape.batch(), 1024);
  EXPECT_EQ(laboratory_shapes(1024, 128).size(), 5U);
  EXPECT_EQ(laboratory_shapes(1024, 100).size(), 4U) << "100 does not divide it";
}

GradientEvidence by_steps(const std::vector<std::pair<double, double>>& cosines_and_batches) {
  GradientEvidence gradient;
  int T = 4;
  for (const auto& [cosine, batch] : cosines_and_batches) {
    const Estimate none = without_interval(kNotKnown, 0);
    gradient.rows.push_back(
        {1024 / T, T, without_interval(cosine, 1), none, none, none, without_interval(batch, 1)});
    T *= 4;
  }
  return gradient;
}

TEST(GradientRule, TakesTheShortestGoodTAndTheCriticalBatch) {
  const GradientChoice choice =
      choose_by_gradient(by_steps({{0.2, 100.0}, {0.92, 2100.0}, {0.95, 9000.0}}), kUsual, {}, 1e9);
  EXPECT_EQ(choice.candidate.num_steps, 16);
  EXPECT_EQ(choice.candidate.num_envs, 128) << "the power of two below 2,100 / 16";
  EXPECT_EQ(choice.candidate.minibatch_size, 128);
  EXPECT_DOUBLE_EQ(choice.candidate.learning_rate, 2.5e-4);
  EXPECT_NE(choice.words.find("T = 16"), std::string::npos);
  EXPECT_NE(choice.words.find("2100 samples"), std::string::npos);
}

TEST(GradientRule, LeavesRoomForUpdates) {
  const GradientChoice choice =
      choose_by_gradient(by_steps({{0.9, 1e6}, {0.9, 1e6}}), kUsual, {}, 50.0 * 256.0);
  EXPECT_EQ(choice.candidate.num_steps, 4);
  EXPECT_EQ(choice.candidate.num_envs, 64);
}

TEST(GradientRule, KeepsHeldKeys) {
  const GradientEvidence gradient = by_steps({{0.2, 100.0}, {0.92, 2100.0}, {0.95, 9000.0}});
  const Candidate long_one{4, 64, 128, 4, 2.5e-4};
  const std::vector<std::string> all{"num_envs", "num_steps", "minibatch_size", "learning_rate"};
  const GradientChoice none = choose_by_gradient(gradient, long_one, all, 1e9);
  EXPECT_EQ(none.candidate, long_one);
  EXPECT_NE(none.words.find("T = 64 is held"), std::string::npos) << none.words;
  EXPECT_NE(none.words.find("learning_rate stay as they were set"), std::string::npos);
  const GradientChoice length = choose_by_gradient(gradient, long_one, {"num_steps"}, 1e9);
  EXPECT_EQ(length.candidate.num_steps, 64);
  EXPECT_EQ(length.candidate.num_envs, 128) << "the critical batch at that T";
  const GradientChoice count = choose_by_gradient(gradient, long_one, {"num_minibatches"}, 1e9);
  EXPECT_EQ(count.candidate.minibatch_size, count.candidate.batch_size() / 2) << "two, as before";
  const GradientChoice unmeasured = choose_by_gradient(gradient, kUsual, {"num_steps"}, 1e9);
  EXPECT_EQ(unmeasured.candidate, kUsual) << "nothing is known of T = 128";
}

TEST(GradientRule, ChangesNothingWithoutMeasurements) {
  const GradientChoice nothing =
      choose_by_gradient(by_steps({{kNotKnown, 100.0}}), kUsual, {}, 1e9);
  EXPECT_EQ(nothing.candidate, kUsual);
  EXPECT_NE(nothing.words.find("cannot be told from zero"), std::string::npos);
  GradientEvidence not_asked;
  not_asked.why_not = "of a reason";
  EXPECT_NE(choose_by_gradient(not_asked, kUsual, {}, 1e9).words.find("of a reason"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
