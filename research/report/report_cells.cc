#include "research/report/report_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "broadloom/core/thread_pool.h"
#include "research/report/report_curves.h"
#include "research/report/report_scores.h"

namespace broadloom {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr int kThresholds = 51;
constexpr const char* kLengthKey = "episodic_length";

// The finished runs of each cell of the report.
using CellRuns = std::vector<std::vector<const ResultRun*>>;

CellRuns runs_of_cells(const std::vector<StudyResults>& results) {
  CellRuns runs;
  for (const StudyResults& study : results) {
    const std::size_t first = runs.size();
    runs.resize(first + study.cells.size());
    for (const ResultRun& run : study.runs) {
      if (run.finished()) runs[first + static_cast<std::size_t>(run.cell)].push_back(&run);
    }
  }
  return runs;
}

struct StepRange {
  double first = -std::numeric_limits<double>::infinity();
  double last = std::numeric_limits<double>::infinity();
};

// The area under a curve uses evaluations if there are this many. Training returns begin only after
// the first episodes, which is later with more environments.
constexpr std::size_t kFewestEvaluations = 5;

// The key of curves: evaluations if every run has at least `fewest`, else training returns.
const char* curve_key(const CellRuns& runs, std::size_t fewest) {
  for (const auto& cell_runs : runs) {
    for (const ResultRun* run : cell_runs) {
      if (run->evaluations.size() < fewest) return kReturnKey;
    }
  }
  return kEvaluationKey;
}

// The steps for which every run of a task has returns.
std::map<int, StepRange> common_ranges(const StudyReport& report, const CellRuns& runs,
                                       const std::string& key) {
  std::map<int, StepRange> ranges;
  for (std::size_t c = 0; c < runs.size(); ++c) {
    StepRange& range = ranges[report.cells[c].task];
    for (const ResultRun* run : runs[c]) {
      const Curve curve = curve_of(*run, key);
      if (curve.steps.empty()) continue;
      range.first = std::max(range.first, curve.steps.front());
      range.last = std::min(range.last, curve.steps.back());
    }
  }
  return ranges;
}

double area_of(const ResultRun& run, const StepRange& range, const std::string& key) {
  const RunCurves curves{1, 1, {curve_of(run, key)}};
  const Result<Scores> area = areas_under(curves, range.first, range.last);
  return area.ok() ? area.value().values[0] : kNoNumber;
}

// Thresholds from the lowest to the highest main score of a task, so that profiles of its cells are
// comparable.
std::vector<double> thresholds_of(const StudyReport& report, int task) {
  std::vector<double> all;
  const ReportScore score = main_score(report);
  for (const ReportCell& cell : report.cells) {
    if (cell.task != task) continue;
    const std::vector<double> scores = cell_scores(cell, score);
    all.insert(all.end(), scores.begin(), scores.end());
  }
  if (all.empty()) return {};
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  if (*low == *high) return {*low};
  std::vector<double> thresholds;
  thresholds.reserve(kThresholds);
  for (int i = 0; i < kThresholds - 1; ++i) {
    thresholds.push_back(*low + (*high - *low) * i / (kThresholds - 1));
  }
  thresholds.push_back(*high);  // exactly, so that no run is above
  return thresholds;
}

std::optional<RunStatistics> statistics_of(const std::vector<double>& values,
                                           const BootstrapOptions& options) {
  if (values.empty()) return std::nullopt;
  return run_statistics(values, options);
}

std::vector<double> finite(const std::vector<ReportRun>& runs, double ReportRun::*member) {
  std::vector<double> values;
  for (const ReportRun& run : runs) {
    if (std::isfinite(run.*member)) values.push_back(run.*member);
  }
  return values;
}

// Whether training reports tell of episodes, and all were as long as the time limit.
bool has_full_episodes(const ResultRun& run, std::int64_t limit) {
  const auto lengths = run.values.find(kLengthKey);
  if (lengths == run.values.end()) return false;
  bool any = false;
  for (const double length : lengths->second) {
    if (!std::isfinite(length)) continue;
    if (length != static_cast<double>(limit)) return false;
    any = true;
  }
  return any;
}

void take_runs(const std::vector<const ResultRun*>& runs, const StepRange& range,
               const std::string& key, std::int64_t limit, ReportCell& cell) {
  cell.full_episodes =
      !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const ResultRun* run) {
        return has_full_episodes(*run, limit);
      });
  for (const ResultRun* run : runs) {
    cell.runs.push_back({run->seed, run->training_return, run->evaluation_return,
                         area_of(*run, range, key), run->seconds});
  }
}

