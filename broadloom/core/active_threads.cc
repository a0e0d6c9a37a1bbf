#include "broadloom/core/active_threads.h"

#include <algorithm>
#include <array>

namespace broadloom {
namespace {

// In seconds: several time slices of a scheduler. A shorter window would measure who was preempted
// rather than the work.
constexpr double kWindowSeconds = 0.02;
constexpr double kTrialSeconds = 0.04;
constexpr double kMemory = 0.75;  // weight of past windows: about the last four count
constexpr double kWaits = 0.05;   // above this share, threads count as waiting for each other
constexpr double kFaster = 0.97;
constexpr int kShortestPause = 16;
// In windows. A trial of too few threads costs as much as one of too many. But fewer threads are
// not urgent where waiting has always been part of the work.
constexpr int kLongestPause = 512;
constexpr int kLongestPauseWithFewer = 128;

}  // namespace

void ActiveThreads::hold(int threads) {
  held_ = true;
  home_ = threads;
  trial_ = 0;
}

void ActiveThreads::observe(double seconds, double waited) {
  if (threads_ == 1 || held_) return;
  window_.rounds += 1;
  window_.seconds += seconds;
  window_.waited += waited;
  if (window_.seconds < (trial_ > 0 ? kTrialSeconds : kWindowSeconds)) return;
  const Window window = window_;
  window_ = {};
  if (trial_ > 0) {
    end_trial(window);
  } else {
    end_usual(window);
  }
}

void ActiveThreads::end_trial(const Window& window) {
  if (window.round_seconds() < kFaster * usual_.round_seconds()) {
    home_ = trial_;
    usual_ = window;
    pause_ = kShortestPause;
  } else {
    pause_ = std::min(2 * pause_, home_ < threads_ ? kLongestPauseWithFewer : kLongestPause);
  }
  until_trial_ = pause_;
  trial_ = 0;
}

void ActiveThreads::end_usual(const Window& window) {
  usual_.rounds = kMemory * usual_.rounds + window.rounds;
  usual_.seconds = kMemory * usual_.seconds + window.seconds;
  usual_.waited = kMemory * usual_.waited + window.waited;
  const bool waits = usual_.waited > kWaits * usual_.seconds;
  if (home_ == threads_ && !waits) {  // if waiting begins later, react to it soon
    pause_ = kShortestPause;
    until_trial_ = std::min(until_trial_, pause_);
  }
  if (--until_trial_ > 0) return;
  trial_ = next_trial(waits);
}

int ActiveThreads::next_trial(bool waits) {
  const std::array<int, 5> candidates = {home_ - 1, std::min(2 * home_, threads_), home_ / 2,
                                         std::min(home_ + 1, threads_), threads_};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    turn_ = (turn_ + 1) % candidates.size();
    const int threads = candidates[turn_];
    if (threads > home_ || (threads < home_ && threads > 0 && waits)) return threads;
  }
  return 0;
}

ActiveRound::ActiveRound(ActiveThreads& threads, ThreadPool& pool)
    : threads_(threads), pool_(pool), slept_before_(pool.slept_seconds()), begin_(Clock::now()) {
  if (pool.active() != threads.count()) pool.set_active(threads.count());
}

ActiveRound::~ActiveRound() {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  threads_.observe(seconds, pool_.slept_seconds() - slept_before_);
}

}  // namespace broadloom
