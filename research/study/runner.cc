#include "research/study/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

#include "broadloom/core/memory_limits.h"
#include "broadloom/core/out_of_memory.h"
#include "broadloom/core/threads.h"
#include "broadloom/math/isa.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/device.h"
#include "research/study/study_run.h"

namespace broadloom {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick(200);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status check_memory(const StudyPlan& plan, const StudyOptions& options) {
  std::vector<double> bytes;
  for (const StudyCell& cell : plan.cells) {
    const Result<RolloutContract> contract = make_contract(cell.config, options.threads);
    if (!contract.ok()) return contract.status();
    const std::size_t runs = std::min<std::size_t>(plan.seeds.size(), options.jobs);
    bytes.insert(bytes.end(), runs, static_cast<double>(contract.value().memory.total()));
  }
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  bytes.resize(std::min<std::size_t>(bytes.size(), options.jobs));
  const double total = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const std::vector<MemoryLimit> limits = memory_limits();
  if (limits.empty() || total <= static_cast<double>(limits.front().bytes)) return {};
  return invalid(fmt::format(
      "{} run{} at once may need {:.1f} MB, but {}; use fewer --jobs, or smaller shapes",
      bytes.size(), bytes.size() == 1 ? "" : "s", total * 1e-6, limits.front().text()));
}

// The threads that train. They take runs in order and hand over their records.
class Workers {
 public:
  Workers(const StudyPlan& plan, std::vector<const StudyRun*> runs, const StudyOptions& options)
      : plan_(plan), runs_(std::move(runs)), threads_(options.threads) {
    const std::size_t count = std::min<std::size_t>(runs_.size(), options.jobs);
    for (std::size_t w = 0; w < count; ++w) slots_.push_back(std::make_unique<Slot>());
    active_ = static_cast<int>(count);
    for (auto& slot : slots_) {
      status_ = threads_of_runs_.start([this, s = slot.get()] { work(*s); });
      if (!status_.ok()) break;
    }
  }
  ~Workers() {
    stop();
    threads_of_runs_.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // kIo if a thread could not be started.
  const Status& status() const { return status_; }
  // Ends all threads; runs in progress are dropped.
  void stop() { stop_.store(true, std::memory_order_relaxed); }

  // Moves new records to `out`, after waiting a moment for one; false once no more will come.
  bool collect(std::deque<RunRecord>& out) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kTick, [this] { return !ended_.empty() || active_ == 0; });
    for (RunRecord& record : ended_) out.push_back(std::move(record));
    ended_.clear();
    return active_ > 0;
  }

  std::vector<ProgressCounter::Running> running() const {
    std::vector<ProgressCounter::Running> out;
    for (const auto& slot : slots_) {
      const std::int64_t id = slot->id.load(std::memory_order_acquire);
      if (id != 0) out.push_back({id, slot->share.load(), seconds_since(slot->started.load())});
    }
    return out;
  }

 private:
  struct Slot {
    std::atomic<std::int64_t> id{0};  // of its run; 0: none
    std::atomic<double> share{0.0};
    std::atomic<Clock::time_point> started{};
  };

