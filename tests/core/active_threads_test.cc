// sanitizers: address, threads
#include "broadloom/core/active_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace broadloom {
namespace {

// A machine on which a round takes `seconds[n]` with n threads, `waited[n]` of it asleep.
struct Machine {
  std::vector<double> seconds;  // [threads + 1]
  std::vector<double> waited;
};

Machine quiet(int threads) {
  Machine machine{std::vector<double>(threads + 1), std::vector<double>(threads + 1, 0.0)};
  for (int n = 1; n <= threads; ++n) machine.seconds[n] = 0.004 / n;
  return machine;
}

// Where `cores` are left: with more threads, everyone waits for who has none, and the more of them
// the longer.
Machine busy(int threads, int cores) {
  Machine machine = quiet(threads);
  for (int n = cores + 1; n <= threads; ++n) {
    machine.seconds[n] = 0.005 / cores * (1.0 + 0.1 * (n - cores));
    machine.waited[n] = 0.001;
  }
  return machine;
}

// Share of `seconds` that went by with each number of threads.
std::vector<double> shares(ActiveThreads& threads, const Machine& machine, double seconds) {
  std::vector<double> out(machine.seconds.size(), 0.0);
  double passed = 0.0;
  while (passed < seconds) {
    const int n = threads.count();
    EXPECT_GE(n, 1);
    EXPECT_LT(n, static_cast<int>(out.size()));
    out[n] += machine.seconds[n];
    passed += machine.seconds[n];
    threads.observe(machine.seconds[n], machine.waited[n]);
  }
  for (double& share : out) share /= passed;
  return out;
}

TEST(ActiveThreads, AllWorkOnAQuietMachine) {
  for (const int n : {1, 2, 8, 13}) {
    ActiveThreads threads(n, n);
    EXPECT_EQ(shares(threads, quiet(n), 100.0)[n], 1.0);
  }
}

TEST(ActiveThreads, WaitingThatIsPartOfTheWorkCostsNextToNothing) {
  ActiveThreads threads(2, 2);
  Machine machine = quiet(2);
  machine.waited[2] = 0.2 * machine.seconds[2];
  EXPECT_GT(shares(threads, machine, 10.0)[2], 0.98);
  EXPECT_GT(shares(threads, machine, 100.0)[2], 0.995);
}

TEST(ActiveThreads, FewerWorkWhereOthersHaveTheCores) {
  for (const int n : {2, 4, 16}) {
    for (const int cores : {1, n / 2, n - 1}) {
      ActiveThreads threads(n, n);
      const Machine machine = busy(n, cores);
      shares(threads, machine, 10.0);
      EXPECT_GT(shares(threads, machine, 20.0)[cores], 0.9)
          << cores << " cores for " << n << " threads";
    }
  }
}

TEST(ActiveThreads, AllComeBackWhenThereIsRoomAndGoAgainWhenThereIsNot) {
  ActiveThreads threads(2, 2);
  for (int time = 0; time < 3; ++time) {
    shares(threads, busy(2, 1), 30.0);
    EXPECT_GT(shares(threads, busy(2, 1), 10.0)[1], 0.95);
    shares(threads, quiet(2), 3.0);
    EXPECT_EQ(shares(threads, quiet(2), 10.0)[2], 1.0);
    shares(threads, busy(2, 1), 0.5);
    EXPECT_GT(shares(threads, busy(2, 1), 10.0)[1], 0.9);
  }
}

TEST(ActiveThreads, NoMoreThanThereAreCoresToBeginWith) {
  ActiveThreads threads(8, 2);
  EXPECT_EQ(threads.count(), 2);
  EXPECT_GT(shares(threads, busy(8, 2), 100.0)[2], 0.95);
}

TEST(ActiveThreads, RoundsLongerThanAWindowAreOneEach) {
  ActiveThreads threads(2, 2);
  Machine machine = busy(2, 1);
  for (double& seconds : machine.seconds) seconds *= 1000.0;
  for (double& waited : machine.waited) waited *= 1000.0;
  EXPECT_GT(shares(threads, machine, 1000.0)[1], 0.85);
}

TEST(ActiveThreads, ARoundSetsThePool) {
  ThreadPool pool(4);
  ActiveThreads threads(4, 4);
  std::atomic<int> others{0};
  for (int i = 0; i < 2000; ++i) {
    const int most = 1 + i % 4;
    threads.hold(most);
    const ActiveRound round(threads, pool);
    ASSERT_EQ(pool.active(), most);
    pool.run(8, [&](int, int thread) { others += thread >= most ? 1 : 0; });
  }
  EXPECT_EQ(others, 0);
}

// Each round's second thread is late, and the first sleeps meanwhile: fewer are tried, as they are
// only where waiting was told of. However busy the machine, some rounds come out like that.
TEST(ActiveThreads, WhatARoundWaitedReachesTheChoice) {
  ThreadPool pool(2);
  ActiveThreads threads(2, 2);
  for (int i = 0; i < 3000 && threads.count() == 2; ++i) {
    std::atomic<bool> late{false};
    const ActiveRound round(threads, pool);
    pool.run(2, [&](int, int thread) {
      if (thread == 1) {
        late = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      while (!late) std::this_thread::yield();  // so that the other has the other task
    });
  }
  EXPECT_EQ(threads.count(), 1);
}

}  // namespace
}  // namespace broadloom
