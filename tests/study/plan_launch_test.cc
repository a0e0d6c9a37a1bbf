// Predictions of runs' times and the parts made from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "broadloom/train/contract.h"
#include "research/study/queue_launcher.h"
#include "tests/study/scene.h"

namespace broadloom {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Three cells of one seed; the second has four times the steps of the first.
StudyPlan three_cells() {
  return plan_text(
      "seeds = 4\nmatch = 'none'\nevaluations = 0\n"
      "[base]\nhidden_sizes = [8]\nnum_envs = 4\nnum_steps = 16\n"
      "[[variants]]\nname = 'short'\ntotal_timesteps = 6400\n"
      "[[variants]]\nname = 'long'\ntotal_timesteps = 25600\n"
      "[[variants]]\nname = 'wide'\ntotal_timesteps = 6400\nhidden_sizes = [64, 64]\ngamma = "
      "0.9\n");
}

std::vector<StoredRun> all_pending(const StudyPlan& plan) {
  std::vector<StoredRun> runs;
  for (const StudyRun& run : plan.runs) {
    StoredRun stored;
    stored.id = run.id;
    stored.cell = run.cell;
    stored.status = "pending";
    runs.push_back(stored);
  }
  return runs;
}

void finish(StoredRun& run, double seconds) {
  run.status = "finished";
  run.whole_seconds = seconds;
}

TEST(Predict, StoredRunsCountBeforeTiming) {
  const StudyPlan plan = three_cells();
  std::vector<StoredRun> stored = all_pending(plan);
  finish(stored[0], 30.0);
  finish(stored[3], 50.0);
  stored[6].status = "failed";  // its time is no measure of a run's
  stored[6].whole_seconds = 1e6;
  finish(stored[1], 7.0);
  finish(stored[2], 3.0);
  const Result<std::vector<CellPrediction>> cells = predict_cells(plan, stored, {});
  ASSERT_TRUE(cells.ok()) << cells.status().message();
  EXPECT_EQ(cells.value()[0].source, PredictionSource::kRuns);
  EXPECT_DOUBLE_EQ(cells.value()[0].seconds, 40.0);
  EXPECT_DOUBLE_EQ(cells.value()[1].seconds, 7.0);
  EXPECT_DOUBLE_EQ(cells.value()[2].seconds, 3.0);
}

TEST(Predict, UntimedCellsAreAsFastAsTheMostSimilarOne) {
  const StudyPlan plan = three_cells();
  std::vector<StoredRun> stored = all_pending(plan);
  finish(stored[0], 40.0);
  finish(stored[2], 2.0);
  PredictOptions options;
  options.should_stop = [] { return true; };
  const Result<std::vector<CellPrediction>> cells = predict_cells(plan, stored, options);
  ASSERT_TRUE(cells.ok()) << cells.status().message();
  EXPECT_EQ(cells.value()[1].source, PredictionSource::kOtherCell);
  EXPECT_EQ(cells.value()[1].other_cell, 0U);  // it differs only in its steps
  EXPECT_DOUBLE_EQ(cells.value()[1].seconds, 160.0);
  EXPECT_EQ(predict_cells(plan, all_pending(plan), options).status().kind(), ErrorKind::kNumeric);
}

TEST(Predict, TimesEveryCellIfThereIsTime) {
  const StudyPlan plan = three_cells();
  std::vector<std::string> reported;
  PredictOptions options;
  options.seconds = 0.3;
  options.tell = [&](const std::string& cell) { reported.push_back(cell); };
  const Result<std::vector<CellPrediction>> cells = predict_cells(plan, all_pending(plan), options);
  ASSERT_TRUE(cells.ok()) << cells.status().message();
  EXPECT_GE(reported.size(), 1U);
  for (std::size_t c = 0; c < 3; ++c) {
    const bool was_reported =
        std::find(reported.begin(), reported.end(), plan.cells[c].name) != reported.end();
    EXPECT_EQ(cells.value()[c].source,
              was_reported ? PredictionSource::kTiming : PredictionSource::kOtherCell);
    EXPECT_GT(cells.value()[c].seconds, 0.0);
    EXPECT_LT(cells.value()[c].seconds, 3600.0);
  }
}

TEST(Predict, MemoryIsForTheLargestCell) {
  const StudyPlan plan =
      plan_text("seeds = 1\n[base]\ntotal_timesteps = 10_000_000\n[grid]\nnum_envs = [4, 32768]\n");
  const auto bytes = [&](const std::vector<const StudyRun*>& runs) {
    const Result<std::size_t> memory = job_memory(plan, runs, 1);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return memory.value();
  };
  const std::size_t small = bytes({&plan.runs[0]}), both = bytes({&plan.runs[0], &plan.runs[1]});
  EXPECT_EQ(both, bytes({&plan.runs[1]}));
  EXPECT_LT(small, both);
  EXPECT_EQ(small % (64 * kMiB), 0U);
  const std::size_t planned = make_contract(plan.cells[1].config, 1).value().memory.total();
  EXPECT_GE(both, planned + planned / 4);
  EXPECT_LE(both, planned + planned / 4 + 256 * kMiB);
}

// A queue that accepts jobs up to a time limit.
class LimitedQueue : public JobQueue {
 public:
  explicit LimitedQueue(int minutes) : minutes_(minutes) {}
  const char* title() const override { return "Limited"; }
  Status check() const override { return {}; }
  Result<JobLimits> place(const JobLimits& limits, const std::string&) const override {
    if (limits.minutes > minutes_) return invalid("too long");
    return limits;
  }
  Result<std::string> script(const JobArray&) const override { return std::string(); }
  Result<std::string> submit(const JobArray&, const std::string&) const override {
    return std::string("1");
  }
  Result<std::vector<QueuedJob>> unfinished(const std::string&) const override {
    return std::vector<QueuedJob>();
  }
  std::string cancel_words(const std::string&) const override { return ""; }
  std::string job_name(const std::string&, int) const override { return ""; }