  void work(Slot& slot) {
    for (std::size_t i = next_++; i < runs_.size() && !stop_; i = next_++) {
      slot.share = 0.0;
      slot.started = Clock::now();
      slot.id.store(runs_[i]->id, std::memory_order_release);
      std::optional<RunRecord> record = train_run(plan_, *runs_[i], threads_, [&](double share) {
        slot.share.store(share, std::memory_order_relaxed);
        return !stop_.load(std::memory_order_relaxed);
      });
      slot.id = 0;
      if (!record) break;
      hand_over(std::move(*record));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    --active_;
    changed_.notify_one();
  }

  void hand_over(RunRecord record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.push_back(std::move(record));
    changed_.notify_one();
  }

  const StudyPlan& plan_;
  std::vector<const StudyRun*> runs_;
  int threads_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RunRecord> ended_;
  int active_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  Status status_;
  Threads threads_of_runs_;
};

double training_return(const RunRecord& record) {
  if (!record.curve.empty()) {
    for (const auto& [key, value] : record.curve.back().values) {
      if (key == "episodic_return") return value;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Writes records to the store, in the only thread that uses it.
class Writer {
 public:
  Writer(const StudyPlan& plan, StudyStore& store, ProgressCounter& counter,
         std::vector<const StudyRun*>& pending)
      : plan_(plan), store_(store), counter_(counter), pending_(pending) {}

  // Stores the records. While another program's lock prevents that, they stay in memory.
  Status write(std::deque<RunRecord>& ended) {
    while (!ended.empty()) {
      const RunRecord& record = ended.front();
      if (record.lacked_memory) {
        lacked_memory_ += 1;
        ended.pop_front();
        continue;
      }
      const Status status = store_.write(record);
      if (!status.ok() && store_.busy()) {
        waiting_ = status.message();
        return {};
      }
      BROADLOOM_TRY(status);
      waiting_.clear();
      counter_.add(plan_.runs[static_cast<std::size_t>(record.id) - 1].cell, record.failed,
                   record.seconds, training_return(record));
      std::erase_if(pending_, [&](const StudyRun* run) { return run->id == record.id; });
      ended.pop_front();
    }
    return {};
  }
  const std::string& waiting() const { return waiting_; }
  // kIo if runs lacked memory.
  Status check_memory() const {
    if (lacked_memory_ == 0) return {};
    return {ErrorKind::kIo,
            fmt::format("{} run{}: {}. To train what is missing, run the same "
                        "command again",
                        lacked_memory_, lacked_memory_ == 1 ? "" : "s", kOutOfMemory)};
  }

 private:
  const StudyPlan& plan_;
  StudyStore& store_;
  ProgressCounter& counter_;
  std::vector<const StudyRun*>& pending_;
  std::string waiting_;
  int lacked_memory_ = 0;
};

Status train_all(const StudyPlan& plan, const StudyOptions& options, const StudyHooks& hooks,
                 StudyStore& store, std::vector<const StudyRun*> pending,
                 ProgressCounter& counter) {
  const Clock::time_point start = Clock::now();
  const StudyProgress at_start = counter.progress(pending, {});
  const int before = at_start.finished + at_start.failed;
  Workers workers(plan, pending, options);
  BROADLOOM_TRY(workers.status());
  Writer writer(plan, store, counter, pending);
  std::deque<RunRecord> ended;
  bool more = true, stopping = false;
  while (more || !ended.empty()) {
    more = workers.collect(ended);
    BROADLOOM_TRY(writer.write(ended));
    if (hooks.on_progress) {
      StudyProgress progress = counter.progress(pending, workers.running());
      progress.seconds = seconds_since(start);
      progress.before = before;
      progress.waiting = writer.waiting();
      hooks.on_progress(progress);
    }
    stopping = stopping || (hooks.should_stop && hooks.should_stop());
    if (stopping) workers.stop();
    // Stopped while a reader holds the lock: the results are lost, and the error says so.
    if (stopping && !more && !ended.empty()) return {ErrorKind::kIo, writer.waiting()};
  }
  return writer.check_memory();
}

}  // namespace

Status check_isa_of_cells(const StudyPlan& plan) {
  const std::string& isa = plan.cells.front().config.isa;
  for (const StudyCell& cell : plan.cells) {
    if (cell.config.isa == isa) continue;
    return invalid(
        fmt::format("cells ask for isa '{}' and '{}', but one process has one; make a study for "
                    "each",
                    isa, cell.config.isa));
  }
  return check_isa(isa);
}

bool StudySummary::is_over(const StudyPart& part) const {
  return std::none_of(runs.begin(), runs.end(), [&](const StoredRun& run) {
    return part.holds(run.id) && run.status == "pending";
  });
}

Result<StudySummary> run_study(const StudyPlan& plan, const StudyOptions& options,
                               const StudyHooks& hooks) {
  const Clock::time_point start = Clock::now();
  if (options.jobs < 1 || options.threads < 1) {
    return invalid(fmt::format("got {} jobs with {} threads each; expected at least 1 of both",
                               options.jobs, options.threads));
  }
  BROADLOOM_TRY(check_isa_of_cells(plan));
  for (const StudyCell& cell : plan.cells) BROADLOOM_TRY(check_knows_device(cell.config.device));
  BROADLOOM_TRY(check_memory(plan, options));
  Result<StudyStore> store =
      StudyStore::open(options.store, plan, options.part, options.any_revision);
  if (!store.ok()) return store.status();
  if (options.retry_failed) BROADLOOM_TRY(store.value().forget_failed(options.any_revision));
  const Result<std::vector<StoredRun>> before = store.value().runs();
  if (!before.ok()) return before.status();
  ProgressCounter counter(plan, options.part, options.jobs);
  std::vector<const StudyRun*> pending;
  for (const StoredRun& run : before.value()) {
    if (!options.part.holds(run.id)) continue;
    if (run.status == "pending") {
      pending.push_back(&plan.runs[static_cast<std::size_t>(run.id) - 1]);
    } else {
      counter.add(run.cell, run.status == "failed", run.seconds, run.training_return);
    }
  }
  BROADLOOM_TRY(train_all(plan, options, hooks, store.value(), std::move(pending), counter));
  StudySummary summary;
  Result<std::vector<StoredRun>> runs = store.value().runs();
  if (!runs.ok()) return runs.status();
  summary.runs = runs.take();
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace broadloom
