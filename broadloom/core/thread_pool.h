// A fork-join pool for short parallel sections.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "broadloom/core/aligned_vector.h"

namespace broadloom {

// run(tasks, f) calls f(0) ... f(tasks - 1), each once, on the caller and threads - 1 workers, and
// returns when all have finished. Which thread takes which task is open, so what f writes must not
// depend on it; f(task, thread) is also told the thread, 0 to threads - 1, for scratch memory.
// Each thread begins with its own run of neighbouring tasks and takes from the others' when that is
// done, so that what a task works on mostly stays in one core's cache from section to section.
// Nothing is allocated by run(). Waiting spins briefly and then sleeps, so that an idle pool costs
// no processor time. One run() at a time; f must not call run() of the same pool, nor throw.
class ThreadPool {
 public:
  // threads >= 1, the caller included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  template <class F>
  void run(int tasks, F&& f) {
    using Function = std::remove_reference_t<F>;
    const Call call = [](void* context, int task, int thread) {
      Function& function = *static_cast<Function*>(context);
      if constexpr (std::is_invocable_v<Function&, int, int>) {
        function(task, thread);
      } else {
        function(task);
      }
    };
    void* context = const_cast<void*>(static_cast<const void*>(&f));
    if (tasks > 1 && !workers_.empty()) return run_erased(tasks, call, context);
    for (int task = 0; task < tasks; ++task) call(context, task, 0);
  }

 private:
  using Call = void (*)(void* context, int task, int thread);

  // The tasks of one thread's run that are left. The section's number stands beside the next task,
  // so that a worker that wakes late can never take a task of one section for one of another: its
  // compare-exchange fails.
  struct alignas(kCacheLine) Run {
    std::atomic<std::uint64_t> ticket{0};  // epoch << 32 | next task
  };

  void run_erased(int tasks, Call call, void* context);
  void work(int thread);
  // Takes and runs tasks of the section `epoch` until none is left.
  void help(std::uint32_t epoch, int thread);
  void take_from(int run, std::uint32_t epoch, int thread);
  // The first task of a run; that of run threads() is the number of tasks.
  int first_task(int run, int tasks) const {
    return static_cast<int>(static_cast<std::int64_t>(run) * tasks / threads());
  }

  // Written once a section by the caller.
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};  // what sleeping workers wait on
  std::atomic<int> tasks_{0};
  std::atomic<Call> call_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<bool> stop_{false};
  // Written once a task, by whoever did it.
  alignas(kCacheLine) std::atomic<int> finished_{0};
  alignas(kCacheLine) int spins_ = 0;
  std::unique_ptr<Run[]> runs_;  // [threads]
  std::vector<std::thread> workers_;
};

}  // namespace broadloom
