// best.safetensors: the checkpoint of the best evaluation in training, through resumes, kills and
// equal scores.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

RunHooks stopping_after(int iterations) {
  RunHooks hooks;
  auto made = std::make_shared<int>(0);
  hooks.on_iteration = [made](const Progress&) { ++*made; };
  hooks.should_stop = [made, iterations] { return *made >= iterations; };
  return hooks;
}

class BestCheckpoints : public InFolder {
 protected:
  static Config config(const Overrides& more = {}) {
    return resolved(add_overrides({{"num_envs", "8"},
                                   {"num_steps", "16"},
                                   {"hidden_sizes", "8"},
                                   {"learning_rate", "0.02"},
                                   {"total_timesteps", "1536"},
                                   {"checkpoint_interval", "5"},
                                   {"eval_episodes", "4"},
                                   {"eval_interval", "1"}},
                                  more));
  }

  RunSummary train(const std::string& name, const Overrides& more = {}, int threads = 2,
                   const RunHooks& hooks = {}) {
    const Result<RunSummary> run = start_run(config(more), at(name), threads, hooks);
    EXPECT_TRUE(run.ok()) << run.status().message();
    return run.value();
  }

  // Step and mean return of the first of the best evaluations in the log.
  std::pair<std::int64_t, double> logged_best(const std::string& name) const {
    std::pair<std::int64_t, double> best{0, -1e9};
    std::istringstream lines(read_file(at(name) + "/eval.jsonl").take());
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      if (json["mean_return"] > best.second) best = {json["global_step"], json["mean_return"]};
    }
    return best;
  }

  PolicySource best_of(const std::string& name) const {
    return read_initial_policy(at(name) + "/best.safetensors").take().source;
  }
  Json line_of(const std::string& name) const {
    return Json::parse(read_file(at(name) + "/ledger_line.json").take());
  }
};

TEST_F(BestCheckpoints, AreThoseOfTheBestEvaluation) {
  const RunSummary summary = train("run");
  const auto [step, mean] = logged_best("run");
  ASSERT_GT(step, 0);
  ASSERT_LT(step, 1536) << "the last one shows nothing";
  EXPECT_EQ(best_of("run").global_step, step);
  EXPECT_EQ(summary.best_step, step);
  EXPECT_EQ(summary.best_return, mean);
  EXPECT_TRUE(summary.stopped_by.empty());
  // It scores as it did.
  const Result<EvalResult> again = evaluate_run(find_best_checkpoint(at("run")).take(), {4, 1, 1});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again.value().mean_return, mean);
  EXPECT_EQ(again.value().global_step, step);
  const Json best = line_of("run")["best"];
  EXPECT_EQ(best["file"], "best.safetensors");
  EXPECT_EQ(best["hash"], hash_text(read_file(at("run") + "/best.safetensors").take()));
  EXPECT_EQ(best["global_step"], step);
  EXPECT_EQ(best["mean_return"], mean);
}

TEST_F(BestCheckpoints, HaveTheSameBitsForAnyNumberOfThreadsAndAfterAResume) {
  train("one", {}, 1);
  train("three", {}, 3);
  for (int iterations = 1; iterations < 12; iterations += 3) {
    const std::string name = "stopped" + std::to_string(iterations);
    train(name, {}, 2, stopping_after(iterations));
    ASSERT_TRUE(resume_run(at(name), 1, {}).ok());
    EXPECT_EQ(best_of(name).parameters_hash, best_of("one").parameters_hash) << name;
    EXPECT_EQ(best_of(name).global_step, best_of("one").global_step) << name;
  }
  EXPECT_EQ(best_of("three").parameters_hash, best_of("one").parameters_hash);
  EXPECT_EQ(line_of("three")["result"], line_of("one")["result"]);
}

// Episodes of five steps have a return of 5, whoever plays.
TEST_F(BestCheckpoints, OfEqualScoresStayTheFirst) {
  train("run", {{"max_episode_steps", "5"}, {"eval_interval", "3"}});
  EXPECT_EQ(best_of("run").global_step, 3 * 128);
}

// A process was killed after it had saved the checkpoint, and before the copy.
TEST_F(BestCheckpoints, ComeBackFromTheCheckpointThatTheyAreOf) {
  const Overrides five{{"max_episode_steps", "5"}};
  train("run", five, 1, stopping_after(1));
  const std::string whole = read_file(at("run") + "/best.safetensors").take();
  fs::remove(at("run") + "/best.safetensors");
  ASSERT_TRUE(resume_run(at("run"), 1, stopping_after(1)).ok());
  EXPECT_EQ(read_file(at("run") + "/best.safetensors").take(), whole);
}

// A process was killed in the evaluation after its last iteration.
TEST_F(BestCheckpoints, AResumeMakesUpForTheLastEvaluation) {
  const Overrides rare{{"eval_interval", "1000"}, {"tensorboard", "false"}};
  train("run", rare);
  const RunFolder folder = RunFolder::open(at("run")).take();
  const std::string evaluation = read_file(folder.eval_path()).take();
  const std::string best = read_file(folder.best_path()).take();
  const Json result = line_of("run")["result"];
  const std::string path = find_checkpoint(at("run")).take().path;
  const Checkpoint checkpoint = read_checkpoint(path).take();
  const auto trainer = trainer_of(config(rare));
  ASSERT_TRUE(restore(checkpoint, *trainer).ok());
  LogBytes logs = checkpoint.logs;
  logs.eval = 0;
  ASSERT_TRUE(save_checkpoint(path, *trainer, logs).ok());
  for (const std::string& name : {folder.best_path(), folder.ledger_line_path()}) fs::remove(name);
  RunHooks hooks;
  hooks.on_iteration = [](const Progress&) { ADD_FAILURE() << "trains again"; };
  for (int i = 0; i < 2; ++i) {  // the second time, nothing is left
    const Result<RunSummary> resumed = resume_run(at("run"), 1, hooks);
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_TRUE(resumed.value().finished);
    EXPECT_EQ(resumed.value().best_step, 1536);
    EXPECT_EQ(read_file(folder.eval_path()).value(), evaluation);
    EXPECT_TRUE(read_file(folder.best_path()).value() == best);
    EXPECT_EQ(line_of("run")["result"], result);
  }
}

TEST_F(BestCheckpoints, AreNotThereWithoutEvaluations) {
  const RunSummary summary = train("run", {{"eval_interval", "0"}, {"eval_episodes", "10"}});
  EXPECT_FALSE(fs::exists(at("run") + "/best.safetensors"));
  EXPECT_EQ(summary.best_step, 0);
  EXPECT_FALSE(line_of("run").contains("best"));
  const Status status = find_best_checkpoint(at("run")).status();
  EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
  EXPECT_NE(status.message().find("eval_interval"), std::string::npos) << status.message();
}

TEST_F(BestCheckpoints, OfTheLastEvaluationAreInTheLineOfALongerRun) {
  const Overrides steady{{"lr_schedule", "constant"}};
  train("run", steady);
  ASSERT_TRUE(resume_run(at("run"), 1, {}, 3072).ok());
  train("whole", add_overrides(steady, {{"total_timesteps", "3072"}}));
  EXPECT_EQ(line_of("run")["best"]["global_step"], line_of("whole")["best"]["global_step"]);
  EXPECT_EQ(best_of("run").parameters_hash, best_of("whole").parameters_hash);
  EXPECT_EQ(line_of("run")["best"]["global_step"], logged_best("run").first);
}

}  // namespace
}  // namespace broadloom
