// Launches on a queue that runs parts in this process and loses some of them.
#include "research/study/queue_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "research/study/launch_record.h"
#include "research/study/merge.h"
#include "tests/study/scene.h"

namespace broadloom {
namespace {

// State that outlives a call of the launcher, as a cluster's does.
struct Cluster {
  StudyPlan plan;
  std::map<std::string, JobArray> arrays;
  std::map<std::string, std::vector<int>> left;  // parts of each array, in order
  std::set<int> lost;                            // parts of the next array that end at once
  int runs_before_loss = 0;                      // runs that a lost part finishes
  std::string refusal;                           // "": it accepts arrays
  bool refuses_late = false;                     // after it has the jobs
  bool is_deaf = false;                          // and does not list its jobs
  std::set<int> removed, cut;                    // parts whose stores are removed or truncated
  int asked = 0, submitted = 0;
  std::multiset<std::int64_t> trained;  // runs, once for each start
};

class FakeQueue : public JobQueue {
 public:
  explicit FakeQueue(Cluster& cluster) : cluster_(cluster) {}

  const char* title() const override { return "Fake"; }
  Status check() const override { return {}; }
  Result<JobLimits> place(const JobLimits& limits, const std::string& partition) const override {
    JobLimits placed = limits;
    placed.partition = partition.empty() ? "first" : partition;
    return placed;
  }
  Result<std::string> script(const JobArray& array) const override { return array.name + "\n"; }
  Result<std::string> submit(const JobArray& array, const std::string& script) const override {
    EXPECT_TRUE(std::filesystem::exists(script));
    const Status refusal =
        cluster_.refusal.empty() ? Status() : Status(ErrorKind::kIo, cluster_.refusal);
    if (!refusal.ok() && !cluster_.refuses_late) return refusal;
    cluster_.arrays[array.name] = array;
    for (int part = 1; part <= array.parts; ++part) cluster_.left[array.name].push_back(part);
    ++cluster_.submitted;
    if (!refusal.ok()) return refusal;
    return std::string("7");
  }
  // Each call ends one part.
  Result<std::vector<QueuedJob>> unfinished(const std::string& name) const override {
    ++cluster_.asked;
    if (cluster_.is_deaf) return Status(ErrorKind::kIo, "no answer");
    std::vector<int>& left = cluster_.left[name];
    if (!left.empty()) {
      run_part(cluster_.arrays[name], left.front());
      damage_part(with_number(cluster_.arrays[name].store, left.front()), left.front());
      left.erase(left.begin());
    }
    std::vector<QueuedJob> jobs;
    for (const int part : left) jobs.push_back({"7", part, part == left.front(), "Resources"});
    return jobs;
  }
  std::string cancel_words(const std::string& array) const override { return "cancel " + array; }
  std::string job_name(const std::string& array, int part) const override {
    return array + "_" + std::to_string(part);
  }

 private:
  void run_part(const JobArray& array, int part) const {
    StudyOptions options;
    options.store = with_number(array.store, part);
    options.part.runs = parse_runs(array.runs[static_cast<std::size_t>(part) - 1], 1000).value();
    const bool is_lost = cluster_.lost.erase(part) > 0;
    if (is_lost) {
      // The number of runs of a part depends on their timing just before.
      options.part.runs.resize(std::min(static_cast<std::size_t>(cluster_.runs_before_loss),
                                        options.part.runs.size() - 1));
      std::ofstream(with_number(array.log, part)) << "begun\nkilled by the test\n";
      if (options.part.runs.empty()) return;
    }
    for (const std::int64_t id : options.part.runs) cluster_.trained.insert(id);
    const Result<StudySummary> summary = run_study(cluster_.plan, options, {});
    EXPECT_TRUE(summary.ok()) << summary.status().message();
  }

  void damage_part(const std::string& store, int part) const {
    if (cluster_.removed.erase(part) > 0) std::filesystem::remove(store);
    if (cluster_.cut.erase(part) > 0) {
      std::filesystem::resize_file(store, std::filesystem::file_size(store) / 2);
    }
  }

