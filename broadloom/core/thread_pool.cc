#include "broadloom/core/thread_pool.h"

namespace broadloom {
namespace {

// The ticket between sections: of no epoch, with no task left. Sections count from 1.
constexpr std::uint64_t kClosed = 0x7fffffffu;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Returns once `value` is not `old`: some tens of microseconds of looking, then sleep.
template <class T>
void wait_while(const std::atomic<T>& value, T old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  // With more threads than cores, looking only takes the core from whoever has work.
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  spins_ = threads <= cores ? 2000 : 0;
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_erased(int tasks, Call call, void* context) {
  if (tasks <= 0) return;
  // Closed first: a worker that still holds the last ticket must not match it with the new
  // section's number of tasks. Whoever sees one of the new values below also sees the ticket
  // closed.
  ticket_.store(kClosed, std::memory_order_release);
  call_.store(call, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  tasks_.store(tasks, std::memory_order_release);
  finished_.store(0, std::memory_order_release);
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  ticket_.store(static_cast<std::uint64_t>(epoch) << 32, std::memory_order_release);
  epoch_.store(epoch, std::memory_order_release);
  epoch_.notify_all();
  help(epoch, 0);
  for (int seen = finished_.load(std::memory_order_acquire); seen != tasks;
       seen = finished_.load(std::memory_order_acquire)) {
    wait_while(finished_, seen, spins_);
  }
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  while (true) {
    wait_while(epoch_, seen, spins_);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    help(seen, thread);
  }
}

void ThreadPool::help(std::uint32_t epoch, int thread) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    // Read before the exchange: if that succeeds the section was still open, so these were its own.
    const Call call = call_.load(std::memory_order_acquire);
    void* context = context_.load(std::memory_order_acquire);
    const int tasks = tasks_.load(std::memory_order_acquire);
    if ((ticket >> 32) != epoch) return;
    const int task = static_cast<int>(ticket & 0xffffffffu);
    if (task >= tasks) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    call(context, task, thread);
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks) finished_.notify_all();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

}  // namespace broadloom
