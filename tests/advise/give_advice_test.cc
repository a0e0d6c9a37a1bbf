// Whole advice on budgets of steps, whose result must not depend on the machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>

#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/setup/resolve_config.h"
#include "research/advise/advice_config.h"
#include "research/advise/advise.h"
#include "research/advise/portfolio.h"
#include "research/advise/race.h"
#include "research/report/advice_json.h"
#include "tests/advise/planted_trials.h"
#include "tests/env/simulators.h"

namespace broadloom {
namespace {

// Sixteen lights have one of four levers each, and an episode is one pull. With small steps on
// small blocks, a higher rate learns sooner.
struct Levers {
  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t light;
  };
  static constexpr auto members = std::tuple{&State::light};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Levers-v0";
    spec.observation = Space::discrete(16);
    spec.action = Space::discrete(4);
    spec.max_episode_steps = 10;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 1.0;
    spec.summary = "Find the lever that pays.";
    return spec;
  }
  static void reset(const Params&, State& state, Random& random) {
    state.light = static_cast<std::int32_t>(random.below(16));
  }
  static StepResult step(const Params&, State& state, const float* action, Random&) {
    const int rewarded = state.light * 7 % 16 / 4;
    return {action[0] == static_cast<float>(rewarded) ? 1.0 : 0.0, 1};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.light);
  }
};

// An environment in which actions have no effect.
struct Wall {
  using Params = Levers::Params;
  using Options = Params;
  struct State {
    std::int32_t pulls;
  };
  static constexpr auto members = std::tuple{&State::pulls};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    EnvSpec spec = Levers::spec(params);
    spec.id = "Wall-v0";
    spec.observation = Space::box({0.0f}, {1.0f});
    return spec;
  }
  static void reset(const Params&, State& state, Random&) { state.pulls = 0; }
  static StepResult step(const Params&, State& state, const float*, Random&) {
    ++state.pulls;
    return {-1.0, 0};
  }
  static void observe(const Params&, const State&, float* out) { out[0] = 1.0f; }
};

void register_all() {
  static const bool once = [] {
    EXPECT_TRUE(register_environment<Levers>("Levers-v0").ok());
    EXPECT_TRUE(register_environment<Wall>("Wall-v0").ok());
    register_simulator("Advised-Unsaved-v0", [](auto inner) {
      return std::make_unique<Unsaved>(std::move(inner), "Advised-Unsaved-v0", true);
    });
    register_simulator("Advised-Whole-v0", [](auto inner) {
      return std::make_unique<WholeBatch>(std::move(inner), "Advised-Whole-v0");
    });
    register_simulator("Advised-WithoutFinals-v0", [](auto inner) {
      return std::make_unique<WithoutFinals>(std::move(inner), "Advised-WithoutFinals-v0");
    });
    return true;
  }();
  (void)once;
}

AdviceOptions steps_options(std::int64_t steps, int threads = 2) {
  AdviceOptions options;
  options.steps = steps;
  options.threads = threads;
  return options;
}

Result<AdviceResult> advise_on(const Overrides& given, const AdviceOptions& options,
                               const AdviceHooks& hooks = {}) {
  register_all();
  const Result<Config> base = resolve_config(given);
  if (!base.ok()) return base.status();
  return give_advice(base.value(), given, options, hooks);
}

// Small networks and one shape, so only the rate is open.
Overrides levers() {
  return {{"env_id", "Levers-v0"}, {"hidden_sizes", "8"},    {"num_envs", "8"},
          {"num_steps", "8"},      {"num_minibatches", "1"}, {"update_epochs", "1"}};
}

// Everything except times and the number of threads.
std::string words_of(const AdviceResult& result) {
  Json json = advice_json(result, {});
  json.erase("machine");
  json.erase("created");
  return json.dump(1);
}

