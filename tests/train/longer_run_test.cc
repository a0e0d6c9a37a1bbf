// Runs that are made longer have the bits of a run that was this long from the start, and their
// records note it.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

class LongerRuns : public InFolder {
 protected:
  // 128 steps per iteration; periodic tasks do not fall on the ends.
  void train(const std::string& name, std::int64_t total, const Overrides& overrides = {},
             const RunHooks& hooks = {}) {
    Overrides all{{"env_id", "CartPole-v1"},
                  {"num_envs", "8"},
                  {"num_steps", "16"},
                  {"hidden_sizes", "8,8"},
                  {"lr_schedule", "constant"},
                  {"eval_interval", "4"},
                  {"log_interval", "3"},
                  {"checkpoint_interval", "5"},
                  {"instruments", "gradient,coverage"},
                  {"instrument_every", "4"},
                  {"total_timesteps", std::to_string(total)}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Result<RunSummary> run = start_run(resolve_config(all).take(), at(name), 2, hooks);
    ASSERT_TRUE(run.ok()) << run.status().message();
  }

  void extend(const std::string& name, std::int64_t total, int threads = 1) {
    const Result<RunSummary> run = resume_run(at(name), threads, {}, total);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run.value().finished);
  }

  std::string line(const std::string& name) const {
    return read_ledger_line(at(name) + "/ledger_line.json", 1).take();
  }
  std::string manifest(const std::string& name) const {
    return read_file(at(name) + "/manifest.json").take();
  }

  void expect_alike(const std::string& a, const std::string& b) const {
    const std::vector<FieldComparison> fields = compare_ledger_lines(line(a), line(b));
    EXPECT_GT(fields.size(), 80U);
    for (const FieldComparison& field : fields) {
      if (field.rule != FieldRule::kExact) continue;
      EXPECT_TRUE(field.agrees) << field.name << ": " << field.recorded << " | " << field.rerun;
    }
  }
};

RunHooks stopping_after(std::int64_t iterations) {
  RunHooks hooks;
  auto made = std::make_shared<std::int64_t>(0);
  hooks.on_iteration = [made](const Progress&) { ++*made; };
  hooks.should_stop = [made, iterations] { return *made >= iterations; };
  return hooks;
}

TEST_F(LongerRuns, HaveTheBitsOfThoseThatWereAsLongFromTheStart) {
  for (const char* schedule : {"constant", "adaptive"}) {
    const Overrides overrides{{"lr_schedule", schedule}};
    const std::string name = schedule;
    train(name + "_whole", 2000, overrides);
    train(name, 900, overrides);
    extend(name, 1300);
    extend(name, 2000, 3);
    expect_alike(name + "_whole", name);
    train(name + "_stopped", 900, overrides, stopping_after(3));
    extend(name + "_stopped", 2000);
    expect_alike(name + "_whole", name + "_stopped");
  }
}

TEST_F(LongerRuns, SayWhatTheyWere) {
  train("run", 900);
  const Json first = Json::parse(line("run"));
  EXPECT_FALSE(first["run"].contains("extended_from"));
  extend("run", 1300);
  const Json second = Json::parse(line("run"));
  EXPECT_EQ(second["run"]["extended_from"], Json({900}));
  EXPECT_EQ(second["config"]["total_timesteps"], "1300");
  EXPECT_EQ(second["result"]["global_step"], 1280);
  extend("run", 2000);
  const Json third = Json::parse(line("run"));
  EXPECT_EQ(third["run"]["extended_from"], Json({900, 1300}));
  EXPECT_EQ(Json::parse(manifest("run"))["extended_from"], Json({900, 1300}));
  EXPECT_EQ(Json::parse(manifest("run"))["config"]["total_timesteps"], "2000");
  EXPECT_EQ(third["run"]["created"], first["run"]["created"]);
  const std::string before = manifest("run");
  extend("run", 2000);  // as long as it is
  EXPECT_EQ(manifest("run"), before);
}

