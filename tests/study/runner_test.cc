// sanitizers: threads
#include "research/study/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/record/files.h"
#include "broadloom/train/trainer.h"
#include "examples/own_env/hover.h"
#include "research/stats/statistics.h"
#include "research/study/curve.h"
#include "research/study/merge.h"
#include "research/study/study_run.h"
#include "tests/env/simulators.h"
#include "tests/study/scene.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

using Runner = StudyTest;

bool always(double) { return true; }

TEST_F(Runner, ARunOfAStudyHasTheBitsOfTheSameRunAlone) {
  const StudyPlan plan = small_plan();
  for (const StudyRun& run : plan.runs) {
    Config config = plan.cells[static_cast<std::size_t>(run.cell)].config;
    config.seed = run.seed;
    Result<std::unique_ptr<Trainer>> alone = Trainer::create(config, 1);
    ASSERT_TRUE(alone.ok()) << alone.status().message();
    Trainer& trainer = *alone.value();
    while (!trainer.finished()) ASSERT_TRUE(trainer.iterate().ok());
    const std::string_view bytes(reinterpret_cast<const char*>(trainer.params()),
                                 trainer.network().parameter_count() * sizeof(float));
    for (const int threads : {1, 3}) {
      const std::optional<RunRecord> record = train_run(plan, run, threads, always);
      ASSERT_TRUE(record.has_value());
      EXPECT_FALSE(record->failed) << record->error;
      EXPECT_EQ(record->parameters_hash, hash_text(bytes));
    }
  }
}

TEST_F(Runner, JobsChangeNothing) {
  const StudyPlan plan = small_plan();
  for (const int jobs : {1, 2, 9}) {
    const Result<StudySummary> summary = run(plan, "jobs" + std::to_string(jobs), jobs);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_TRUE(summary.value().is_over());
    EXPECT_EQ(summary.value().runs.size(), 6U);
    for (const StoredRun& r : summary.value().runs) {
      EXPECT_EQ(r.status, "finished");
      EXPECT_FALSE(std::isnan(r.training_return));
      EXPECT_FALSE(std::isnan(r.evaluation_return));
    }
  }
  EXPECT_EQ(dump("jobs1"), dump("jobs2"));
  EXPECT_EQ(dump("jobs1"), dump("jobs9"));
  EXPECT_NE(dump("jobs1").find("grad/noise_scale"), std::string::npos);
}

// Memory lacks as long as this is set, in the threads that train.
std::atomic<bool> is_memory_short{false};
struct Hungry : Hover {
  static EnvSpec spec(const Params& params) {
    static const std::thread::id first = std::this_thread::get_id();
    if (is_memory_short && std::this_thread::get_id() != first) throw std::bad_alloc();
    return Hover::spec(params);
  }
};

// Another call may have more, so the run has not failed.
TEST_F(Runner, ARunThatLacksMemoryIsTrainedByTheNextCall) {
  ASSERT_TRUE(register_environment<Hungry>("Hungry-v0").ok());
  const StudyPlan plan = plan_text(
      "seeds = 2\npoints = 2\n[base]\nenv_id = 'Hungry-v0'\ntotal_timesteps = 256\n"
      "num_envs = 2\nnum_steps = 64\neval_episodes = 2\n");
  is_memory_short = true;
  const Status status = run(plan, "hungry").status();
  is_memory_short = false;
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_EQ(status.message(),
            "2 runs: out of memory; end other programs, raise the limit (ulimit -v), use fewer "
            "--threads, --jobs or environments. To train what is missing, run the same command "
            "again");
  const Result<StudySummary> again = run(plan, "hungry");
  ASSERT_TRUE(again.ok()) << again.status().message();
  for (const StoredRun& r : again.value().runs) EXPECT_EQ(r.status, "finished");
}