TEST(GiveAdvice, FindsTheBestRate) {
  const Result<AdviceResult> result = advise_on(levers(), steps_options(400000));
  ASSERT_TRUE(result.ok()) << result.status().message();
  const AdviceEvidence& evidence = result.value().evidence;
  const Advice& advice = result.value().advice;
  ASSERT_EQ(advice.verdict, AdviceVerdict::kReached) << words_of(result.value());
  double highest = 0.0;
  for (const CandidateEvidence& c : evidence.candidates) {
    highest = std::max(highest, c.candidate.learning_rate);
  }
  EXPECT_EQ(evidence.candidates[advice.order.front()].candidate.learning_rate, highest)
      << advice.answer;
  EXPECT_EQ(result.value().advised.learning_rate, highest);
  EXPECT_EQ(evidence.held, (std::vector<std::string>{"num_envs", "num_steps", "num_minibatches",
                                                     "update_epochs"}));
  EXPECT_GT(evidence.candidates[advice.order.front()].trials.size(), 3U) << "more seeds at the end";
}

// The levers are learnt with a part of the budget; the rest goes to the leading candidates.
TEST(GiveAdvice, MoreSeedsGoToFewerAndFewerCandidates) {
  const Result<AdviceResult> result = advise_on(levers(), steps_options(2000000));
  ASSERT_TRUE(result.ok()) << result.status().message();
  const AdviceEvidence& evidence = result.value().evidence;
  const std::vector<std::size_t>& order = result.value().advice.order;
  ASSERT_GT(order.size(), 3U);
  EXPECT_GT(evidence.candidates[order[0]].trials.size(), 10U);
  for (std::size_t i = 1; i < order.size(); ++i) {
    EXPECT_GE(evidence.candidates[order[i - 1]].trials.size(),
              evidence.candidates[order[i]].trials.size())
        << "place " << i;
  }
  EXPECT_LE(evidence.rungs.back().candidates, 3);
  EXPECT_GE(evidence.rungs.back().cost, 2.0 * evidence.rungs.front().cost * 0.999) << "it went on";
  EXPECT_LE(evidence.spent_steps, 2000000);
}

TEST(GiveAdvice, ProbesAgainHalfWay) {
  AdviceOptions options = steps_options(3000000);
  options.reprobe = true;
  const Result<AdviceResult> result =
      advise_on({{"env_id", "Levers-v0"}, {"hidden_sizes", "8"}}, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const AdviceEvidence& evidence = result.value().evidence;
  if (!evidence.no_changes.empty()) {
    EXPECT_TRUE(evidence.changes.empty());
    EXPECT_TRUE(says(result.value().advice.not_known, {"none was tried"}));
    return;
  }
  ASSERT_GE(evidence.changes.size(), 2U);
  EXPECT_FALSE(evidence.changes[0].candidate.changes());
  EXPECT_TRUE(evidence.changes[1].candidate.changes());
  EXPECT_FALSE(evidence.changes[1].trials.empty());
  EXPECT_TRUE(result.value().advice.change.has_value());
  EXPECT_LE(evidence.spent_steps, 3000000);
  options.rule = AdviceRule::kGradient;
  EXPECT_EQ(advise_on(levers(), options).status().kind(), ErrorKind::kInvalidConfig);
}

// Action values have no probabilities to draw from: the played policy explores.
TEST(GiveAdvice, ExploresATaskAsItsAlgorithmDoes) {
  Overrides given = levers();
  for (const auto& more :
       Overrides{{"algorithm", "pqn"}, {"eps_start", "0.1"}, {"eps_finish", "0.1"}}) {
    given.push_back(more);
  }
  const Result<AdviceResult> result = advise_on(given, steps_options(1000000));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result.value().advised.algorithm, "pqn");
  EXPECT_NE(result.value().advice.verdict, AdviceVerdict::kNothing) << result.value().advice.answer;
}