// The folder keeps the old ledger line until the new end, and no resume takes it for the new one.
TEST_F(LongerRuns, StoppedOnTheWayGoOnToTheNewEnd) {
  train("whole", 2000);
  train("run", 900);
  const std::string old_line = line("run");
  const Result<RunSummary> stopped = resume_run(at("run"), 1, stopping_after(2), 2000);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_FALSE(stopped.value().finished);
  EXPECT_EQ(line("run"), old_line);
  const Result<RunSummary> resumed = resume_run(at("run"), 2, {});
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(resumed.value().global_step, 1920);
  expect_alike("whole", "run");
  EXPECT_EQ(Json::parse(manifest("run"))["extended_from"], Json({900}));
}

// A kill just after the manifest was written.
TEST_F(LongerRuns, GoOnFromACheckpointOfTheOldLength) {
  train("whole", 2000);
  train("run", 900);
  Json changed = Json::parse(manifest("run"));
  changed["config"]["total_timesteps"] = "2000";
  changed["extended_from"] = {900};
  ASSERT_TRUE(write_file_atomically(at("run") + "/manifest.json", changed.dump(2)).ok());
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  expect_alike("whole", "run");
}

TEST_F(LongerRuns, AreRefusedWhereTheTotalDecidesWhatIsLearnt) {
  train("run", 900, {{"lr_schedule", "linear"}});
  const std::string before = manifest("run"), old_line = line("run");
  const Status status = resume_run(at("run"), 1, {}, 2000).status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  for (const char* word : {"total_timesteps: got 2000", "lr_schedule = linear", "900", "--init"}) {
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  }
  EXPECT_EQ(manifest("run"), before);
  EXPECT_EQ(line("run"), old_line);
  EXPECT_TRUE(resume_run(at("run"), 1, {}, 900).ok());
}

// A value that falls is at its end when the run ends, and stays there.
TEST_F(LongerRuns, KeepTheRateThatTheirScheduleCameTo) {
  const Overrides falling{{"lr_schedule", "linear"}, {"learning_rate_end", "1e-4"}};
  Overrides from_the_start = falling;
  from_the_start.emplace_back("schedule_timesteps", "900");
  train("whole", 2000, from_the_start);
  train("run", 900, falling);
  std::vector<std::string> notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(resume_run(at("run"), 1, hooks, 1300).ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "the learning rate stays at 0.0001, its value after the run's first 900 steps; "
            "its record says so (schedule_timesteps = 900)");
  extend("run", 2000, 3);
  expect_alike("whole", "run");
  const Json last = Json::parse(line("run"));
  EXPECT_EQ(last["config"]["schedule_timesteps"], "900");
  EXPECT_EQ(last["run"]["extended_from"], Json({900, 1300}));
  const RerunPlan plan = plan_rerun(line("run")).take();
  EXPECT_TRUE(rerun(line("run"), plan, at("again"), 1, {}).take().agrees());
  train("stopped", 900, falling, stopping_after(3));
  extend("stopped", 2000);
  expect_alike("whole", "stopped");
}

TEST_F(LongerRuns, AreAskedForBySoManyMoreSteps) {
  train("run", 900);
  EXPECT_EQ(total_with_more(at("run"), 400).value(), 1300);
  for (const std::int64_t wrong :
       {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::max()}) {
    const Status status = total_with_more(at("run"), wrong).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("more_timesteps: got"), std::string::npos) << status.message();
  }
  EXPECT_EQ(total_with_more(at("none"), 1).status().kind(), ErrorKind::kNotFound);
}

TEST_F(LongerRuns, NeverGetShorter) {
  train("run", 900);
  train("stopped", 900, {}, stopping_after(2));
  for (const char* name : {"run", "stopped"}) {
    const std::string before = manifest(name);
    const Status status = resume_run(at(name), 1, {}, 640).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("got 640"), std::string::npos) << status.message();
    EXPECT_EQ(manifest(name), before);
  }
}

// 896 steps are 7 blocks of 128, and so are all totals below 1,024.
TEST_F(LongerRuns, AreRefusedWhereNoMoreBlocksFit) {
  train("run", 900);
  train("stopped", 900, {}, stopping_after(2));
  for (const char* name : {"run", "stopped"}) {
    const std::string before = manifest(name);
    const Status status = resume_run(at(name), 1, {}, 1023).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    for (const char* word : {"got 1023", "blocks of 128", "expected at least 1024"}) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
    EXPECT_EQ(manifest(name), before);
    EXPECT_TRUE(resume_run(at(name), 1, {}, 1024).ok());
  }
}

}  // namespace
}  // namespace broadloom
