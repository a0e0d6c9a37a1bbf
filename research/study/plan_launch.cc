#include <algorithm>
#include <cmath>

#include "research/study/queue_launcher.h"

namespace broadloom {
namespace {

constexpr double kPartSeconds = 600.0;
// Slurm accepts indices up to 1,000 by default (MaxArraySize).
constexpr std::size_t kMostParts = 1000;

std::size_t first_count(const LaunchOptions& options, double seconds, std::size_t runs) {
  if (options.parts > 0) return static_cast<std::size_t>(options.parts);
  const auto by_time = static_cast<std::size_t>(std::ceil(seconds / kPartSeconds));
  const auto by_jobs = static_cast<std::size_t>(std::max(1, options.study.jobs));
  return std::clamp(std::max(by_time, by_jobs), std::size_t{1}, std::min(runs, kMostParts));
}

// Cuts into more parts until the longest one has a place, or every run is its own part.
Status cut(const std::vector<PredictedRun>& runs, const LaunchOptions& options,
           const JobQueue& queue, LaunchPlan& launch) {
  const std::size_t most = std::min(runs.size(), kMostParts);
  for (std::size_t count = first_count(options, launch.seconds, runs.size());;
       count = std::min(2 * count, most)) {
    launch.parts = balance(runs, count);
    const int needed = minutes_for(longest_seconds(launch.parts));
    launch.limits.minutes = options.minutes > 0 ? options.minutes : needed;
    const Result<JobLimits> placed = queue.place(launch.limits, options.partition);
    const bool fits = placed.ok() && needed <= launch.limits.minutes;
    if (!fits && options.parts == 0 && count < most) continue;
    if (!placed.ok()) return placed.status();
    launch.limits = placed.value();
    return {};
  }
}

}  // namespace

int minutes_for(double seconds) {
  constexpr double kMost = 1e6;  // about two years
  return static_cast<int>(std::ceil(std::fmin((2.0 * seconds + 120.0) / 60.0, kMost)));
}

Result<LaunchPlan> plan_launch(const StudyPlan& plan, const std::vector<StoredRun>& stored,
                               const LaunchOptions& options, const JobQueue& queue,
                               const LaunchHooks& hooks) {
  std::vector<bool> is_left(plan.runs.size(), true);
  for (const StoredRun& run : stored) {
    is_left[static_cast<std::size_t>(run.id) - 1] = run.status == "pending";
  }
  std::vector<const StudyRun*> left;
  for (const StudyRun& run : plan.runs) {
    if (is_left[static_cast<std::size_t>(run.id) - 1]) left.push_back(&run);
  }
  LaunchPlan launch;
  if (left.empty()) return launch;
  const Result<std::size_t> memory = job_memory(plan, left, options.study.threads);
  if (!memory.ok()) return memory.status();
  launch.limits.threads = options.study.threads;
  launch.limits.memory_bytes = static_cast<std::int64_t>(memory.value());
  // No timing is needed if no partition takes even the shortest job.
  launch.limits.minutes = std::max(1, options.minutes);
  BROADLOOM_TRY(queue.place(launch.limits, options.partition).status());
  if (hooks.on_note) hooks.on_note("Timing some blocks of each cell.");
  PredictOptions how;
  how.threads = options.study.threads;
  how.should_stop = hooks.study.should_stop;
  Result<std::vector<CellPrediction>> cells = predict_cells(plan, stored, how);
  if (!cells.ok()) return cells.status();
  launch.cells = cells.take();
  std::vector<PredictedRun> runs;
  for (const StudyRun* run : left) {
    runs.push_back({run->id, launch.cells[static_cast<std::size_t>(run->cell)].seconds});
    launch.seconds += runs.back().seconds;
  }
  BROADLOOM_TRY(cut(runs, options, queue, launch));
  return launch;
}

}  // namespace broadloom