TEST(GiveAdvice, StepsGiveTheSameWithAnyNumberOfThreads) {
  const Result<AdviceResult> one = advise_on(levers(), steps_options(200000, 1));
  const Result<AdviceResult> three = advise_on(levers(), steps_options(200000, 3));
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(words_of(one.value()), words_of(three.value()));
  EXPECT_EQ(advice_toml(one.value().advised, one.value().advice),
            advice_toml(three.value().advised, three.value().advice));
}

TEST(GiveAdvice, KnownSpeedsTurnStepsIntoSeconds) {
  const Overrides given = levers();
  register_all();
  const Portfolio portfolio = make_portfolio(resolve_config(given).take(), given).take();
  AdviceOptions options = steps_options(200000);
  Config constant = resolve_config(given).take();
  constant.lr_schedule = "constant";
  options.known = {"earlier", to_overrides(constant), {"Abacus", 7}, {}};
  options.known.speeds = {{portfolio.entrants[0].candidate, 5000.0}};
  const Result<AdviceResult> result = advise_on(given, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result.value().evidence.counts_seconds);
  EXPECT_DOUBLE_EQ(result.value().advice.cost.value * 5000.0, result.value().advice.steps.value);
  const std::string& expected = result.value().advice.expected;
  EXPECT_NE(expected.find("on Abacus with 7 threads"), std::string::npos) << expected;
  EXPECT_TRUE(says(result.value().advice.changes_mind, {"on Abacus with 7 threads"}));
  options.known.speeds = {{kWide, 5000.0}};
  EXPECT_EQ(advise_on(given, options).status().kind(), ErrorKind::kInvalidConfig);
  options.known.config = {{"env_id", "Another-v0"}};
  EXPECT_EQ(advise_on(given, options).status().kind(), ErrorKind::kMismatch);
}

TEST(GiveAdvice, AHopelessTaskHasNoWinner) {
  const Result<AdviceResult> result =
      advise_on({{"env_id", "Wall-v0"}, {"hidden_sizes", "8"}}, steps_options(100000));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result.value().advice.verdict, AdviceVerdict::kNothing);
  EXPECT_NE(result.value().advice.answer.find("No advice"), std::string::npos);
}

TEST(GiveAdvice, AnswersFromItsEvidenceWhenStopped) {
  std::atomic<int> asked{0};
  AdviceHooks hooks;
  hooks.should_stop = [&] { return ++asked > 400; };
  const Result<AdviceResult> some = advise_on(levers(), steps_options(4000000), hooks);
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_TRUE(some.value().evidence.interrupted);
  EXPECT_LT(some.value().evidence.spent_steps, 400000);
  hooks.should_stop = [] { return true; };
  const Result<AdviceResult> nothing = advise_on(levers(), steps_options(4000000), hooks);
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
  EXPECT_EQ(nothing.value().advice.verdict, AdviceVerdict::kNothing);
  EXPECT_NE(nothing.value().advice.answer.find("nothing had been evaluated"), std::string::npos);
}