  Cluster& cluster_;
};

class Launches : public StudyTest {
 protected:
  void SetUp() override {
    StudyTest::SetUp();
    cluster_.plan = small_plan();
    ASSERT_TRUE(run(cluster_.plan, "whole.sqlite").ok());
  }

  Result<StudySummary> launch(int parts, const std::string& store = "a.sqlite") {
    LaunchOptions options = options_of(store);
    options.parts = parts;
    LaunchHooks hooks;
    hooks.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    hooks.study.should_stop = [this] { return stop_; };
    hooks.study.on_progress = [this](const StudyProgress& p) { finished_ = p.finished; };
    return launcher()->run(cluster_.plan, options, hooks);
  }
  std::unique_ptr<Launcher> launcher() {
    return make_queue_launcher("fake", std::make_unique<FakeQueue>(cluster_));
  }
  LaunchOptions options_of(const std::string& store) const {
    LaunchOptions options;
    options.study.store = path(store);
    options.study.jobs = 0;
    options.command = {"program"};
    return options;
  }

  Cluster cluster_;
  std::string notes_;
  bool stop_ = false;
  int finished_ = 0;
};

TEST_F(Launches, PartsEndInTheStoreOfOneRunner) {
  const Result<StudySummary> summary = launch(3);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().is_over());
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
  EXPECT_EQ(cluster_.trained.size(), 6U);
  EXPECT_EQ(finished_, 6);
  EXPECT_NE(notes_.find("6 of 6 runs in 3 jobs; partition first"), std::string::npos) << notes_;
  // A complete study has nothing to launch.
  ASSERT_TRUE(launch(3).ok());
  EXPECT_EQ(cluster_.submitted, 1);
  const std::vector<Launch> launches = read_launches(path("a.sqlite"), 1000).value();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_TRUE(launches[0].is_over);
  EXPECT_FALSE(std::filesystem::exists(with_number(launches[0].stores(), 1)));
}

TEST_F(Launches, ALostPartIsNamedAndTheSameCommandDoesTheRest) {
  cluster_.lost = {2};
  cluster_.runs_before_loss = 1;
  const Result<StudySummary> summary = launch(2);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().kind(), ErrorKind::kIo);
  for (const char* words : {" left, since jobs ended", "part 2 (job 7_2) left ",
                            "part-2.log' ends: killed by the test", "the same command"}) {
    EXPECT_NE(summary.status().message().find(words), std::string::npos)
        << words << " in " << summary.status().message();
  }
  const Launch first = read_launches(path("a.sqlite"), 1000).value().front();
  EXPECT_FALSE(std::filesystem::exists(with_number(first.stores(), 1)));
  EXPECT_TRUE(std::filesystem::exists(with_number(first.stores(), 2))) << "it has runs left";
  const Result<StudySummary> again = launch(2);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.value().is_over());
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
  EXPECT_EQ(cluster_.trained.size(), 6U) << "a run of the store was trained again";
  EXPECT_EQ(cluster_.submitted, 2);
}

TEST_F(Launches, StoppedItLeavesTheJobsAndWatchesThemAgain) {
  stop_ = true;
  LaunchOptions options = options_of("a.sqlite");
  options.parts = 3;
  LaunchHooks hooks;
  int asked = 0;  // only once the array is in the queue
  hooks.study.should_stop = [&] { return cluster_.submitted > 0 && ++asked > 0; };
  hooks.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
  const Result<StudySummary> stopped = launcher()->run(cluster_.plan, options, hooks);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_FALSE(stopped.value().is_over());
  EXPECT_NE(notes_.find("`cancel 7`"), std::string::npos) << notes_;
  const Result<std::unique_ptr<Launcher>> local = make_launcher("local");
  const Result<StudySummary> twice = local.value()->run(cluster_.plan, options, {});
  ASSERT_FALSE(twice.ok()) << "this machine would do the jobs' runs once more";
  EXPECT_NE(twice.status().message().find("--launcher fake"), std::string::npos)
      << twice.status().message();
  stop_ = false;
  const Result<StudySummary> again = launch(3);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.value().is_over());
  EXPECT_EQ(cluster_.submitted, 1);
  EXPECT_EQ(cluster_.trained.size(), 6U);
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
}