TEST_F(Runner, StoppedAgainAndAgainItEndsWithTheSameStore) {
  RELEASE_ONLY("a whole run: its parts have tests of their own");
  const StudyPlan plan =
      plan_text("seeds = 6\npoints = 9\n[base]\ntotal_timesteps = 8192\neval_episodes = 2\n");
  ASSERT_TRUE(run(plan, "whole").ok());
  int calls = 0, finished = 0;
  for (bool complete = false; !complete; ++calls) {
    ASSERT_LT(calls, 6);
    // Stop after at least one more run, while the next one is in progress.
    int now = 0;
    StudyHooks hooks;
    hooks.on_progress = [&](const StudyProgress& progress) { now = progress.finished; };
    hooks.should_stop = [&] { return now > finished; };
    const Result<StudySummary> summary = run(plan, "stopped", 1, {}, hooks);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    complete = summary.value().is_over();
    finished = now;
  }
  EXPECT_GT(calls, 1);
  EXPECT_EQ(dump("stopped"), dump("whole"));
}

TEST_F(Runner, MoreSeedsMakeAStoreLarger) {
  RELEASE_ONLY("what stores hold; JobsChangeNothing and others run its threads");
  const auto plan_of = [](const std::string& seeds) {
    return plan_text("seeds = " + seeds +
                     "\npoints = 3\n[base]\ntotal_timesteps = 1024\neval_episodes = 2\n"
                     "[grid]\nlearning_rate = [1e-3, 1e-4]\n");
  };
  ASSERT_TRUE(run(plan_of("3"), "whole").ok());
  ASSERT_TRUE(run(plan_of("1"), "grown").ok());
  ASSERT_TRUE(run(plan_of("3"), "grown").ok());
  EXPECT_EQ(dump("grown"), dump("whole"));
  // Other seeds, or fewer, make another study.
  for (const char* seeds : {"1", "[1, 2, 4, 5]", "[2, 1, 3, 4]", "10"}) {
    const bool grows = std::string(seeds) == "10";
    const Result<StudySummary> summary = run(plan_of(seeds), "grown");
    EXPECT_EQ(summary.ok(), grows) << seeds;
    if (!grows) {
      EXPECT_EQ(dump("grown"), dump("whole"));
      EXPECT_NE(summary.status().message().find("seeds"), std::string::npos);
    }
  }
}

// A sampler chooses settings one after another, so that its study grows by cells.
TEST_F(Runner, MoreSettingsOfASamplerMakeAStoreLarger) {
  RELEASE_ONLY("what stores hold; JobsChangeNothing and others run its threads");
  const std::vector<std::string> rates = {"1e-3", "1e-4", "1e-2"};
  const auto plan_of = [&](std::size_t trials, const std::string& sampler, int seeds = 2) {
    std::string text = "seeds = " + std::to_string(seeds) + "\npoints = 3\nsampler = '" + sampler +
                       "'\n[base]\ntotal_timesteps = 1024\neval_episodes = 2\n";
    for (std::size_t t = 0; t < trials; ++t)
      text += "[[variants]]\nlearning_rate = " + rates[t] + "\n";
    return plan_text(text);
  };
  const StudyPlan whole = plan_of(3, "TPE, seed 1");
  ASSERT_EQ(whole.runs.size(), 6U);
  EXPECT_EQ(whole.runs[1].cell, 0);  // all seeds of a setting, then the next one
  EXPECT_EQ(whole.runs[2].cell, 1);
  EXPECT_EQ(whole.runs[2].seed, 1U);
  ASSERT_TRUE(run(whole, "whole").ok());
  for (const std::size_t trials : {1, 2, 2, 3}) {
    const Result<StudySummary> summary = run(plan_of(trials, "TPE, seed 1"), "grown");
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary.value().runs.size(), 2 * trials);
  }
  EXPECT_EQ(dump("grown"), dump("whole"));
  // Fewer settings, others, more seeds or another sampler make another study.
  const StudyPlan others[] = {plan_of(2, "TPE, seed 1"), plan_of(3, "TPE, seed 2"),
                              plan_of(3, "TPE, seed 1", 3)};
  for (const StudyPlan& other : others) {
    const Result<StudySummary> summary = run(other, "grown");
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.status().kind(), ErrorKind::kMismatch);
  }
  EXPECT_EQ(dump("grown"), dump("whole"));
  change("grown", "UPDATE runs SET seed = seed + 5");
  EXPECT_EQ(run(whole, "grown").status().kind(), ErrorKind::kCorrupt);
}

