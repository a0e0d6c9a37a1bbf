// sanitizers: address, threads
#include "broadloom/core/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "tests/support/release_only.h"

namespace broadloom {
namespace {

TEST(ThreadPool, RunsEveryTaskExactlyOnceThroughManySections) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int section = 0; section < 3000; ++section) {
      const int tasks = section % 17;
      std::vector<int> runs(17, 0);  // plain ints: a task taken twice is a race that TSan sees
      pool.run(tasks, [&](int task) { ++runs[task]; });
      for (int task = 0; task < 17; ++task) ASSERT_EQ(runs[task], task < tasks ? 1 : 0);
    }
  }
}

TEST(ThreadPool, WhatTasksWroteIsSeenAfterRun) {
  ThreadPool pool(4);
  std::vector<long> values(1000, 1);
  for (int round = 0; round < 200; ++round) {
    pool.run(50, [&](int task) {
      for (int i = 0; i < 20; ++i) values[task * 20 + i] += i;
    });
  }
  long sum = 0;
  for (const long v : values) sum += v;
  EXPECT_EQ(sum, 1000 + 200L * 50 * 190);
}

// Whoever waits long falls asleep: workers between sections, the caller for its last task. Nobody
// may miss being woken.
TEST(ThreadPool, SleepersWake) {
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    std::vector<int> runs(8, 0);
    for (int section = 0; section < 40; ++section) {
      std::this_thread::sleep_for(std::chrono::microseconds(section % 2 == 0 ? 1500 : 200));
      pool.run(8, [&](int task) {
        std::this_thread::sleep_for(std::chrono::microseconds(task == section % 8 ? 1500 : 0));
        ++runs[task];
      });
    }
    EXPECT_EQ(runs, std::vector<int>(8, 40));
  }
}

// Who is left out parks, asleep or not; all come back, and are woken at the end.
TEST(ThreadPool, SomeOfTheThreadsCanBeLeftOut) {
  ThreadPool pool(6);
  EXPECT_EQ(pool.active(), 6);
  std::vector<int> runs(40, 0);
  std::atomic<int> left_out{0};
  for (int section = 0; section < 3000; ++section) {
    const int active = 1 + section % 6;
    pool.set_active(active);
    if (section % 500 == 499) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.run(40, [&](int task, int thread) {
      ++runs[task];
      left_out += thread >= active ? 1 : 0;
    });
  }
  pool.set_active(2);
  EXPECT_EQ(runs, std::vector<int>(40, 3000));
  EXPECT_EQ(left_out, 0);
}

TEST(ThreadPool, SaysHowLongTheCallerSlept) {
  ThreadPool pool(2);
  for (int i = 0; i < 50 && pool.slept_seconds() == 0.0; ++i) {  // it may itself be held up
    std::atomic<int> here{0};
    pool.run(2, [&](int, int thread) {
      ++here;
      while (here < 2) std::this_thread::yield();  // so that each thread has one
      if (thread == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
  }
  EXPECT_GT(pool.slept_seconds(), 0.0);
  const double slept = pool.slept_seconds();
  pool.set_active(1);
  pool.run(2, [&](int) {});
  EXPECT_EQ(pool.slept_seconds(), slept);
}

TEST(ThreadPool, AThreadHasOneTaskAtATime) {
  ThreadPool pool(4);
  std::vector<int> busy(4, 0);  // plain ints: two tasks with one thread's number are a race
  std::atomic<int> wrong{0};
  for (int section = 0; section < 500; ++section) {
    pool.run(1 + section % 23, [&](int, int thread) {
      if (thread < 0 || thread >= 4) {
        ++wrong;
      } else {
        wrong += busy[thread]++;
        --busy[thread];
      }
    });
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, UnevenTasksAreSpread) {
  ThreadPool pool(2);
  std::atomic<long> work{0};
  pool.run(64, [&](int task) {
    for (int i = 0; i < task * 100; ++i) work.fetch_add(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(work.load(), 100L * 64 * 63 / 2);
}

// As where memory runs out: not by the end of the program.
TEST(ThreadPool, WhatATaskThrowsComesOutOfRunAndThePoolGoesOn) {
  ThreadPool pool(3);
  std::atomic<int> ran{0};
  const auto section = [&](int throws) {
    pool.run(100, [&](int task) {
      ++ran;
      if (task % 10 == throws) throw std::bad_alloc();
    });
  };
  for (int round = 0; round < 20; ++round) EXPECT_THROW(section(3), std::bad_alloc);
  EXPECT_EQ(ran, 2000);
  EXPECT_NO_THROW(section(10));
  EXPECT_EQ(ran, 2100);
}

// In a process of its own, whose limit holds for nobody else: on the size of memory, as a limit on
// processes does not hold for root.
TEST(ThreadPoolDeathTest, WhereAMachineGivesNoMoreThreadsTheCallerWorksAloneAndStatusSaysSo) {
  RELEASE_ONLY("sanitizers reserve more memory than the limit");
  const auto in_process = [] {
    rlimit small{64u << 20, 64u << 20};  // stacks are 8 MB each, as a rule
    if (setrlimit(RLIMIT_AS, &small) != 0) std::exit(2);
    ThreadPool pool(200);
    std::atomic<int> ran{0};
    pool.run(1000, [&](int) { ++ran; });
    const bool right = pool.threads() == 1 && ran == 1000 &&
                       pool.status().kind() == ErrorKind::kIo &&
                       pool.status().message().find("cannot start a thread") == 0;
    std::exit(right ? 0 : 1);
  };
  EXPECT_EXIT(in_process(), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(ThreadPool(2).status().ok());
}

}  // namespace
}  // namespace broadloom