// After a kill between submitting and recording the number, the array is found by its name.
TEST_F(Launches, ALaunchWithoutANumberIsFoundByItsName) {
  cluster_.lost = {1, 2};
  ASSERT_FALSE(launch(2).ok());
  Launch cut_short = read_launches(path("a.sqlite"), 1000).value().front();
  cut_short.is_over = false;
  cut_short.array = "";
  JobArray& array = cluster_.arrays[cut_short.name];
  for (std::size_t p = 0; p < 2; ++p) {
    StudyPart part;
    part.runs = cut_short.parts[p];
    const std::string store = with_number(cut_short.stores(), static_cast<int>(p) + 1);
    ASSERT_TRUE(StudyStore::open(store, cluster_.plan, part, false).ok());
  }
  ASSERT_TRUE(write_launch(cut_short).ok());
  cluster_.left[array.name] = {1, 2};
  const Result<StudySummary> summary = launch(2);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(cluster_.submitted, 1);
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
}

TEST_F(Launches, ARefusalLeavesNothing) {
  cluster_.refusal = "no account";
  const Result<StudySummary> refused = launch(2);
  EXPECT_EQ(refused.status().message(), "no account");
  EXPECT_TRUE(read_launches(path("a.sqlite"), 1000).value().empty());
  cluster_.refusal.clear();
  EXPECT_TRUE(launch(2).ok());
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
}

TEST_F(Launches, AStoreThatIsGoneOrDamagedIsALossOfItsPartAlone) {
  cluster_.removed = {1};
  cluster_.cut = {2};
  const Result<StudySummary> summary = launch(3);
  EXPECT_EQ(summary.status().kind(), ErrorKind::kIo);
  for (const char* words : {"part 1 (job 7_1) left ", "part-1.sqlite' is missing",
                            "part 2 (job 7_2) left ", "part-2.sqlite", "the same command"}) {
    EXPECT_NE(summary.status().message().find(words), std::string::npos)
        << words << " in " << summary.status().message();
  }
  EXPECT_EQ(summary.status().message().find("part 3"), std::string::npos);
  const Launch first = read_launches(path("a.sqlite"), 1000).value().front();
  EXPECT_TRUE(first.is_over);
  EXPECT_TRUE(std::filesystem::exists(with_number(first.stores(), 2))) << "a person may want it";
  EXPECT_FALSE(std::filesystem::exists(with_number(first.stores(), 3)));
  const Result<StudySummary> again = launch(2);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
  for (const std::int64_t id : first.parts[2]) EXPECT_EQ(cluster_.trained.count(id), 1U);
}

TEST_F(Launches, JobsThatWereTakenBeforeARefusalAreWatched) {
  cluster_.refusal = "connection lost";
  cluster_.refuses_late = true;
  const Result<StudySummary> summary = launch(3);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(cluster_.submitted, 1);
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
}

TEST_F(Launches, ARefusalOfAQueueThatSaysNothingIsLookedIntoByTheNextCall) {
  cluster_.refusal = "connection lost";
  cluster_.refuses_late = cluster_.is_deaf = true;
  const Result<StudySummary> summary = launch(2);
  for (const char* words : {"connection lost. ", "(no answer)", "the same command"}) {
    EXPECT_NE(summary.status().message().find(words), std::string::npos)
        << summary.status().message();
  }
  cluster_.is_deaf = false;
  ASSERT_TRUE(launch(2).ok());
  EXPECT_EQ(cluster_.submitted, 1);
  EXPECT_EQ(cluster_.trained.size(), 6U);
  EXPECT_EQ(dump("a.sqlite"), dump("whole.sqlite"));
}