TEST_F(Runner, ASamplerHasVariantsAlone) {
  for (const char* text : {"[grid]\nlearning_rate = [1e-3, 1e-4]\n", "",
                           "[shapes]\nlist = ['8x8']\n[[variants]]\ngamma = 0.9\n"}) {
    const Result<StudySpec> spec =
        parse_study("seeds = 1\nsampler = 'TPE'\n" + std::string(text), "s.toml");
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    const Result<StudyPlan> plan = plan_study(spec.value());
    ASSERT_FALSE(plan.ok()) << text;
    EXPECT_NE(plan.status().message().find("expected [[variants]] alone"), std::string::npos);
  }
}

// Ranges had several forms in older stores.
TEST_F(Runner, StoresWithRangesInTheOldTextGoOn) {
  const StudyPlan plan = plan_text(
      "seeds = 2\npoints = 2\n[base]\ntotal_timesteps = 1000\nnum_envs = 2\nhidden_sizes = [8]\n"
      "strata.a.force = [5, 15]\n");
  ASSERT_NE(plan.definition.find("\nstrata.a.force 5..15\n"), std::string::npos);
  ASSERT_TRUE(run(plan, "old", 1, {1, 2}).ok());
  change("old",
         "UPDATE study SET hash = 'old', "
         "definition = replace(definition, 'force 5..15', 'force 5,15')");
  const Result<StudySummary> again = run(plan, "old", 1, {1, 2});
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_TRUE(run(plan, "new", 1, {2, 2}).ok());
  EXPECT_TRUE(merge_stores({path("old"), path("new")}, path("both")).ok());
  change("old", "UPDATE study SET definition = replace(definition, 'force 5,15', 'force 5,16')");
  const Result<StudySummary> other = run(plan, "old", 1, {1, 2});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("the store has 'strata.a.force 5..16'"),
            std::string::npos)
      << other.status().message();
}

struct Sourced : Hover {
  static EnvSpec spec(const Params& params) {
    EnvSpec spec = Hover::spec(params);
    spec.upstream = "MySim 2.1, of\n  two lines";
    return spec;
  }
};