TEST(GiveAdvice, ABudgetOfSecondsEndsInTime) {
  AdviceOptions options;
  options.seconds = 1.0;
  options.threads = 1;
  const Result<AdviceResult> result = advise_on(levers(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result.value().evidence.counts_seconds);
  EXPECT_LT(result.value().evidence.spent_seconds, 30.0) << "a block that is under way is ended";
}

TEST(GiveAdvice, ReportsItsProgress) {
  std::vector<double> shares;
  AdviceHooks hooks;
  hooks.on_progress = [&](const std::string& what, double share) {
    EXPECT_FALSE(what.empty());
    shares.push_back(share);
  };
  ASSERT_TRUE(
      advise_on({{"env_id", "Wall-v0"}, {"hidden_sizes", "8"}}, steps_options(100000, 1), hooks)
          .ok());
  ASSERT_GT(shares.size(), 10U);
  EXPECT_GT(shares.back(), 0.5);
  for (const double share : shares) EXPECT_TRUE(share >= 0.0 && share <= 1.0);
}

TEST(GiveAdvice, SaysOnceThatItIsCheckedBeforeItTrains) {
  int checked = 0, told = 0;
  AdviceHooks hooks;
  hooks.on_progress = [&](const std::string&, double) { told += 1; };
  hooks.on_checked = [&]() -> Status {
    checked += 1;
    EXPECT_EQ(told, 0);
    return {ErrorKind::kIo, "no room"};
  };
  EXPECT_EQ(advise_on(levers(), steps_options(100000), hooks).status().message(), "no room");
  EXPECT_EQ(checked, 1);
  EXPECT_EQ(told, 0);
  Overrides all = levers();
  all.emplace_back("learning_rate", "0.01");
  const Status nothing_left = advise_on(all, steps_options(100000), hooks).status();
  EXPECT_EQ(nothing_left.kind(), ErrorKind::kInvalidConfig) << nothing_left.message();
  EXPECT_EQ(checked, 1) << "a refused config is not checked";
}

TEST(GiveAdvice, TheGradientRuleTriesItsChoice) {
  AdviceOptions options = steps_options(1500000);
  options.rule = AdviceRule::kGradient;
  const Result<AdviceResult> result =
      advise_on({{"env_id", "Levers-v0"}, {"hidden_sizes", "8"}}, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const AdviceEvidence& evidence = result.value().evidence;
  EXPECT_FALSE(evidence.gradient.rows.empty()) << evidence.gradient.why_not;
  EXPECT_FALSE(evidence.rule_words.empty());
  ASSERT_FALSE(result.value().advice.order.empty());
  EXPECT_EQ(result.value().advice.order.front(), evidence.chosen);
}

TEST(GiveAdvice, NamesSimulatorsWithoutAnotherCopy) {
  const Overrides small{{"hidden_sizes", "8"}};
  Overrides unsaved = small;
  unsaved.emplace_back("env_id", "Advised-Unsaved-v0");
  AdviceOptions options = steps_options(250000);
  options.threshold = 30.0;
  const Result<AdviceResult> result = advise_on(unsaved, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_NE(result.value().advice.verdict, AdviceVerdict::kNothing) << result.value().advice.answer;
  EXPECT_TRUE(says(result.value().advice.not_known, {"does not save its state"}));
}

TEST(GiveAdvice, WholeBatchesAreSteppedFromOneThread) {
  const Result<AdviceResult> result =
      advise_on({{"env_id", "Advised-Whole-v0"}, {"hidden_sizes", "8"}}, steps_options(60000, 3));
  EXPECT_TRUE(result.ok()) << result.status().message();  // the simulator checks the thread
}

TEST(GiveAdvice, RefusesAnImpossibleSimulatorBeforeTheStart) {
  const Result<AdviceResult> result =
      advise_on({{"env_id", "Advised-WithoutFinals-v0"}}, steps_options(60000));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("truncation_mode"), std::string::npos)
      << result.status().message();
}

// One shape, 64 steps a block: 4 settings x 3 seeds x 64 steps are 65 % of 1,182.
TEST(GiveAdvice, ABudgetWithoutRoomIsRefusedAndOverspendingIsNoted) {
  const Status refused = advise_on(levers(), steps_options(1000)).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("got 1000, expected at least 1182: "), std::string::npos)
      << refused.message();
  AdviceOptions by_gradient = steps_options(100);
  by_gradient.rule = AdviceRule::kGradient;
  EXPECT_EQ(advise_on(levers(), by_gradient).status().kind(), ErrorKind::kInvalidConfig);
  for (const std::int64_t steps : {1182, 2000, 5000, 100000}) {
    const Result<AdviceResult> result = advise_on(levers(), steps_options(steps));
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result.value().evidence.spent_steps > steps,
              says(result.value().evidence.notes, {"instead of", "whole blocks"}))
        << steps;
    EXPECT_LT(result.value().evidence.spent_steps, 2 * steps);
  }
}

