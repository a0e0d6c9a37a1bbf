// stop_at_return: runs that end once they are good enough, what their records say, and how they go
// on all the same.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/train/ranked_run.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "tests/ranks/thread_ranks.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

// Episodes of five steps have a return of 5, whoever plays; eight environments end some 25 in a
// block of 128 steps.
class StoppedRuns : public InFolder {
 protected:
  static Config config(const Overrides& more = {}) {
    return resolved(add_overrides({{"num_envs", "8"},
                                   {"num_steps", "16"},
                                   {"hidden_sizes", "8"},
                                   {"max_episode_steps", "5"},
                                   {"total_timesteps", "1536"},
                                   {"log_interval", "4"},
                                   {"checkpoint_interval", "4"}},
                                  more));
  }

  RunSummary train(const std::string& name, const Overrides& more = {}, int threads = 2,
                   const RunHooks& hooks = {}) {
    const Result<RunSummary> run = start_run(config(more), at(name), threads, hooks);
    EXPECT_TRUE(run.ok()) << run.status().message();
    return run.value();
  }

  std::string text_of_line(const std::string& name) const {
    return read_ledger_line(at(name) + "/ledger_line.json", 1).take();
  }
  Json line_of(const std::string& name) const { return Json::parse(text_of_line(name)); }

  Json last_metrics(const std::string& name) const {
    std::istringstream lines(read_file(at(name) + "/metrics.jsonl").take());
    std::string last;
    for (std::string line; std::getline(lines, line);) last = line;
    return Json::parse(last);
  }
};

const Overrides kByEvaluation{
    {"stop_at_return", "5"}, {"eval_interval", "3"}, {"eval_episodes", "4"}};

TEST_F(StoppedRuns, EndAfterAnEvaluationThatReachesIt) {
  const RunSummary summary = train("run", kByEvaluation);
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.global_step, 3 * 128);
  EXPECT_EQ(summary.total_timesteps, 1536);
  EXPECT_EQ(summary.stopped_by, "stop_at_return");
  EXPECT_EQ(summary.stopped_return, 5.0);
  EXPECT_EQ(last_metrics("run")["iteration"], 3);  // logged and saved as a last one is
  const Json line = line_of("run");
  EXPECT_EQ(line["run"]["stopped"],
            Json({{"by", "stop_at_return"}, {"mean_return", 5.0}, {"of", "evaluation"}}));
  EXPECT_EQ(line["result"]["global_step"], 3 * 128);
  EXPECT_EQ(line["checkpoint"]["file"], "checkpoints/iteration_0000000003.safetensors");
  EXPECT_EQ(line["config"]["stop_at_return"], "5");
  const RunSummary never =
      train("never", add_overrides(kByEvaluation, {{"stop_at_return", "5.5"}}));
  EXPECT_EQ(never.global_step, 1536);
  EXPECT_TRUE(never.stopped_by.empty());
  EXPECT_TRUE(std::isnan(never.stopped_return));
  EXPECT_FALSE(line_of("never")["run"].contains("stopped"));
}

TEST_F(StoppedRuns, WithoutEvaluationsEndOnceTheLastHundredEpisodesReachIt) {
  const RunSummary summary = train("run", {{"stop_at_return", "5"}});
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.stopped_by, "stop_at_return");
  EXPECT_GE(summary.averaged_episodes, 100);
  // One block less had not so many.
  EXPECT_LT(summary.episodes - static_cast<std::int64_t>(last_metrics("run")["episodes"]), 100);
  EXPECT_EQ(line_of("run")["run"]["stopped"]["of"], "training");
  // The library's own loop ends there, too.
  const std::unique_ptr<Trainer> trainer = trainer_of(config({{"stop_at_return", "5"}}));
  while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_EQ(trainer->report().global_step, summary.global_step);
}

