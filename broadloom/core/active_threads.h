// Number of a pool's threads that should work, found by trial.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "broadloom/core/thread_pool.h"

namespace broadloom {

// Beside other busy processes, a section waits for each of its threads that the system has taken
// off its core. Fewer threads are then faster. Results do not depend on the number, so trials may
// run during training.
//
// Now and then, one window of rounds runs with another number of threads, which is kept if its
// rounds were faster. Fewer threads are tried only if threads waited for one another. A rejected
// number is tried again after at most some hundred windows: about two seconds, more if rounds are
// long.
class ActiveThreads {
 public:
  // threads: size of the pool. cores: cores that the threads may use; the first count is at most
  // this.
  ActiveThreads(int threads, int cores) : threads_(threads), home_(std::min(threads, cores)) {}

  // Threads that should take part in the next round.
  int count() const { return trial_ > 0 ? trial_ : home_; }

  // Fixes the number of threads from now on, whatever rounds take; 1 to the size of the pool.
  void hold(int threads);

  // Reports a round of the usual work. seconds: its duration. waited: seconds that the caller slept
  // until the other threads were done.
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
  // Another number of threads to try; 0 for none.
  int next_trial(bool waits);

  int threads_;
  int home_;       // fastest number so far
  int trial_ = 0;  // 0: no trial
  bool held_ = false;
  std::size_t turn_ = 0;  // index of next_trial()'s candidate
  int pause_ = 16;        // windows between trials; doubles after each trial that brought nothing
  int until_trial_ = 4;
  Window usual_;   // decayed sums over recent windows without a trial
  Window window_;  // the current window, not yet full
};

// One round of the pool with the number of threads that was fastest lately, until the scope ends.
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
