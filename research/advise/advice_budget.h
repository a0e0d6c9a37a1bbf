// The budget of advice and its use: seconds of the clock, or environment steps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace broadloom {

// Called with the present work and the total share done, in [0, 1]; from several threads, one at a
// time.
using AdviceProgress = std::function<void(const std::string& what, double share)>;

// A phase's budget: until `end_seconds` of the whole budget's clock, or a number of environment
// steps.
struct PhaseBudget {
  double end_seconds = 0.0;
  std::int64_t steps = 0;
};

// With a budget of steps, nothing reads the clock, so the work is the same on any machine.
class AdviceBudget {
 public:
  // steps 0: the budget is the seconds. should_stop and progress may be empty.
  AdviceBudget(double seconds, std::int64_t steps, std::function<bool()> should_stop,
               AdviceProgress progress);

  bool counts_steps() const { return steps_ > 0; }
  double seconds() const { return seconds_; }
  std::int64_t steps() const { return steps_; }

  double elapsed() const;  // seconds since construction
  std::int64_t spent_steps() const { return spent_steps_.load(std::memory_order_relaxed); }
  void add_steps(std::int64_t steps) { spent_steps_.fetch_add(steps, std::memory_order_relaxed); }

  // A phase that ends when this share of all seconds is spent. steps: this share of all, for the
  // phase alone.
  PhaseBudget phase(double share_of_seconds, double share_of_steps) const;
  // A share of the rest, without the part of the total that is reserved for later.
  PhaseBudget rest(double share, double reserved) const;

  // Whether to stop now: because of a request, or because the seconds are spent. Callable from any
  // thread.
  bool is_over() const;
  bool was_stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // Callable from any thread. Skips the message if another thread is reporting.
  void tell(const std::string& what) const;

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_;
  std::int64_t steps_;
  std::function<bool()> should_stop_;
  AdviceProgress progress_;
  Clock::time_point start_ = Clock::now();
  std::atomic<std::int64_t> spent_steps_{0};
  mutable std::atomic<bool> stopped_{false};
  mutable std::mutex telling_;
};

}  // namespace broadloom