// Older versions wrote none.
TEST_F(Runner, StoresWithoutASourceTakeItUp) {
  RELEASE_ONLY("what stores hold; JobsChangeNothing and others run its threads");
  ASSERT_TRUE(register_environment<Sourced>("Sourced-v0").ok());
  const StudyPlan plan = plan_text(
      "seeds = 3\npoints = 2\n[base]\nenv_id = 'Sourced-v0'\ntotal_timesteps = 256\n"
      "num_envs = 2\nnum_steps = 64\neval_episodes = 2\n");
  const std::string line = "\nupstream MySim, of two lines\n";
  ASSERT_TRUE(plan.definition.ends_with(line)) << plan.definition;
  // The name of a store without a name has the hash.
  EXPECT_EQ(plan.hash,
            hash_text(plan.definition.substr(0, plan.definition.size() - line.size() + 1)));
  const auto drop_source = [&](const std::string& store) {
    change(store, "UPDATE study SET definition = replace(definition, '" + line + "', char(10))");
    ASSERT_EQ(dump(store).find("upstream"), std::string::npos);
  };
  const auto has_source = [&](const std::string& store) {
    return dump(store).find(line) != std::string::npos;
  };
  ASSERT_TRUE(run(plan, "old", 1, {1, 3}).ok());
  ASSERT_TRUE(run(plan, "x", 1, {2, 3}).ok());
  ASSERT_TRUE(run(plan, "y", 1, {3, 3}).ok());
  ASSERT_TRUE(run(plan, "whole").ok());
  ASSERT_TRUE(merge_stores({path("old"), path("x"), path("y")}, path("all")).ok());
  EXPECT_EQ(dump("all"), dump("whole"));
  drop_source("old");
  change("y", "UPDATE study SET definition = replace(definition, 'MySim', 'YourSim')");
  const auto expect_refused = [&](const std::vector<std::string>& stores, const std::string& out,
                                  const std::string& other) {
    const Status status = merge_stores(stores, path(out)).status();
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
    for (const std::string& words : {"'" + path("y") + "' is of another study than '" + other + "'",
                                     "'" + path("y") + "' has 'upstream YourSim, of two lines', '" +
                                         other + "' 'upstream MySim, of two lines'"}) {
      EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }
  };
  expect_refused({path("old"), path("x"), path("y")}, "none", path("x"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  ASSERT_TRUE(merge_stores({path("old"), path("x")}, path("merged")).ok());
  EXPECT_TRUE(has_source("merged"));
  expect_refused({path("y")}, "merged", path("merged"));
  // A store gets it with the first run of it, and a store that trains none keeps what it says.
  ASSERT_TRUE(run(plan, "old", 1, {1, 3}).ok());
  EXPECT_FALSE(has_source("old"));
  ASSERT_TRUE(run(plan, "later", 1, {1, 1, {1}}).ok());
  drop_source("later");
  ASSERT_TRUE(run(plan, "later").ok());
  EXPECT_EQ(dump("later"), dump("whole"));
}

TEST_F(Runner, AFailedRunIsRecordedAndStopsNoOther) {
  const StudyPlan plan = plan_text(
      "seeds = 1\n[base]\ntotal_timesteps = 4096\nmax_grad_norm = 1e30\nactivation = 'relu'\n"
      "lr_schedule = 'constant'\nhidden_sizes = [16, 16, 16, 16, 16, 16, 16, 16, 16, 16]\n"
      "[grid]\nlearning_rate = [10.0, 1e-3]\n");
  const Result<StudySummary> summary = run(plan, "failed");
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().is_over());
  EXPECT_EQ(summary.value().runs[0].status, "failed");
  EXPECT_NE(summary.value().runs[0].error, "");
  EXPECT_EQ(summary.value().runs[1].status, "finished");
  // It stays failed unless a retry is asked for, which fails in the same way.
  const std::string before = dump("failed");
  ASSERT_TRUE(run(plan, "failed").ok());
  EXPECT_EQ(dump("failed"), before);
  StudyOptions options;
  options.store = path("failed");
  options.retry_failed = true;
  const Result<StudySummary> again = run_study(plan, options, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(dump("failed"), before);
  // Another revision would mix its runs with those of the first one.
  change("failed", "UPDATE study SET revision = 'older'");
  const std::string older = dump("failed");
  ASSERT_TRUE(run(plan, "failed").ok()) << "nothing is left to run";
  const Status refused = run_study(plan, options, {}).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kMismatch);
  EXPECT_NE(refused.message().find("--any_revision"), std::string::npos) << refused.message();
  EXPECT_EQ(dump("failed"), older);
  options.any_revision = true;
  EXPECT_TRUE(run_study(plan, options, {}).ok());
}

TEST_F(Runner, PartsMergeIntoTheStoreOfOneRunner) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "whole").ok());
  for (int i = 1; i <= 4; ++i) {
    const Result<StudySummary> summary = run(plan, "part" + std::to_string(i), 1, {i, 4});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_TRUE(summary.value().is_over({i, 4}));
    EXPECT_FALSE(summary.value().is_over());
  }
  const std::string before = read_file(path("part3")).take();
  // Part 3 twice: the same runs are taken once.
  const Result<MergeSummary> merged = merge_stores(
      {path("part3"), path("part1"), path("part2"), path("part4"), path("part3")}, path("merged"));
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged.value().finished, 6);
  EXPECT_EQ(merged.value().pending(), 0);
  EXPECT_EQ(dump("merged"), dump("whole"));
  EXPECT_EQ(read_file(path("part3")).value(), before);
  // The study itself runs the missing runs.
  ASSERT_TRUE(merge_stores({path("part2"), path("part4")}, path("half")).ok());
  EXPECT_NE(dump("half"), dump("whole"));
  ASSERT_TRUE(run(plan, "half").ok());
  EXPECT_EQ(dump("half"), dump("whole"));
}

TEST_F(Runner, ARefusedMergeLeavesNothing) {
  const StudyPlan plan = small_plan();
  const StudyPlan other = plan_text("seeds = 1\n[base]\ntotal_timesteps = 1000\n");
  ASSERT_TRUE(run(plan, "one", 1, {1, 2}).ok());
  ASSERT_TRUE(run(plan, "altered", 1, {1, 2}).ok());
  ASSERT_TRUE(run(other, "other").ok());
  change("altered", "UPDATE runs SET parameters_hash = 'x' WHERE id = 3");
  const auto fails = [&](const std::vector<std::string>& stores, ErrorKind kind,
                         const std::string& words) {
    const Status status = merge_stores(stores, path("merged")).status();
    EXPECT_EQ(status.kind(), kind) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  fails({}, ErrorKind::kInvalidConfig, "no stores");
  fails({path("one"), path("other")}, ErrorKind::kMismatch, "is of another study");
  fails({path("one"), path("altered")}, ErrorKind::kMismatch, "cell c, seed 1");
  fails({path("none")}, ErrorKind::kNotFound, "none");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(path(""))) ++files;
  EXPECT_EQ(files, 3);
}

