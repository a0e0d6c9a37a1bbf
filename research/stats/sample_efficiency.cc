#include "research/stats/sample_efficiency.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "research/stats/ranked_scores.h"

namespace broadloom {
namespace {

std::string name_of(const RunCurves& curves, std::size_t index) {
  const auto tasks = static_cast<std::size_t>(curves.tasks);
  return fmt::format("the curve of run {} on task {}", index / tasks, index % tasks);
}

Status check_curve(const Curve& curve, const std::string& name) {
  if (curve.steps.size() != curve.returns.size()) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} has {} steps and {} returns; expected as "
                              "many of both",
                              name, curve.steps.size(), curve.returns.size()));
  }
  if (curve.steps.empty()) return Status(ErrorKind::kCorrupt, name + " has no points");
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    if (!std::isfinite(curve.steps[i]) || !std::isfinite(curve.returns[i])) {
      return Status(ErrorKind::kNumeric,
                    fmt::format("{} has a point that is not finite: return {} at step {}", name,
                                curve.returns[i], curve.steps[i]));
    }
    if (i > 0 && curve.steps[i] <= curve.steps[i - 1]) {
      return Status(ErrorKind::kCorrupt,
                    fmt::format("{} goes from step {} to step {}; expected ascending steps", name,
                                curve.steps[i - 1], curve.steps[i]));
    }
  }
  return {};
}

Status check_reach(const RunCurves& curves, double first, double last) {
  for (std::size_t i = 0; i < curves.curves.size(); ++i) {
    const std::vector<double>& steps = curves.curves[i].steps;
    if (steps.front() <= first && last <= steps.back()) continue;
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} goes from step {} to {}, and the statistic from {} to {}; "
                              "expected steps that every run has",
                              name_of(curves, i), steps.front(), steps.back(), first, last));
  }
  return {};
}

// The curve's value at a step within its range.
double value_at(const Curve& curve, double step) {
  const auto above = std::upper_bound(curve.steps.begin(), curve.steps.end(), step);
  if (above == curve.steps.end()) return curve.returns.back();
  const auto i = static_cast<std::size_t>(above - curve.steps.begin());
  if (i == 0) return curve.returns.front();
  const double part = (step - curve.steps[i - 1]) / (curve.steps[i] - curve.steps[i - 1]);
  return curve.returns[i - 1] + part * (curve.returns[i] - curve.returns[i - 1]);
}

double area(const Curve& curve, double first, double last) {
  double sum = 0.0, step = first, value = value_at(curve, first);
  const auto add = [&](double next_step, double next_value) {
    sum += (next_step - step) * 0.5 * (value + next_value);
    step = next_step;
    value = next_value;
  };
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    if (curve.steps[i] > first && curve.steps[i] < last) add(curve.steps[i], curve.returns[i]);
  }
  add(last, value_at(curve, last));
  return sum / (last - first);
}

// As scores_at(), for checked curves that reach the step.
Scores scores_of(const RunCurves& curves, double step) {
  Scores scores{curves.runs, curves.tasks, {}};
  for (const Curve& curve : curves.curves) scores.values.push_back(value_at(curve, step));
  return scores;
}

struct StepScratch {
  std::vector<std::uint32_t> chosen;
  std::vector<int> counts;
};

}  // namespace

Status check_curves(const RunCurves& curves) {
  if (curves.runs < 1 || curves.tasks < 1) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("curves of {} runs of {} tasks; expected at least 1 of each",
                              curves.runs, curves.tasks));
  }
  const std::size_t expected =
      static_cast<std::size_t>(curves.runs) * static_cast<std::size_t>(curves.tasks);
  if (curves.curves.size() != expected) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} curves for {} runs of {} tasks; expected {}: every task needs as "
                              "many runs",
                              curves.curves.size(), curves.runs, curves.tasks, expected));
  }
  for (std::size_t i = 0; i < expected; ++i) {
    BROADLOOM_TRY(check_curve(curves.curves[i], name_of(curves, i)));
  }
  return {};
}

