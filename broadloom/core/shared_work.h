// Work that threads share as they come to it, inside a section of the pool.
#pragma once

#include <atomic>
#include <thread>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/relax.h"

namespace broadloom {

// Short parts that must all be done before anyone goes on: whoever comes takes parts until none is
// left, then waits for those that others are still at. Once they are done, finish() only looks.
// Unlike a section of ThreadPool, it needs no meeting of all threads.
class alignas(kCacheLine) SharedWork {
 public:
  // To be called before the section whose threads finish it.
  void reset(int parts) {
    parts_ = parts;
    next_.store(0, std::memory_order_relaxed);
    left_.store(parts, std::memory_order_release);
  }

  // f(part) for parts 0 to parts - 1, each once by one of the threads that call this; what they
  // wrote is seen by all who return. f must not throw.
  template <class F>
  void finish(F&& f) {
    if (left_.load(std::memory_order_acquire) == 0) return;
    for (int part = take(); part < parts_; part = take()) {
      f(part);
      left_.fetch_sub(1, std::memory_order_acq_rel);
    }
    // A part is short, so to sleep would take longer; but its thread may have lost the core.
    for (int looks = 0; left_.load(std::memory_order_acquire) != 0; ++looks) {
      if (looks < kLooks) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static constexpr int kLooks = 1000;

  int take() { return next_.fetch_add(1, std::memory_order_relaxed); }

  int parts_ = 0;
  std::atomic<int> next_{0};
  std::atomic<int> left_{0};
};

}  // namespace broadloom