TEST_F(Runner, ARepeatedMergeAddsRuns) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "whole").ok());
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(run(plan, "part" + std::to_string(i), 1, {i, 3}).ok());
  ASSERT_EQ(merge_stores({path("part1"), path("part2")}, path("merged")).value().finished, 4);
  const std::string before = dump("merged");
  ASSERT_EQ(merge_stores({path("part2")}, path("merged")).value().finished, 4);
  EXPECT_EQ(dump("merged"), before);
  // A pattern of names may match the merged store.
  const Result<MergeSummary> all =
      merge_stores({path("merged"), path("part2"), path("part3")}, path("merged"));
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all.value().finished, 6);
  EXPECT_EQ(dump("merged"), dump("whole"));
  EXPECT_EQ(merge_stores({path("merged")}, path("merged")).value().finished, 6);
  // A kill of the first merge may leave an empty file.
  ASSERT_TRUE(write_file_atomically(path("empty"), "").ok());
  ASSERT_TRUE(merge_stores({path("part1")}, path("empty")).ok());
  EXPECT_NE(dump("empty"), "");
}

TEST_F(Runner, AFinishedRunReplacesAFailedOne) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "whole").ok());
  std::filesystem::copy(path("whole"), path("failed"));
  change("failed", "UPDATE runs SET status = 'failed', parameters_hash = NULL WHERE id = 3");
  const std::vector<std::string> both = {path("failed"), path("whole")};
  EXPECT_EQ(merge_stores({both[0]}, path("late")).value().finished, 5);
  EXPECT_EQ(merge_stores({both[1]}, path("late")).value().finished, 6);
  EXPECT_EQ(merge_stores(both, path("once")).value().finished, 6);
  EXPECT_EQ(merge_stores({both[1], both[0]}, path("turned")).value().finished, 6);
  for (const char* name : {"late", "once", "turned"}) EXPECT_EQ(dump(name), dump("whole")) << name;
}

TEST_F(Runner, AMergeKeepsStoresThatItMayNotChange) {
  const StudyPlan plan = small_plan();
  const StudyPlan other = plan_text("seeds = 1\n[base]\ntotal_timesteps = 1000\n");
  ASSERT_TRUE(run(plan, "part1", 1, {1, 2}).ok());
  ASSERT_TRUE(run(plan, "part2", 1, {2, 2}).ok());
  ASSERT_TRUE(run(other, "other").ok());
  ASSERT_TRUE(write_file_atomically(path("text"), std::string(5000, 'x')).ok());
  const auto keeps = [&](const std::string& out, ErrorKind kind, const std::string& words) {
    const std::string before = read_file(path(out)).value();
    const Status status = merge_stores({path("part2"), path("part1")}, path(out)).status();
    EXPECT_EQ(status.kind(), kind) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_EQ(read_file(path(out)).value(), before);
  };
  keeps("other", ErrorKind::kMismatch, "is of another study");
  keeps("part1", ErrorKind::kMismatch, "is the store of part 1/2");
  keeps("text", ErrorKind::kMismatch, "SQLite database");
  ASSERT_TRUE(merge_stores({path("part1")}, path("merged")).ok());
  {
    const Result<StudyStore> runner = StudyStore::open(path("merged"), plan, {}, true);
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    keeps("merged", ErrorKind::kIo, "another command is working on");
  }
  // A damaged part adds nothing, nor does the part before it.
  change("part1", "UPDATE runs SET seconds = -1 WHERE id = 1");
  keeps("merged", ErrorKind::kCorrupt, "part1' is damaged");
}

