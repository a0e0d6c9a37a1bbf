#include "broadloom/core/thread_pool.h"

namespace broadloom {
namespace {

// A ticket while a section is being opened: of no epoch, with no task left. Sections count from 1.
constexpr std::uint64_t kClosed = 0x7fffffffu;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Returns once `value` is not `old`: some hundred microseconds of looking, then sleep.
template <class T>
void wait_while(const std::atomic<T>& value, T old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : runs_(new Run[static_cast<std::size_t>(threads)]) {
  // Long enough for the stretches of a training iteration that one thread does alone, because to be
  // woken takes some fifty microseconds. With more threads than cores, looking only takes the core
  // from whoever has work.
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  spins_ = threads <= cores ? 10000 : 0;
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
  // Closed first: a worker that still holds a ticket of the last section must not match it with the
  // new one's number of tasks. Whoever sees one of the new values below also sees the tickets
  // closed.
  for (int r = 0; r < threads(); ++r) runs_[r].ticket.store(kClosed, std::memory_order_release);
  call_.store(call, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  tasks_.store(tasks, std::memory_order_release);
  finished_.store(0, std::memory_order_release);
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  for (int r = 0; r < threads(); ++r) {
    const std::uint64_t first = static_cast<std::uint32_t>(first_task(r, tasks));
    runs_[r].ticket.store(static_cast<std::uint64_t>(epoch) << 32 | first,
                          std::memory_order_release);
  }
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
  take_from(thread, epoch, thread);
  for (int r = thread + 1; r < threads(); ++r) take_from(r, epoch, thread);
  for (int r = 0; r < thread; ++r) take_from(r, epoch, thread);
}

void ThreadPool::take_from(int run, std::uint32_t epoch, int thread) {
  std::atomic<std::uint64_t>& shared = runs_[run].ticket;
  std::uint64_t ticket = shared.load(std::memory_order_acquire);
  while (true) {
    // Read before the exchange: if that succeeds the section was still open, so these were its own.
    const Call call = call_.load(std::memory_order_acquire);
    void* context = context_.load(std::memory_order_acquire);
    const int tasks = tasks_.load(std::memory_order_acquire);
    if ((ticket >> 32) != epoch) return;
    const int task = static_cast<int>(ticket & 0xffffffffu);
    if (task >= first_task(run + 1, tasks)) return;
    if (!shared.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    call(context, task, thread);
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks) finished_.notify_all();
    ticket = shared.load(std::memory_order_acquire);
  }
}

}  // namespace broadloom