// The run learnt the same as one without the key in as many steps, for any number of threads and
// stops.
TEST_F(StoppedRuns, HaveTheBitsOfTheRunThatTheyCutShort) {
  for (const bool by_evaluation : {true, false}) {
    const Overrides how = by_evaluation ? kByEvaluation : Overrides{{"stop_at_return", "5"}};
    const std::string kind = by_evaluation ? "evaluation" : "training";
    train(kind + "_one", how, 1);
    train(kind + "_three", how, 3);
    const Json one = line_of(kind + "_one");
    EXPECT_EQ(line_of(kind + "_three")["result"], one["result"]);
    const std::unique_ptr<Trainer> plain = trainer_of(config());
    run(*plain, static_cast<int>(one["result"]["iterations"]));
    const std::string params(reinterpret_cast<const char*>(plain->params()),
                             plain->network().parameter_count() * sizeof(float));
    EXPECT_EQ(one["result"]["parameters_hash"], hash_text(params));
    RunHooks hooks;
    hooks.should_stop = [] { return true; };
    train(kind + "_again", how, 2, hooks);
    ASSERT_TRUE(resume_run(at(kind + "_again"), 1, {}).ok());
    EXPECT_EQ(line_of(kind + "_again")["result"], one["result"]);
    EXPECT_EQ(line_of(kind + "_again")["run"]["stopped"], one["run"]["stopped"]);
    const std::string line = text_of_line(kind + "_one");
    const RerunPlan plan = plan_rerun(line).take();
    EXPECT_TRUE(rerun(line, plan, at(kind + "_rerun"), 1, {}).take().agrees());
  }
}

// The first rank alone evaluates, and the others end with it.
TEST_F(StoppedRuns, OfSeveralRanksEndTogether) {
  for (const bool by_evaluation : {true, false}) {
    const Overrides how = by_evaluation ? kByEvaluation : Overrides{{"stop_at_return", "5"}};
    const std::string name = by_evaluation ? "evaluation" : "training";
    train(name, how, 1);
    ThreadWorld world(3);
    world.run([&](Ranks& ranks) {
      if (ranks.is_first()) {
        const Result<RunSummary> run =
            start_run(config(how), at(name + "_ranks"), 1, {}, {}, {}, ranks);
        EXPECT_TRUE(run.ok()) << run.status().message();
        return;
      }
      const Result<std::optional<RankedRun>> run = join_run(ranks);
      ASSERT_TRUE(run.ok() && run.value());
      EXPECT_TRUE(follow_run(*run.value(), 1, ranks, {}).ok());
    });
    EXPECT_EQ(line_of(name + "_ranks")["result"], line_of(name)["result"]);
    EXPECT_EQ(line_of(name + "_ranks")["run"]["stopped"], line_of(name)["run"]["stopped"]);
    if (!by_evaluation) continue;
    EXPECT_EQ(line_of(name + "_ranks")["best"]["global_step"],
              line_of(name)["best"]["global_step"]);
  }
}

TEST_F(StoppedRuns, AreOverForAResume) {
  for (const bool by_evaluation : {true, false}) {
    const std::string name = by_evaluation ? "evaluation" : "training";
    train(name, by_evaluation ? kByEvaluation : Overrides{{"stop_at_return", "5"}});
    const std::string line = text_of_line(name);
    const Result<RunSummary> over = resume_run(at(name), 1, {});
    ASSERT_TRUE(over.ok()) << over.status().message();
    EXPECT_TRUE(over.value().finished);
    EXPECT_EQ(over.value().stopped_by, "stop_at_return");
    EXPECT_EQ(text_of_line(name), line);
  }
}

TEST_F(StoppedRuns, GoOnToAHigherReturnOrToTheEnd) {
  train("whole", add_overrides(kByEvaluation, {{"stop_at_return", "none"}}));
  for (const char* stop : {"none", "6"}) {
    const std::string name = std::string("run_") + stop;
    train(name, kByEvaluation);
    const Result<RunSummary> longer = resume_run(at(name), 1, {}, 0, {{"stop_at_return", stop}});
    ASSERT_TRUE(longer.ok()) << longer.status().message();
    EXPECT_EQ(longer.value().global_step, 1536);
    EXPECT_EQ(line_of(name)["result"], line_of("whole")["result"]);
    EXPECT_FALSE(line_of(name)["run"].contains("stopped"));
    const std::string line = text_of_line(name);
    const RerunPlan plan = plan_rerun(line).take();
    EXPECT_TRUE(rerun(line, plan, at(name + "_rerun"), 1, {}).take().agrees());
  }
}

TEST_F(StoppedRuns, TakeNoReturnThatTheyMayHavePassed) {
  train("run", kByEvaluation);
  train("plain");
  const auto refused = [&](const char* name, const char* stop, const char* words) {
    const Status status = resume_run(at(name), 1, {}, 0, {{"stop_at_return", stop}}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  refused("run", "4", "got 4");
  refused("run", "much", "stop_at_return: got 'much'");
  refused("plain", "5", "has none");
}

}  // namespace
}  // namespace broadloom