TEST_F(Runner, StoresOfFewerSeedsMergeInAnyOrder) {
  const auto plan = [](int seeds) {
    return plan_text(
        fmt::format("seeds = {}\npoints = 2\n[base]\ntotal_timesteps = 500\n"
                    "num_envs = 2\nnum_steps = 16\nhidden_sizes = [8]\n",
                    seeds));
  };
  ASSERT_TRUE(run(plan(3), "whole").ok());
  ASSERT_TRUE(run(plan(2), "two", 1, {1, 2}).ok());
  ASSERT_TRUE(run(plan(2), "rest", 1, {2, 2}).ok());
  ASSERT_TRUE(run(plan(3), "three", 1, {1, 2}).ok());
  const std::string two = path("two"), rest = path("rest"), three = path("three");
  for (const auto& stores : {std::vector{two, rest, three}, std::vector{three, rest, two},
                             std::vector{rest, three, two}}) {
    std::filesystem::remove(path("merged"));
    const Result<MergeSummary> merged = merge_stores(stores, path("merged"));
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_EQ(dump("merged"), dump("whole"));
  }
  ASSERT_TRUE(merge_stores({two, rest}, path("grown")).ok());
  ASSERT_EQ(merge_stores({three}, path("grown")).value().runs, 3);
  EXPECT_EQ(dump("grown"), dump("whole"));
}

TEST_F(Runner, AStoreThatOthersReadIsNotReplaced) {
  ASSERT_TRUE(run(small_plan(), "a").ok());
  ASSERT_TRUE(run(plan_text("seeds = 1\n[base]\ntotal_timesteps = 1000\n"), "b").ok());
  const std::string before = dump("a");
  Result<Database> file = Database::open(path("a"));
  Result<Database> other = Database::open(path("b"));
  {
    Result<Database> reader = Database::open(path("a"), Access::kRead);
    ASSERT_TRUE(reader.value().run("BEGIN").ok());
    ASSERT_TRUE(reader.value().integer("SELECT count(*) FROM runs").ok());
    const Status status = file.value().replace_by(other.value());
    EXPECT_EQ(status.kind(), ErrorKind::kIo) << status.message();
    EXPECT_NE(status.message().find("locked"), std::string::npos) << status.message();
  }
  EXPECT_EQ(dump("a"), before);
  ASSERT_TRUE(file.value().replace_by(other.value()).ok());
  EXPECT_EQ(dump("a"), dump("b"));
}

TEST_F(Runner, MergesAtOnceLoseNoRun) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "whole").ok());
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(run(plan, "part" + std::to_string(i), 1, {i, 3}).ok());
  std::vector<std::thread> threads;
  for (int i = 1; i <= 3; ++i) {
    threads.emplace_back([&, part = path("part" + std::to_string(i))] {
      while (true) {
        const Status status = merge_stores({part}, path("merged")).status();
        if (status.ok()) return;
        EXPECT_NE(status.message().find("another command is working on"), std::string::npos)
            << status.message();
        if (status.kind() != ErrorKind::kIo) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dump("merged"), dump("whole"));
}

TEST_F(Runner, OtherStoresAreRefusedAndKept) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "store", 1, {1, 2}).ok());
  const auto refused = [&](const StudyPlan& p, StudyPart part, const std::string& words,
                           ErrorKind kind = ErrorKind::kMismatch) {
    const std::string before = read_file(path("store")).value();
    const Status status = run(p, "store", 1, part).status();
    EXPECT_EQ(status.kind(), kind) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_EQ(read_file(path("store")).value(), before);
  };
  StudySpec spec = parse_study("seeds = 3\n[base]\ngamma = 0.9\n", "s.toml").value();
  refused(plan_study(spec).value(), {1, 2}, "the store has 'points 7', this study 'points 50'");
  StudyPlan fewer = plan;  // differs in a setting of all cells and in the seeds, named last
  fewer.definition = plan.definition;
  const auto replace = [&](const std::string& old_text, const std::string& new_text) {
    for (std::size_t i = 0; (i = fewer.definition.find(old_text, i)) != std::string::npos;) {
      fewer.definition.replace(i, old_text.size(), new_text);
      i += new_text.size();
    }
  };
  replace("\ngamma 0.99\n", "\ngamma 0.9\n");
  replace("\nseeds 1,", "\nseeds 9,");
  refused(fewer, {1, 2},
          "the store has 'gamma 0.99', this study 'gamma 0.9'; the store has 'seeds 1,");
  refused(plan, {}, "is the store of part 1/2, but the whole study was asked for");
  refused(plan, {2, 2}, "is the store of part 1/2, but part 2/2 was asked for");
  change("store", "UPDATE runs SET status = 'pending' WHERE id = 1");
  change("store", "UPDATE study SET revision = 'older'");
  refused(plan, {1, 2}, "was begun by version 0.1.0 (older)");
  change("store", "PRAGMA user_version = 99");
  refused(plan, {1, 2}, "is a store of format 99");
  change("store", "PRAGMA application_id = 5");
  refused(plan, {1, 2}, "another program's database");
  ASSERT_TRUE(write_file_atomically(path("store"), std::string(5000, 'x')).ok());
  refused(plan, {1, 2}, "SQLite database");
}

