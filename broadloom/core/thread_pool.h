// A fork-join pool for short parallel sections.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/status.h"
#include "broadloom/core/threads.h"

namespace broadloom {

// run(tasks, f) calls f(0) ... f(tasks - 1), each once, on the caller and threads - 1 workers. It
// returns when all have finished.
//
// Any thread may take any task, so the output of f must not depend on it. f(task, thread) also gets
// the thread, 0 to threads - 1, for scratch memory. Each thread begins with its own run of
// neighbouring tasks, then takes from the others' runs. A task's data thus mostly stays in one
// core's cache from section to section.
//
// run() allocates nothing. Waiting threads spin briefly and then sleep, so an idle pool costs no
// CPU time. Only one run() at a time; f must not call run() of the same pool. If f throws, as when
// memory runs out, run() throws the first exception again once all tasks are over.
class ThreadPool {
 public:
  // threads >= 1, including the caller. If the machine gives fewer, the pool is smaller and works
  // as well; status() then says so.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // kIo where not all threads could be started, for those that were asked for so many.
  const Status& status() const { return status_; }

  // Threads that take tasks, the caller first; the others sleep. All threads, unless set_active()
  // said otherwise. Call both only between sections.
  int active() const { return active_.load(std::memory_order_relaxed); }
  void set_active(int threads);  // 1 to threads()

  // Total seconds that the caller has slept while it waited for the workers.
  double slept_seconds() const { return slept_seconds_; }

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
    if (tasks > 1 && active() > 1) return run_erased(tasks, call, context);
    for (int task = 0; task < tasks; ++task) call(context, task, 0);
  }

 private:
  using Call = void (*)(void* context, int task, int thread);

  // The rest of one thread's run of tasks, and all that is needed to do it, on one cache line. A
  // spinning worker reads only this line, so a section begins with one transfer between caches.
  //
  // The ticket holds the section's number beside the next task. A worker that wakes late can thus
  // never take a task of another section: its compare-exchange fails.
  struct alignas(kCacheLine) Run {
    std::atomic<std::uint64_t> ticket{0};  // section << 32 | next task
    std::atomic<std::uint32_t> end{0};     // one past the run's last task
    std::atomic<Call> call{nullptr};       // null: the pool closes
    std::atomic<void*> context{nullptr};
  };
  // Only one thread writes it, so no task of another thread takes the line away.
  struct alignas(kCacheLine) Finished {
    std::atomic<std::uint64_t> tasks{0};  // since the pool was made
  };

  void run_erased(int tasks, Call call, void* context);
  void open_section(int tasks, Call call, void* context);
  void wait_until_finished();
  std::uint64_t finished_tasks() const;
  void work(int thread);
  // The number of the next section after `seen`, the last one that the worker took part in.
  std::uint32_t wait_for_section(int thread, std::uint32_t seen);
  // Takes and runs tasks of a section until none is left. Returns how many it ran.
  int help(std::uint32_t section, int thread);
  int take_from(int run, std::uint32_t section, int thread);
  void call_and_keep(Call call, void* context, int task, int thread);
  // The first task of a run; for run active(), the number of tasks.
  std::uint32_t first_task(int run, int tasks) const {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(run) * tasks / active());
  }

  // Spin iterations before a waiting thread sleeps.
  int looks() const;

  double slept_seconds_ = 0.0;
  std::uint64_t asked_tasks_ = 0;         // since the pool was made
  std::unique_ptr<Run[]> runs_;           // [threads]
  std::unique_ptr<Finished[]> finished_;  // [threads]
  int cores_;                             // cores that the pool may use
  // Futex words: idle workers wait on active_, active workers on section_, the caller on rests_.
  alignas(kCacheLine) std::atomic<int> active_{1};
  alignas(kCacheLine) std::atomic<std::uint32_t> section_{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> rests_{0};  // how often a worker ran out of tasks
  std::atomic<bool> has_thrown_{false};
  std::exception_ptr
      thrown_;  // the first of a section; only the thread that set has_thrown_ writes
  Status status_;
  Threads workers_;
};

}  // namespace broadloom
