// Lines of progress by a clock that the test moves, and environments that fail while they are
// timed.
#include "cli/env_bench.h"
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "tests/env/simulators.h"

namespace broadloom::cli {
namespace {

// The lines of work, with a clock that stands still between two waits.
class Lines : public testing::Test {
 protected:
  Now now() {
    return [this] { return std::chrono::steady_clock::time_point(seconds_); };
  }
  void wait(int seconds) { seconds_ += std::chrono::seconds(seconds); }

  std::FILE* file() { return file_.get(); }
  // The lines since the last call.
  std::string taken() {
    std::string text;
    std::fseek(file(), read_, SEEK_SET);
    for (int c = std::fgetc(file()); c != EOF; c = std::fgetc(file())) {
      text.push_back(static_cast<char>(c));
    }
    read_ = std::ftell(file());
    return text;
  }

 private:
  std::chrono::seconds seconds_{1000};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
  long read_ = 0;
};

TEST_F(Lines, CountThePanelsTimeFromItsOwnStart) {
  ShareLine panel(false, file(), now());
  wait(3600);  // training
  panel.show_episodes(0, 100);
  EXPECT_EQ(taken(), "  0 %  0 of 100 episodes played\n");
  wait(20);
  panel.show_episodes(25, 100);
  EXPECT_EQ(taken(), " 25 %  25 of 100 episodes played, 1:00 left\n");
  wait(20);
  panel.show_episodes(80, 100);
  EXPECT_EQ(taken(), " 80 %  80 of 100 episodes played, 0:10 left\n");
}

TEST_F(Lines, OfWorkWithoutAPauseBeginWithIt) {
  ShareLine line(false, file(), now());
  wait(30);
  line.show_rest("blocks measured", 0.75);
  EXPECT_EQ(taken(), " 75 %  blocks measured, 0:10 left\n");
  wait(9);  // not yet due
  line.show_rest("blocks measured", 0.8);
  EXPECT_EQ(taken(), "");
}

TEST_F(Lines, OfPhasesHaveATimeOnceThePhaseHasASpeed) {
  ShareLine line(false, file(), now());
  line.show_phase("burning in", 0.0);
  wait(60);
  line.show_phase("another critic", 0.1);
  EXPECT_EQ(taken(), " 10 %  another critic\n");
  wait(10);
  line.show_phase("another critic", 0.2);
  EXPECT_EQ(taken(), " 20 %  another critic, 1:20 left\n");
  wait(10);
  line.show_phase("4 x 16", 0.4);
  EXPECT_EQ(taken(), " 40 %  4 x 16\n");
  wait(10);
  line.show_phase("4 x 16", 0.9);
  EXPECT_EQ(taken(), " 90 %  4 x 16, 0:02 left\n");
}

TEST_F(Lines, AreNotWrittenIfQuiet) {
  ShareLine line(true, file(), now());
  wait(3600);
  line.show_episodes(0, 10);
  line.show_rest("work", 0.5);
  EXPECT_EQ(taken(), "");
}

// An exception that leaves a thread would end the program.
TEST(EnvBench, NamesASimulatorThatThrowsInAnyThread) {
  for (const bool whole : {false, true}) {
    const std::string id = whole ? "TimedWhole-v0" : "Timed-v0";
    const auto wrap = [=](auto inner) {
      return std::make_unique<ThrowingElsewhere>(std::move(inner), id, "valid_actions", 9, whole);
    };
    register_simulator(id, wrap, true);
    for (const int threads : {1, 3}) {
      BenchOptions options;
      options.num_envs = 12;
      options.num_steps = 3;
      options.threads = threads;
      EXPECT_TRUE(bench_env(id, {}, options).ok());
      options.num_steps = 40;
      const Status failed = bench_env(id, {}, options).status();
      EXPECT_EQ(failed.kind(), ErrorKind::kIo);
      EXPECT_EQ(failed.message(),
                "valid_actions() of " + id + " threw an exception, expected none: socket closed");
    }
  }
}

}  // namespace
}  // namespace broadloom::cli
