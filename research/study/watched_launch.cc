#include "research/study/watched_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <string_view>
#include <thread>

#include "broadloom/record/files.h"
#include "research/study/launch_command.h"

namespace broadloom {
namespace {

constexpr std::chrono::milliseconds kWatchTick(200);
// The queue is shared: asked often at first, when a study may be short, then seldom.
constexpr double kFirstPause = 0.2, kLongestPause = 15.0, kPauseGrows = 1.2;
// Long enough for a restart of the queue's daemon.
constexpr std::chrono::minutes kLongestRefusal(5);
constexpr std::size_t kMostLosses = 5;  // listed by name

std::string jobs_text(const std::vector<QueuedJob>& jobs) {
  int running = 0;
  std::map<std::string, int> waiting;
  for (const QueuedJob& job : jobs) {
    running += job.is_running ? 1 : 0;
    if (!job.is_running) ++waiting[job.reason];
  }
  std::string text = fmt::format("{} {} running", running, running == 1 ? "job" : "jobs");
  for (const auto& [reason, count] : waiting) {
    text += fmt::format(", {} waiting{}", count, reason.empty() ? "" : " (" + reason + ")");
  }
  return text;
}

// Whether a store that cannot be taken in is useless: damaged, truncated or overwritten. A valid
// store that disagrees needs a person's decision.
bool is_damage(const Status& status, const std::string& path) {
  if (status.kind() == ErrorKind::kCorrupt || status.kind() == ErrorKind::kNotFound) return true;
  if (status.kind() != ErrorKind::kMismatch) return false;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe would block
  constexpr std::string_view kBegin = "SQLite format 3";
  std::array<char, kBegin.size()> bytes{};
  std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
  return std::string_view(bytes.data(), bytes.size()) != kBegin;
}

}  // namespace

WatchedLaunch::WatchedLaunch(const StudyPlan& plan, Launch& launch, const JobQueue& queue,
                             StudyStore& store, const LaunchHooks& hooks)
    : plan_(plan),
      launch_(launch),
      queue_(queue),
      store_(store),
      hooks_(hooks),
      taken_(launch.parts.size()),
      damage_(launch.parts.size()) {}

Result<bool> WatchedLaunch::watch() {
  double pause = kFirstPause;
  while (true) {
    BROADLOOM_TRY(poll());
    if (!is_left_) return true;
    const auto next = Clock::now() + std::chrono::duration<double>(pause);
    pause = std::min(kLongestPause, pause * kPauseGrows);
    while (Clock::now() < next) {
      tell();
      if (hooks_.study.should_stop && hooks_.study.should_stop()) return false;
      std::this_thread::sleep_for(kWatchTick);
    }
  }
}

Status WatchedLaunch::poll() {
  const Result<std::vector<QueuedJob>> jobs = queue_.unfinished(launch_.name);
  if (!jobs.ok()) {
    if (Clock::now() - answered_ > kLongestRefusal) return jobs.status();
    progress_.waiting = jobs.status().message();
    return {};
  }
  answered_ = Clock::now();
  progress_.waiting.clear();
  is_left_ = !jobs.value().empty();
  if (launch_.array.empty() && is_left_) launch_.array = jobs.value().front().array;
  BROADLOOM_TRY(take(false));
  return count_again(jobs.value());
}

// is_last: a locked store is an error, and a missing or damaged one is noted; otherwise they are
// tried again later.
Status WatchedLaunch::take(bool is_last) {
  for (std::size_t p = 0; p < launch_.parts.size(); ++p) {
    const std::string path = with_number(launch_.stores(), static_cast<int>(p) + 1);
    std::error_code error;
    const StoreState now = {std::filesystem::last_write_time(path, error),
                            std::filesystem::file_size(path, error)};
    if (error && !is_last) continue;
    if (error == std::errc::no_such_file_or_directory) {
      damage_[p] = fmt::format("'{}' is missing", path);
      continue;
    }
    if (!is_last && now.time == taken_[p].time && now.bytes == taken_[p].bytes) continue;
    const Status status = store_.take(path);
    const bool is_damaged = is_damage(status, path);
    if (!is_last && (is_damaged || status.kind() == ErrorKind::kIo)) continue;
    if (is_damaged) {
      damage_[p] = status.message();
      continue;
    }
    BROADLOOM_TRY(status);
    taken_[p] = now;
    changed_ = true;
  }
  return {};
}

Status WatchedLaunch::count_again(const std::vector<QueuedJob>& jobs) {
  progress_.jobs = jobs_text(jobs);
  if (!changed_) return {};
  const Result<std::vector<StoredRun>> runs = store_.runs();
  if (!runs.ok()) return runs.status();
  const auto running =
      std::count_if(jobs.begin(), jobs.end(), [](const QueuedJob& job) { return job.is_running; });
  ProgressCounter counter(plan_, {}, std::max(1, static_cast<int>(running)));
  std::vector<const StudyRun*> pending;
  for (const StoredRun& run : runs.value()) {
    if (run.status == "pending") {
      pending.push_back(&plan_.runs[static_cast<std::size_t>(run.id) - 1]);
    } else {
      counter.add(run.cell, run.status == "failed", run.seconds, run.training_return);
    }
  }
  const std::string jobs_now = progress_.jobs;
  progress_ = counter.progress(pending, {});
  progress_.jobs = jobs_now;
  changed_ = false;
  return {};
}

void WatchedLaunch::tell() {
  if (!hooks_.study.on_progress || progress_.cells.empty()) return;
  progress_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  hooks_.study.on_progress(progress_);
}

Status WatchedLaunch::finish() {
  BROADLOOM_TRY(take(true));
  const Result<std::vector<std::size_t>> left = left_of_parts();
  if (!left.ok()) return left.status();
  launch_.is_over = true;
  BROADLOOM_TRY(write_launch(launch_));
  for (std::size_t p = 0; p < launch_.parts.size(); ++p) {
    if (left.value()[p] > 0 || !damage_[p].empty()) continue;
    std::error_code ignored;
    std::filesystem::remove(with_number(launch_.stores(), static_cast<int>(p) + 1), ignored);
  }
  BROADLOOM_TRY(count_again({}));
  tell();
  return {};
}

// Pending runs of each part.
Result<std::vector<std::size_t>> WatchedLaunch::left_of_parts() const {
  const Result<std::vector<StoredRun>> runs = store_.runs();
  if (!runs.ok()) return runs.status();
  std::vector<std::size_t> left;
  for (const std::vector<std::int64_t>& ids : launch_.parts) {
    left.push_back(
        static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [&](std::int64_t id) {
          return runs.value()[static_cast<std::size_t>(id) - 1].status == "pending";
        })));
  }
  return left;
}

