// How many of a pool's threads should work, found by trying.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "broadloom/core/thread_pool.h"

namespace broadloom {

// Beside other busy processes a section waits for whichever of its threads the system has taken off
// its core, and fewer threads are then faster. Results do not depend on how many work, so that may
// be tried while training: now and then one window of rounds runs with another number of threads,
// which is kept where its rounds were faster. All threads are left only where they waited for one
// another; what was left is tried again after at most some hundred windows: about two seconds, more
// where a round is long.
class ActiveThreads {
 public:
  // threads: of the pool; cores: that they may run on, where more to begin with make no sense.
  ActiveThreads(int threads, int cores) : threads_(threads), home_(std::min(threads, cores)) {}

  // How many should take part in the next round.
  int count() const { return trial_ > 0 ? trial_ : home_; }

  // So many from now on, whatever rounds take; 1 to the pool's number.
  void hold(int threads);

  // A round of the usual work took so long, in which the caller slept `waited` seconds until others
  // were done.
  void observe(double seconds, double waited);

 private:
  struct Window {
    double rounds = 0.0;
    double seconds = 0.0;
    double waited = 0.0;
    double round_seconds() const { return seconds / rounds; }
  };

  void end_trial(const Window& window);
  void end_usual(const Window& window);
  // Another number of threads to try, 0 for none.
  int next_trial(bool waits);

  int threads_;
  int home_;       // what was fastest so far
  int trial_ = 0;  // 0: no trial
  bool held_ = false;
  std::size_t turn_ = 0;  // of the numbers that next_trial() goes through
  int pause_ = 16;        // windows between trials; longer after each that brought nothing
  int until_trial_ = 4;
  Window usual_;   // the last ones without a trial, older ones counting less
  Window window_;  // not yet full
};

// A round of a pool with as many threads as were fastest lately, from here to the end of the scope.
class ActiveRound {
 public:
  ActiveRound(ActiveThreads& threads, ThreadPool& pool);
  ~ActiveRound();
  ActiveRound(const ActiveRound&) = delete;
  ActiveRound& operator=(const ActiveRound&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  ActiveThreads& threads_;
  ThreadPool& pool_;
  double slept_before_;
  Clock::time_point begin_;
};

}  // namespace broadloom