 private:
  int minutes_;
};

class PlanLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    stored_ = all_pending(plan_);
    for (int cell = 0; cell < 3; ++cell) finish(stored_[static_cast<std::size_t>(cell)], 200.0);
  }
  // Nine runs of 200 s are left.
  Result<LaunchPlan> launch(int minutes, int parts = 0, int jobs = 0, int limit = 0) {
    LaunchOptions options;
    options.parts = parts;
    options.study.jobs = jobs;
    options.minutes = limit;
    return plan_launch(plan_, stored_, options, LimitedQueue(minutes), {});
  }

  StudyPlan plan_ = three_cells();
  std::vector<StoredRun> stored_;
};

TEST_F(PlanLaunch, PartsTakeTenMinutesByDefault) {
  EXPECT_EQ(launch(100000).value().parts.size(), 3U);
  EXPECT_DOUBLE_EQ(launch(100000).value().seconds, 1800.0);
  EXPECT_EQ(launch(100000).value().limits.minutes, minutes_for(600.0));
  EXPECT_EQ(launch(100000, 0, 5).value().parts.size(), 5U);
  EXPECT_EQ(launch(100000, 2, 5).value().parts.size(), 2U);
  EXPECT_EQ(launch(100000, 0, 100).value().parts.size(), 9U);
  EXPECT_EQ(launch(100000, 100).value().parts.size(), 9U);
}

TEST_F(PlanLaunch, ShortPartitionsGetMoreAndSmallerParts) {
  // Two runs take 2 x 400 s and two minutes: 16; one takes 9.
  EXPECT_EQ(launch(16).value().parts.size(), 6U);
  EXPECT_EQ(launch(9).value().parts.size(), 9U);
  EXPECT_EQ(launch(8).status().message(), "too long");
  EXPECT_EQ(launch(16, 2).status().message(), "too long") << "two parts were asked for";
  // A time limit that was asked for is kept, even if it is too short.
  const Result<LaunchPlan> tight = launch(100000, 0, 0, 5);
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(tight.value().limits.minutes, 5);
  EXPECT_EQ(tight.value().parts.size(), 9U);
}

TEST_F(PlanLaunch, RefusesImpossibleLimitsBeforeTiming) {
  std::string notes;
  LaunchHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes += note; };
  const Result<LaunchPlan> planned =
      plan_launch(plan_, all_pending(plan_), LaunchOptions(), LimitedQueue(0), hooks);
  EXPECT_EQ(planned.status().message(), "too long");
  EXPECT_EQ(notes, "");
}

TEST_F(PlanLaunch, NothingLeftIsNoPart) {
  for (StoredRun& run : stored_) finish(run, 1.0);
  EXPECT_TRUE(launch(0).value().parts.empty());
}

}  // namespace
}  // namespace broadloom