Result<std::vector<double>> common_steps(const RunCurves& curves, int points) {
  BROADLOOM_TRY(check_curves(curves));
  if (points < 2) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("{} points along the steps; expected at least 2", points));
  }
  double first = curves.curves[0].steps.front(), last = curves.curves[0].steps.back();
  for (const Curve& curve : curves.curves) {
    first = std::max(first, curve.steps.front());
    last = std::min(last, curve.steps.back());
  }
  if (first >= last) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("one run begins at step {} and one ends at step {}; expected runs "
                              "with steps in common",
                              first, last));
  }
  std::vector<double> steps(static_cast<std::size_t>(points), last);
  for (int i = 0; i < points - 1; ++i) {
    steps[static_cast<std::size_t>(i)] = first + (last - first) * i / (points - 1);
  }
  return steps;
}

Result<Scores> scores_at(const RunCurves& curves, double step) {
  BROADLOOM_TRY(check_curves(curves));
  BROADLOOM_TRY(check_reach(curves, step, step));
  return scores_of(curves, step);
}

Result<Scores> areas_under(const RunCurves& curves, double first, double last) {
  BROADLOOM_TRY(check_curves(curves));
  if (!(first < last)) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("area from step {} to {}; expected the first below the second", first, last));
  }
  BROADLOOM_TRY(check_reach(curves, first, last));
  Scores areas{curves.runs, curves.tasks, {}};
  for (const Curve& curve : curves.curves) areas.values.push_back(area(curve, first, last));
  return areas;
}

Result<RunCurves> normalised(const RunCurves& curves, const std::vector<EnvSpec>& specs) {
  BROADLOOM_TRY(check_curves(curves));
  if (specs.size() != static_cast<std::size_t>(curves.tasks)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} environments for curves of {} tasks; expected one a task",
                              specs.size(), curves.tasks));
  }
  RunCurves out = curves;
  for (std::size_t i = 0; i < out.curves.size(); ++i) {
    for (double& value : out.curves[i].returns) {
      const Result<double> score = normalised_score(specs[i % specs.size()], value);
      if (!score.ok()) return score.status();
      value = score.value();
    }
  }
  return out;
}

Result<EfficiencyCurve> sample_efficiency(const RunCurves& curves, const std::vector<double>& steps,
                                          const BootstrapOptions& options) {
  BROADLOOM_TRY(check_curves(curves));
  BROADLOOM_TRY(check_bootstrap(options));
  if (steps.empty()) {
    return Status(ErrorKind::kInvalidConfig, "no steps; expected some, such as of common_steps()");
  }
  std::vector<RankedScores> ranked;
  std::vector<StepScratch> scratch(static_cast<std::size_t>(options.threads));
  std::vector<double> values;
  for (const double step : steps) {
    BROADLOOM_TRY(check_reach(curves, step, step));
    ranked.emplace_back(scores_of(curves, step));
    ranked.back().count({}, scratch[0].counts);
    values.push_back(ranked.back().iqm(scratch[0].counts));
  }
  EfficiencyCurve curve{steps, {}};
  const auto count = static_cast<std::int64_t>(curves.curves.size());
  if (curves.runs < 2) {
    for (const double value : values) curve.iqm.push_back(without_interval(value, count));
    return curve;
  }
  curve.iqm = percentile_intervals(
      values, count, options, [&](std::int64_t replicate, int thread, double* out) {
        StepScratch& mine = scratch[static_cast<std::size_t>(thread)];
        draw_runs(options, 0, replicate, curves.runs, curves.tasks, mine.chosen);
        for (std::size_t i = 0; i < ranked.size(); ++i) {
          ranked[i].count(mine.chosen, mine.counts);
          out[i] = ranked[i].iqm(mine.counts);
        }
      });
  return curve;
}

}  // namespace broadloom