TEST_F(Launches, TwoAtOnceAndStoresOfAnotherStudyAreRefused) {
  const Result<StudyStore> held = StudyStore::open(path("a.sqlite"), cluster_.plan, {}, false);
  ASSERT_TRUE(held.ok());
  const Result<StudySummary> second = launch(2);
  EXPECT_EQ(second.status().kind(), ErrorKind::kIo);
  EXPECT_NE(second.status().message().find("another command"), std::string::npos);
  const StudyPlan other = plan_text("seeds = 1\n[base]\ntotal_timesteps = 1024\n");
  ASSERT_TRUE(run(other, "other.sqlite").ok());
  const Result<StudySummary> wrong = launch(2, "other.sqlite");
  EXPECT_EQ(wrong.status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(cluster_.submitted, 0);
}

TEST_F(Launches, APlanTouchesNothing) {
  LaunchOptions options = options_of("a.sqlite");
  options.parts = 2;
  const Result<std::string> words = launcher()->describe(cluster_.plan, options, {});
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_NE(words.value().find("6 of 6 runs in 2 jobs"), std::string::npos) << words.value();
  EXPECT_FALSE(std::filesystem::exists(path("a.sqlite")));
  EXPECT_FALSE(std::filesystem::exists(path("a-jobs")));
  ASSERT_TRUE(launch(2).ok());
  const Result<std::string> none = launcher()->describe(cluster_.plan, options, {});
  EXPECT_NE(none.value().find("No run is left"), std::string::npos) << none.value();
}

TEST_F(Launches, MoreSeedsAreLaunchedByThemselves) {
  ASSERT_TRUE(launch(2).ok());
  cluster_.plan = plan_text(
      "seeds = 3\npoints = 7\nevaluations = 3\nmatch = 'none'\n"
      "[base]\ntotal_timesteps = 1000\nhidden_sizes = [8]\neval_episodes = 2\n"
      "instrument_every = 2\n"
      "[[variants]]\nname = 'a'\nnum_envs = 6\nnum_steps = 16\n"
      "[[variants]]\nname = 'b'\nnum_envs = 2\nnum_steps = 16\n"
      "[[variants]]\nname = 'c'\nnum_envs = 4\nnum_steps = 16\ninstruments = 'gradient'\n");
  const Result<StudySummary> grown = launch(2);
  ASSERT_TRUE(grown.ok()) << grown.status().message();
  EXPECT_EQ(cluster_.trained.size(), 9U);
  ASSERT_TRUE(run(cluster_.plan, "nine.sqlite").ok());
  EXPECT_EQ(dump("a.sqlite"), dump("nine.sqlite"));
}

TEST_F(Launches, AStoreTakesBetterResultsAndRefusesContradictions) {
  ASSERT_TRUE(run(cluster_.plan, "p.sqlite", 1, {1, 2}).ok());
  change("p.sqlite", "UPDATE study SET shards = 1");
  ASSERT_TRUE(run(cluster_.plan, "q.sqlite", 1, {2, 2}).ok());
  change("q.sqlite", "UPDATE runs SET status = 'failed', error = 'no memory' WHERE id = 2");
  {
    Result<StudyStore> store = StudyStore::open(path("p.sqlite"), cluster_.plan, {}, false);
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE(store.value().take(path("q.sqlite")).ok());
    EXPECT_EQ(store.value().runs().value()[1].status, "failed");
    change("q.sqlite", "UPDATE runs SET status = 'finished', error = NULL WHERE id = 2");
    ASSERT_TRUE(store.value().take(path("q.sqlite")).ok());
    // A run that failed elsewhere does not replace a finished one.
    change("q.sqlite", "UPDATE runs SET status = 'failed', error = 'again' WHERE id = 2");
    ASSERT_TRUE(store.value().take(path("q.sqlite")).ok());
  }
  EXPECT_EQ(dump("p.sqlite"), dump("whole.sqlite"));
  change("q.sqlite", "UPDATE runs SET parameters_hash = 'x' WHERE id = 4");
  Result<StudyStore> store = StudyStore::open(path("p.sqlite"), cluster_.plan, {}, false);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store.value().take(path("q.sqlite")).kind(), ErrorKind::kMismatch);
  EXPECT_TRUE(store.value().take(path("whole.sqlite")).ok()) << "it was left attached";
}

TEST_F(Launches, ADamagedRecordIsRefused) {
  ASSERT_TRUE(launch(2).ok());
  std::ofstream(read_launches(path("a.sqlite"), 1000).value()[0].folder + "/launch.json") << "{}";
  const Result<StudySummary> summary = launch(2);
  EXPECT_EQ(summary.status().kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace broadloom