// With the choice of a tuned cell's value in the intervals.
void take_tuned_statistics(const BootstrapOptions& options, ReportCell& cell) {
  if (!cell.tuned) return;
  for (const ReportScore score : kReportScores) {
    const std::optional<Scores> scores = joint_scores({&cell}, score);
    auto& summary = score == ReportScore::kTraining ? cell.training : cell.evaluation;
    summary = scores ? std::optional(score_statistics(*scores, options)) : std::nullopt;
  }
}

// Options that all cells of a report share.
struct MeasureOptions {
  std::vector<std::string> keys;
  std::string time_key;  // of the curve over time
  ReportScore score;
  BootstrapOptions numbers, bands;
};

void measure_cell(const std::vector<const ResultRun*>& runs, int points,
                  const std::vector<double>& thresholds, const MeasureOptions& options,
                  ReportCell& cell) {
  const BootstrapOptions &numbers = options.numbers, &bands = options.bands;
  cell.training = statistics_of(finite(cell.runs, &ReportRun::training), numbers);
  cell.evaluation = statistics_of(finite(cell.runs, &ReportRun::evaluation), numbers);
  take_tuned_statistics(numbers, cell);
  cell.area = statistics_of(finite(cell.runs, &ReportRun::area), numbers);
  const auto seconds = statistics_of(finite(cell.runs, &ReportRun::seconds), numbers);
  cell.seconds = seconds ? seconds->mean : without_interval(kNoNumber, 0);
  for (const std::string& key : options.keys) {
    ReportCurve curve = curve_over_steps(runs, key, bands);
    if (!curve.positions.empty()) cell.curves.push_back(std::move(curve));
  }
  cell.time_curve = curve_over_time(runs, options.time_key, points, bands);
  const std::vector<double> scores = cell_scores(cell, options.score);
  if (scores.empty()) return;
  const Scores one_task{static_cast<int>(scores.size()), 1, scores};
  Result<PerformanceProfile> profile =
      performance_profile(one_task, thresholds, ProfileKind::kRunScores, bands);
  if (profile.ok()) cell.profile = profile.take();
}

// The value of a key if all its curves have it at all steps, intervals included.
std::optional<double> constant_of(const StudyReport& report, const std::string& key) {
  std::optional<double> only;
  for (const ReportCell& cell : report.cells) {
    for (const ReportCurve& curve : cell.curves) {
      if (curve.key != key) continue;
      for (const Estimate& e : curve.iqm) {
        if (!only) only = e.value;
        const auto differs = [&](double x) { return std::isfinite(x) && x != *only; };
        if (!std::isfinite(e.value) || differs(e.value) || differs(e.low) || differs(e.high)) {
          return std::nullopt;
        }
      }
    }
  }
  return only;
}

}  // namespace

void measure_cells(const std::vector<StudyResults>& results, int threads, StudyReport& report) {
  const CellRuns runs = runs_of_cells(results);
  const std::string area = curve_key(runs, kFewestEvaluations);
  const std::map<int, StepRange> ranges = common_ranges(report, runs, area);
  for (std::size_t c = 0; c < runs.size(); ++c) {
    const int task = report.cells[c].task;
    take_runs(runs[c], ranges.at(task), area,
              report.tasks[static_cast<std::size_t>(task)].max_episode_steps, report.cells[c]);
  }
  std::vector<std::vector<double>> thresholds;
  for (std::size_t task = 0; task < report.tasks.size(); ++task) {
    thresholds.push_back(thresholds_of(report, static_cast<int>(task)));
  }
  const MeasureOptions options{curve_keys(results),
                               curve_key(runs, 2),
                               main_score(report),
                               {report.replicates, report.seed, 1},
                               {report.band_replicates, report.seed, 1}};
  ThreadPool pool(std::max(1, threads));
  pool.run(static_cast<int>(runs.size()), [&](int c) {
    const auto index = static_cast<std::size_t>(c);
    ReportCell& cell = report.cells[index];
    measure_cell(runs[index], report.studies[static_cast<std::size_t>(cell.study)].points,
                 thresholds[static_cast<std::size_t>(cell.task)], options, cell);
  });
  for (const std::string& key : options.keys) {
    if (key == kReturnKey || key == kEvaluationKey) continue;
    report.instruments.push_back(instrument_of(key));
    report.instruments.back().constant = constant_of(report, key);
  }
}

double curve_numbers(const std::vector<StudyResults>& results) {
  double numbers = 0.0;
  for (const StudyResults& study : results) {
    for (const ResultRun& run : study.runs) {
      numbers += static_cast<double>(std::min<std::size_t>(run.steps.size(), kMostPoints) *
                                     run.values.size());
    }
  }
  return numbers;
}

}  // namespace broadloom
