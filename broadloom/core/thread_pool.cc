#include "broadloom/core/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "broadloom/core/available_cores.h"
#include "broadloom/core/pool_shortage.h"
#include "broadloom/core/relax.h"

namespace broadloom {
namespace {

// Ticket of no section, while a section is being opened. Sections count from 1.
constexpr std::uint64_t kClosed = 0;

// Spin iterations. They cover the stretches of a training iteration that one thread runs alone,
// because waking a thread takes some fifty microseconds.
constexpr int kLooks = 10000;

std::atomic<bool> g_any_was_alone{false};

}  // namespace

ThreadPool::ThreadPool(int threads)
    : runs_(new Run[static_cast<std::size_t>(threads)]),
      finished_(new Finished[static_cast<std::size_t>(threads)]),
      cores_(available_cores()) {
  active_ = threads;
  for (int i = 1; i < threads && status_.ok(); ++i)
    status_ = workers_.start([this, i] { work(i); });
  if (status_.ok()) return;
  // The caller alone, so that what the stacks took is there for those who say what is wrong.
  set_active(this->threads());
  open_section(0, nullptr, nullptr);
  workers_.join();
  set_active(1);
  g_any_was_alone = true;
}

bool any_pool_was_alone() { return g_any_was_alone; }

ThreadPool::~ThreadPool() {
  set_active(threads());
  open_section(0, nullptr, nullptr);
  workers_.join();
}

void ThreadPool::set_active(int threads) {
  active_.store(threads, std::memory_order_seq_cst);
  active_.notify_all();
}

// With more threads than cores, spinning only takes the core from a thread that has work.
int ThreadPool::looks() const { return active() <= cores_ ? kLooks : 0; }

void ThreadPool::run_erased(int tasks, Call call, void* context) {
  asked_tasks_ += static_cast<std::uint64_t>(tasks);
  open_section(tasks, call, context);
  help(section_.load(std::memory_order_relaxed), 0);
  wait_until_finished();
  if (!has_thrown_.load(std::memory_order_acquire)) return;
  has_thrown_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(thrown_, nullptr));
}

// A task that throws is over like others: who waits for it must not wait for ever.
void ThreadPool::call_and_keep(Call call, void* context, int task, int thread) {
  try {
    call(context, task, thread);
  } catch (...) {
    if (!has_thrown_.exchange(true, std::memory_order_acq_rel)) thrown_ = std::current_exception();
  }
}

void ThreadPool::open_section(int tasks, Call call, void* context) {
  std::uint32_t section = section_.load(std::memory_order_relaxed) + 1;
  if (section == 0) section = 1;
  for (int r = active() - 1; r >= 0; --r) {  // its own run last
    Run& run = runs_[r];
    // Closes the ticket first: a thread that holds a ticket of the last section must not match it
    // with the new section's data. A thread that sees any new value below also sees the ticket
    // closed.
    run.ticket.store(kClosed, std::memory_order_release);
    run.end.store(first_task(r + 1, tasks), std::memory_order_release);
    run.call.store(call, std::memory_order_release);
    run.context.store(context, std::memory_order_release);
    run.ticket.store(static_cast<std::uint64_t>(section) << 32 | first_task(r, tasks),
                     std::memory_order_release);
  }
  // Sequentially consistent: notify_all() then checks for sleepers. A thread that is about to sleep
  // must see the store before that check.
  section_.store(section, std::memory_order_seq_cst);
  section_.notify_all();
}

std::uint64_t ThreadPool::finished_tasks() const {
  std::uint64_t tasks = 0;
  for (int t = 0; t < threads(); ++t) tasks += finished_[t].tasks.load(std::memory_order_acquire);
  return tasks;
}

void ThreadPool::wait_until_finished() {
  for (int i = looks(); i > 0; --i) {
    if (finished_tasks() == asked_tasks_) return;
    relax();
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (true) {
    const std::uint32_t rests = rests_.load(std::memory_order_acquire);
    if (finished_tasks() == asked_tasks_) break;
    rests_.wait(rests, std::memory_order_acquire);
  }
  slept_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void ThreadPool::work(int thread) {
  std::uint32_t section = 0;
  while (true) {
    section = wait_for_section(thread, section);
    if (runs_[thread].call.load(std::memory_order_acquire) == nullptr) return;
    if (help(section, thread) == 0) continue;
    rests_.fetch_add(1, std::memory_order_seq_cst);
    rests_.notify_all();
  }
}

std::uint32_t ThreadPool::wait_for_section(int thread, std::uint32_t seen) {
  const auto newest = [&] {
    return static_cast<std::uint32_t>(runs_[thread].ticket.load(std::memory_order_acquire) >> 32);
  };
  const auto is_new = [seen](std::uint32_t section) { return section != 0 && section != seen; };
  for (int i = looks(); i > 0; --i) {
    const std::uint32_t section = newest();
    if (is_new(section)) return section;
    relax();
  }
  while (true) {
    const int taking_tasks = active();
    if (thread >= taking_tasks) {
      active_.wait(taking_tasks, std::memory_order_relaxed);
      continue;
    }
    const std::uint32_t opened = section_.load(std::memory_order_acquire);
    const std::uint32_t section = newest();
    if (is_new(section)) return section;
    section_.wait(opened, std::memory_order_acquire);
  }
}

int ThreadPool::help(std::uint32_t section, int thread) {
  int taken = take_from(thread, section, thread);
  for (int r = thread + 1; r < active(); ++r) taken += take_from(r, section, thread);
  for (int r = 0; r < std::min(thread, active()); ++r) taken += take_from(r, section, thread);
  return taken;
}

int ThreadPool::take_from(int r, std::uint32_t section, int thread) {
  Run& run = runs_[r];
  std::atomic<std::uint64_t>& finished = finished_[thread].tasks;
  int taken = 0;
  std::uint64_t ticket = run.ticket.load(std::memory_order_acquire);
  while ((ticket >> 32) == section) {
    // Read before the exchange: if that succeeds, the section was still open, so these values
    // belong to it.
    const Call call = run.call.load(std::memory_order_acquire);
    void* context = run.context.load(std::memory_order_acquire);
    const std::uint32_t end = run.end.load(std::memory_order_acquire);
    const std::uint32_t task = static_cast<std::uint32_t>(ticket);
    if (task >= end) break;
    if (!run.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      continue;
    }
    call_and_keep(call, context, static_cast<int>(task), thread);
    finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    taken += 1;
    ticket = run.ticket.load(std::memory_order_acquire);
  }
  return taken;
}

}  // namespace broadloom
