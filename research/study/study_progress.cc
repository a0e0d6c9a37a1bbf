#include "research/study/study_progress.h"

#include <cmath>
#include <limits>

#include "research/stats/statistics.h"

namespace broadloom {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ProgressCounter::ProgressCounter(const StudyPlan& plan, const StudyPart& part, int jobs)
    : jobs_(jobs) {
  for (const StudyCell& cell : plan.cells) {
    cells_.push_back({});
    cells_.back().steps = static_cast<double>(cell.environment_steps());
  }
  for (const StudyRun& run : plan.runs) {
    if (part.holds(run.id)) ++cells_[static_cast<std::size_t>(run.cell)].counts.runs;
  }
}

void ProgressCounter::add(int cell, bool failed, double seconds, double training_return) {
  Cell& c = cells_[static_cast<std::size_t>(cell)];
  if (failed) {
    ++c.counts.failed;
    return;
  }
  ++c.counts.finished;
  c.seconds += seconds;
  if (!std::isnan(training_return)) c.returns.push_back(training_return);
}

// From the cell's finished runs, else its running one, else the speed of the other cells.
double ProgressCounter::expected_seconds(int cell, const std::vector<double>& guesses) const {
  const Cell& c = cells_[static_cast<std::size_t>(cell)];
  if (c.counts.finished > 0) return c.seconds / c.counts.finished;
  if (guesses[static_cast<std::size_t>(cell)] > 0.0) return guesses[static_cast<std::size_t>(cell)];
  double seconds = 0.0, steps = 0.0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    seconds += cells_[i].seconds + guesses[i];
    steps += cells_[i].steps * (cells_[i].counts.finished + (guesses[i] > 0.0 ? 1 : 0));
  }
  return steps > 0.0 ? c.steps * seconds / steps : kUnknown;
}

StudyProgress ProgressCounter::progress(const std::vector<const StudyRun*>& pending,
                                        const std::vector<Running>& running) const {
  StudyProgress out;
  for (const Cell& cell : cells_) {
    out.cells.push_back(cell.counts);
    out.cells.back().training_iqm = interquartile_mean(cell.returns);
    out.runs += cell.counts.runs;
    out.finished += cell.counts.finished;
    out.failed += cell.counts.failed;
  }
  const auto find_running = [&](const StudyRun& run) -> const Running* {
    for (const Running& r : running) {
      if (r.id == run.id) return &r;
    }
    return nullptr;
  };
  std::vector<double> guesses(cells_.size(), 0.0);
  for (const StudyRun* run : pending) {
    const Running* r = find_running(*run);
    if (r != nullptr && r->share > 0.0) {
      guesses[static_cast<std::size_t>(run->cell)] = r->elapsed / r->share;
    }
  }
  double work = 0.0;
  for (const StudyRun* run : pending) {
    const Running* r = find_running(*run);
    work += expected_seconds(run->cell, guesses) * (r != nullptr ? 1.0 - r->share : 1.0);
    out.cells[static_cast<std::size_t>(run->cell)].seconds_left = work / jobs_;
  }
  out.seconds_left = work / jobs_;
  return out;
}

}  // namespace broadloom