TEST_F(Runner, ADamagedStoreIsRefused) {
  const StudyPlan plan = small_plan();
  ASSERT_TRUE(run(plan, "store").ok());
  std::string bytes = read_file(path("store")).value();
  ASSERT_TRUE(write_file_atomically(path("store"), bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_EQ(run(plan, "store").status().kind(), ErrorKind::kCorrupt);
  for (std::size_t i = 4096; i < bytes.size(); i += 512) bytes[i] = '\x7f';
  ASSERT_TRUE(write_file_atomically(path("store"), bytes).ok());
  EXPECT_EQ(run(plan, "store").status().kind(), ErrorKind::kCorrupt);
}

TEST_F(Runner, ASecondRunnerIsRefused) {
  const StudyPlan plan = small_plan();
  const Result<StudyStore> first = StudyStore::open(path("store"), plan, {}, false);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const Status second = run(plan, "store").status();
  EXPECT_EQ(second.kind(), ErrorKind::kIo);
  EXPECT_NE(second.message().find("another command is working on"), std::string::npos);
}

TEST_F(Runner, AReaderIsWaitedFor) {
  const StudyPlan plan = small_plan();
  Result<StudyStore> store = StudyStore::open(path("store"), plan, {}, false);
  ASSERT_TRUE(store.ok());
  const std::optional<RunRecord> record = train_run(plan, plan.runs[0], 1, always);
  {
    Result<Database> reader = Database::open(path("store"));
    ASSERT_TRUE(reader.ok());
    Result<Statement> slow = reader.value().prepare("SELECT id FROM runs");
    ASSERT_TRUE(slow.value().next().value());
    EXPECT_FALSE(store.value().write(*record).ok());
    EXPECT_TRUE(store.value().busy());
  }
  const Status status = store.value().write(*record);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store.value().runs().value()[0].status, "finished");
}

TEST_F(Runner, IsaAndMemoryAreCheckedBeforeTheStart) {
  const StudyPlan isas = plan_text("seeds = 1\n[grid]\nisa = ['auto', 'exact']\n");
  EXPECT_NE(run(isas, "x").status().message().find("cells ask for isa"), std::string::npos);
  const StudyPlan huge = plan_text(
      "seeds = 1\n[base]\ntotal_timesteps = 2000000000\n"
      "[shapes]\nlist = ['100000x20000']\n");
  EXPECT_NE(run(huge, "x", 64).status().message().find("GB"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
}

// Each run would fail with it, after the others had been trained.
TEST_F(Runner, RefusesAnImpossibleSimulatorBeforeTheStart) {
  register_simulator("Alone-v0", [](auto inner) {
    return std::make_unique<WholeBatch>(std::move(inner), "Alone-v0");
  });
  const StudyPlan plan = plan_text(
      "seeds = 1\n[base]\ntotal_timesteps = 1000\ninstruments = 'policy'\n"
      "[grid]\nenv_id = ['CartPole-v1', 'Alone-v0']\n");
  const Status refused = run(plan, "x").status();
  EXPECT_NE(refused.message().find("EnvMaker::another()"), std::string::npos) << refused.message();
  EXPECT_FALSE(std::filesystem::exists(path("x")));
}

TEST(Curve, PointsHoldTheLastReportAtOrBeforeThem) {
  const StudyPlan plan = small_plan();
  const std::optional<RunRecord> record = train_run(plan, plan.runs[0], 1, always);
  ASSERT_TRUE(record.has_value());
  // 1,000 steps in 10 blocks of 96; points at 142, 285, ..., 1000.
  const std::int64_t expected[] = {96, 192, 384, 480, 672, 768, 960};
  ASSERT_EQ(record->curve.size(), 7U);
  for (int k = 0; k < 7; ++k) {
    const CurvePoint& p = record->curve[static_cast<std::size_t>(k)];
    EXPECT_EQ(p.point, k + 1);
    EXPECT_EQ(p.environment_steps, 1000 * (k + 1) / 7);
    EXPECT_EQ(p.global_step, expected[k]);
    EXPECT_EQ(p.iteration * 96, p.global_step);
  }
  ASSERT_EQ(record->evaluations.size(), 3U);
  EXPECT_EQ(record->evaluations[0].global_step, 288);
  EXPECT_EQ(record->evaluations[1].global_step, 576);
  EXPECT_EQ(record->evaluations[2].global_step, 960);
}

TEST(Curve, PointsBeforeTheFirstReportAreLeftOut) {
  const StudyPlan plan = plan_text(
      "seeds = 1\npoints = 10\nevaluations = 10\n[base]\ntotal_timesteps = 1000\nnum_envs = 4\n"
      "num_steps = 64\neval_episodes = 1\n");
  const std::optional<RunRecord> record = train_run(plan, plan.runs[0], 1, always);
  ASSERT_TRUE(record.has_value());
  ASSERT_EQ(record->curve.size(), 8U);  // the first block ends at 256, so the first point is 300
  EXPECT_EQ(record->curve[0].environment_steps, 300);
  EXPECT_EQ(record->curve[0].global_step, 256);
  EXPECT_EQ(record->curve[7].global_step, 768);
  EXPECT_EQ(record->evaluations.size(), 3U);  // at most one an iteration
}

TEST(Curve, StoppedRunsLeaveNoRecord) {
  const StudyPlan plan = small_plan();
  int asked = 0;
  EXPECT_FALSE(train_run(plan, plan.runs[0], 1, [&](double) { return ++asked < 3; }).has_value());
  EXPECT_EQ(asked, 3);
}

TEST(Progress, TheInterquartileMeanCutsAQuarterAtEitherEnd) {
  EXPECT_TRUE(std::isnan(interquartile_mean({})));
  EXPECT_EQ(interquartile_mean({5}), 5.0);
  EXPECT_EQ(interquartile_mean({9, 1, 2}), 4.0);
  EXPECT_EQ(interquartile_mean({100, 3, 1, -50}), 2.0);
  EXPECT_EQ(interquartile_mean({1, 2, 3, 4, 5, 6, 7, 8, 9, 1000}), 5.5);
}

TEST(Progress, TimeLeftFollowsTheQueue) {
  const StudyPlan plan = plan_text("seeds = 2\n[shapes]\nlist = ['8x8', '4x16']\n");
  ProgressCounter counter(plan, {}, 2);
  counter.add(0, false, 10.0, 7.0);
  const std::vector<const StudyRun*> pending = {&plan.runs[1], &plan.runs[2], &plan.runs[3]};
  const StudyProgress p = counter.progress(pending, {{2, 0.5, 4.0}});
  EXPECT_EQ(p.finished, 1);
  EXPECT_EQ(p.runs, 4);
  EXPECT_EQ(p.cells[0].training_iqm, 7.0);
  // Left: half of 8 s, 10 s, 8 s; over two jobs.
  EXPECT_DOUBLE_EQ(p.cells[0].seconds_left, 7.0);
  EXPECT_DOUBLE_EQ(p.cells[1].seconds_left, 11.0);
  EXPECT_DOUBLE_EQ(p.seconds_left, 11.0);
}

TEST(Parts, TextIsCheckedAndEveryRunIsInOne) {
  EXPECT_EQ(parse_part("2/4").value().index, 2);
  for (const char* text : {"", "2", "0/4", "5/4", "1/", "/2", "1/2/3", "a/b"}) {
    EXPECT_EQ(parse_part(text).status().kind(), ErrorKind::kInvalidConfig) << text;
  }
  for (std::int64_t run = 1; run < 20; ++run) {
    int holders = 0;
    for (int i = 1; i <= 3; ++i) holders += StudyPart{i, 3}.holds(run) ? 1 : 0;
    EXPECT_EQ(holders, 1);
  }
}

}  // namespace
}  // namespace broadloom