std::string WatchedLaunch::loss_text(int part, std::size_t left) const {
  const std::string log = with_number(launch_.logs(), part);
  const Result<std::string> text = read_file(log);
  const std::string line = text.ok() ? last_line(text.value()) : "";
  const std::string log_text =
      !text.ok() ? fmt::format("its log '{}' is missing", log)
                 : fmt::format("'{}' {}", log, line.empty() ? "is empty" : "ends: " + line);
  // The array's number is unknown if none of its jobs was ever seen.
  const std::string job =
      launch_.array.empty() ? "" : fmt::format(" (job {})", queue_.job_name(launch_.array, part));
  const std::size_t runs = launch_.parts[static_cast<std::size_t>(part) - 1].size();
  const std::string& damage = damage_[static_cast<std::size_t>(part) - 1];
  return fmt::format("part {}{} left {} of its {} {}, {}{}", part, job, left, runs,
                     runs == 1 ? "run" : "runs", log_text,
                     damage.empty() ? "" : ", and the results in its store are lost: " + damage);
}

Result<std::string> WatchedLaunch::losses(int& left_runs) {
  const Result<std::vector<std::size_t>> left = left_of_parts();
  if (!left.ok()) return left.status();
  std::vector<std::string> texts;
  std::size_t parts = 0;
  left_runs = 0;
  for (std::size_t p = 0; p < launch_.parts.size(); ++p) {
    if (left.value()[p] == 0) continue;
    left_runs += static_cast<int>(left.value()[p]);
    if (++parts > kMostLosses) continue;
    texts.push_back(loss_text(static_cast<int>(p) + 1, left.value()[p]));
  }
  if (parts > kMostLosses) texts.push_back(fmt::format("and {} more parts", parts - kMostLosses));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace broadloom
