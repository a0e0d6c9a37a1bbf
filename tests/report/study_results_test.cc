#include "research/report/study_results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/record/files.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

using ReadResults = PlantedTest;

TEST_F(ReadResults, ReadEverything) {
  const StudyPlan plan = ladder_plan(2);
  plant(
      plan, "s",
      [](int cell, int seed) -> std::optional<double> {
        if (cell == 2 && seed == 2) return std::nullopt;
        if (cell == 1 && seed == 1) return kNoReturn;
        return 10.0 * cell + seed;
      },
      [](int cell, int seed) { return cell == 0 && seed == 2; });
  const Result<StudyResults> read = read_study_results(path("s"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const StudyResults& r = read.value();
  EXPECT_EQ(r.hash, plan.hash);
  EXPECT_EQ(r.definition, plan.definition);
  EXPECT_EQ(r.matched, "minibatch_count");
  ASSERT_EQ(r.cells.size(), 3U);
  EXPECT_EQ(r.cells[1].name, "8x8");
  EXPECT_EQ(r.cells[1].setting("env_id"), "CartPole-v1");
  EXPECT_EQ(r.cells[1].setting("no such key"), "");
  EXPECT_EQ(r.cells[1].env_id, "CartPole-v1");
  EXPECT_EQ(r.cells[1].total_timesteps, 102400);
  EXPECT_EQ(r.cells[1].eval_episodes, 10);
  EXPECT_TRUE(r.cells[1].shape_schedule.empty());
  EXPECT_EQ(r.cells[1].gradient_steps, 25600);
  ASSERT_EQ(r.runs.size(), 6U);
  EXPECT_TRUE(r.runs[0].finished());
  EXPECT_EQ(r.runs[0].training_return, 1.0);
  EXPECT_EQ(r.runs[0].evaluation_return, 101.0);
  EXPECT_EQ(r.runs[0].steps, (std::vector<double>{25600, 51200, 76800, 102400}));
  EXPECT_EQ(r.runs[0].values.at("entropy"), (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  EXPECT_TRUE(std::isnan(r.runs[1].training_return));
  EXPECT_TRUE(r.runs[3].failed());
  EXPECT_EQ(r.runs[3].error, "the loss is not finite");
  EXPECT_TRUE(r.runs[3].steps.empty());
  EXPECT_EQ(r.runs[5].status, "pending");
}

TEST_F(ReadResults, SettingsAreParsedOnceOrRefused) {
  plant(ladder_plan(1,
                    "env_id = 'FrozenLake-v1'\nenv.is_slippery = false\nmax_episode_steps = 50\n"
                    "target_kl = 0.5\n"),
        "s", [](int, int) { return 1.0; });
  const StudyResults r = read_study_results(path("s")).value();
  EXPECT_EQ(r.cells[0].max_episode_steps, 50);
  EXPECT_EQ(r.cells[0].target_kl, 0.5);
  EXPECT_NE(std::find(r.cells[0].env_options.begin(), r.cells[0].env_options.end(),
                      std::pair<std::string, std::string>("is_slippery", "false")),
            r.cells[0].env_options.end());
  // A store that lacks a newer key has its default.
  change("s", "UPDATE cells SET config = json_remove(config, '$.target_kl')");
  EXPECT_EQ(read_study_results(path("s")).value().cells[0].target_kl, 0.0);
  change("s", "UPDATE cells SET config = json_set(config, '$.eval_episodes', 'many')");
  const Status status = read_study_results(path("s")).status();
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt);
  EXPECT_NE(status.message().find("cell 4x16 has eval_episodes: "), std::string::npos)
      << status.message();
}

TEST_F(ReadResults, AStoreIsReadUnchangedWhileARunnerHoldsIt) {
  const StudyPlan plan = ladder_plan(1);
  Result<StudyStore> runner = StudyStore::open(path("s"), plan, {}, false);
  ASSERT_TRUE(runner.ok());
  ASSERT_TRUE(runner.value().write(planted_run(plan, 1, 0, 5.0)).ok());
  const std::string before = read_file(path("s")).value();
  Result<StudyResults> read = read_study_results(path("s"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().runs[0].training_return, 5.0);
  EXPECT_EQ(read_file(path("s")).value(), before);
  // The runner continues, and the next reading sees its results.
  ASSERT_TRUE(runner.value().write(planted_run(plan, 2, 1, 6.0)).ok());
  EXPECT_EQ(read_study_results(path("s")).value().runs[1].training_return, 6.0);
}

TEST_F(ReadResults, OtherFilesAreRefused) {
  const auto refused = [&](const std::string& name, ErrorKind kind, const std::string& words) {
    const Status status = read_study_results(path(name)).status();
    EXPECT_EQ(status.kind(), kind) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  };
  refused("none", ErrorKind::kNotFound, "No such file");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  ASSERT_TRUE(write_file_atomically(path("text"), std::string(5000, 'x')).ok());
  refused("text", ErrorKind::kMismatch, "SQLite database");
  ASSERT_TRUE(write_file_atomically(path("empty"), "").ok());
  refused("empty", ErrorKind::kMismatch, "has not begun");
  const StudyPlan plan = ladder_plan(1);
  const auto planted = [&](const std::string& name) {
    plant(plan, name, [](int, int) { return 1.0; });
  };
  planted("other");
  change("other", "PRAGMA application_id = 5");
  refused("other", ErrorKind::kMismatch, "another program's database");
  planted("format");
  change("format", "PRAGMA user_version = 99");
  refused("format", ErrorKind::kMismatch, "is a store of format 99");
  planted("cut");
  const std::string bytes = read_file(path("cut")).value();
  ASSERT_TRUE(write_file_atomically(path("cut"), bytes.substr(0, bytes.size() / 2)).ok());
  refused("cut", ErrorKind::kCorrupt, "damaged");
  planted("table");
  change("table", "DROP TABLE evaluations; DROP VIEW scores");
  refused("table", ErrorKind::kCorrupt, "its 'evaluations' is not the table of a store");
  planted("json");
  change("json", "UPDATE cells SET config = 'x' WHERE id = 2");
  refused("json", ErrorKind::kCorrupt, "JSON object");
  planted("cell");
  change("cell", "PRAGMA foreign_keys = OFF; UPDATE runs SET cell_id = 9 WHERE id = 2");
  refused("cell", ErrorKind::kCorrupt, "is damaged (runs refer");
  planted("size");
  change("size", "UPDATE cells SET num_envs = 0");
  refused("size", ErrorKind::kCorrupt, "cell 4x16 has a size below 1");
  planted("study");
  change("study", "DELETE FROM study");
  refused("study", ErrorKind::kCorrupt, "describes 0 studies");
}

}  // namespace
}  // namespace broadloom