TEST(Race, CountsSeedsThatWereNotCompletedInTime) {
  register_all();
  const Overrides given = levers();
  std::vector<Entrant> entrants =
      make_portfolio(resolve_config(given).take(), given).take().entrants;
  entrants.resize(2);
  AdviceEvidence evidence;
  evidence.counts_seconds = false;
  evidence.threshold = 2.0;  // more than all levers pay
  for (const Entrant& entrant : entrants) {
    evidence.candidates.emplace_back().candidate = entrant.candidate;
  }
  bool stops = false;
  AdviceBudget total_budget(60.0, 100000, [&] { return stops; }, {});
  Race race(entrants, evidence, total_budget, 1);
  race.run({0.0, 2000});
  race.add_seeds({0, 1}, {0.0, 100000}, 3);
  EXPECT_EQ(race.dropped_seeds(), 0);
  EXPECT_EQ(evidence.candidates[0].trials.size(), 3U);
  stops = true;
  race.add_seeds({0, 1}, {0.0, 100000}, 5);
  EXPECT_EQ(race.dropped_seeds(), 2);
  EXPECT_EQ(evidence.candidates[0].trials.size(), 3U);
}

TEST(GiveAdvice, BadInputIsRefused) {
  EXPECT_EQ(advise_on({{"num_envs", "0"}}, steps_options(1000)).status().kind(),
            ErrorKind::kInvalidConfig);
  Overrides linear = levers();
  linear.emplace_back("lr_schedule", "linear");
  EXPECT_EQ(advise_on(linear, steps_options(1000)).status().kind(), ErrorKind::kInvalidConfig);
  AdviceOptions seeds = steps_options(1000);
  seeds.seeds = 0;
  EXPECT_EQ(advise_on(levers(), seeds).status().kind(), ErrorKind::kInvalidConfig);
  Overrides tight{{"env_id", "Levers-v0"}, {"memory_limit", "1"}};
  EXPECT_FALSE(advise_on(tight, steps_options(1000)).ok());
}

TEST(AdviceFile, GivesItsSpeedsBack) {
  const std::string folder = ::testing::TempDir() + "/advice_file";
  std::filesystem::create_directories(folder);
  AdviceEvidence evidence = planted_race();
  evidence.config = {{"env_id", "Planted-v0"}, {"gamma", "0.98"}};
  evidence.speeds_from = {"Abacus", 7};
  const AdviceResult result{evidence, advice_of(evidence), Config{}};
  const std::string path = folder + "/advice.json";
  std::ofstream(path) << advice_json(result, {"advise"}).dump();
  const Result<KnownSpeeds> known = read_speeds(path);
  ASSERT_TRUE(known.ok()) << known.status().message();
  ASSERT_EQ(known.value().speeds.size(), 4U);
  EXPECT_EQ(known.value().speeds[2].candidate, kWide);
  EXPECT_DOUBLE_EQ(known.value().speeds[2].steps_per_second, 1000.0);
  EXPECT_EQ(known.value().file, path);
  EXPECT_EQ(known.value().config, evidence.config);
  EXPECT_EQ(known.value().source.cpu, "Abacus");
  EXPECT_EQ(known.value().source.threads, 7);
  evidence.config.clear();  // as of a version that did not write it
  std::ofstream(path) << advice_json({evidence, result.advice, Config{}}, {"advise"}).dump();
  EXPECT_EQ(read_speeds(path).status().kind(), ErrorKind::kCorrupt);
  for (const char* text : {"", "{", "{\"kind\": \"advice\"}", "{\"kind\": 3, \"format\": 1}",
                           "{\"kind\": \"advice\", \"format\": 1, \"candidates\": [1, null]}"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(read_speeds(path).status().kind(), ErrorKind::kCorrupt) << text;
  }
  EXPECT_EQ(read_speeds(folder + "/none").status().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace broadloom
