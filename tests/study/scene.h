// A small study and the contents of its store.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "research/study/runner.h"
#include "research/study/sqlite.h"

namespace broadloom {

inline StudyPlan plan_text(const std::string& text) {
  const Result<StudySpec> spec = parse_study(text, "study.toml");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  const Result<StudyPlan> plan = plan_study(spec.value());
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.value();
}

// Six runs, the last cell's with instruments.
inline StudyPlan small_plan() {
  return plan_text(
      "seeds = 2\npoints = 7\nevaluations = 3\nmatch = 'none'\n"
      "[base]\ntotal_timesteps = 1000\nhidden_sizes = [8]\neval_episodes = 2\n"
      "instrument_every = 2\n"
      "[[variants]]\nname = 'a'\nnum_envs = 6\nnum_steps = 16\n"
      "[[variants]]\nname = 'b'\nnum_envs = 2\nnum_steps = 16\n"
      "[[variants]]\nname = 'c'\nnum_envs = 4\nnum_steps = 16\ninstruments = 'gradient'\n");
}

class StudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("broadloom_study_") + test->name() + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Result<StudySummary> run(const StudyPlan& plan, const std::string& name, int jobs = 1,
                           StudyPart part = {}, const StudyHooks& hooks = {}) const {
    StudyOptions options;
    options.store = path(name);
    options.jobs = jobs;
    options.part = part;
    return run_study(plan, options, hooks);
  }

  // All rows except wall-clock columns.
  std::string dump(const std::string& name) const {
    Result<Database> database = Database::open(path(name));
    EXPECT_TRUE(database.ok()) << database.status().message();
    std::string out;
    for (const char* query :
         {"SELECT name || hash || definition || matched || shard || shards FROM study",
          "SELECT json_array(id, name, changes, config, gradient_steps) FROM cells ORDER BY id",
          "SELECT json_array(id, cell_id, seed, config_hash, status, error, parameters_hash) FROM "
          "runs ORDER BY id",
          "SELECT json_array(run_id, point, environment_steps, global_step, iteration) FROM points "
          "ORDER BY run_id, point",
          "SELECT run_id || key || point || printf('%!.17g', value) FROM metrics "
          "ORDER BY run_id, key, point",
          "SELECT json_array(run_id, global_step, episodes, mean_return, mean_length) FROM "
          "evaluations ORDER BY run_id, global_step"}) {
      Result<Statement> rows = database.value().prepare(query);
      EXPECT_TRUE(rows.ok()) << rows.status().message();
      while (true) {
        const Result<bool> more = rows.value().next();
        EXPECT_TRUE(more.ok()) << more.status().message();
        if (!more.ok() || !more.value()) break;
        out += rows.value().text(0) + "\n";
      }
    }
    return out;
  }

  void change(const std::string& name, const std::string& sql) const {
    Result<Database> database = Database::open(path(name));
    ASSERT_TRUE(database.ok()) << database.status().message();
    const Status status = database.value().run(sql);
    ASSERT_TRUE(status.ok()) << status.message();
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace broadloom
