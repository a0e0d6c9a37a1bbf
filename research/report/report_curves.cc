#include "research/report/report_curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "broadloom/core/number_info.h"
#include "broadloom/train/run_numbers.h"

namespace broadloom {
namespace {

// All declared numbers, with evaluations after the returns.
std::vector<NumberInfo> numbers_with_evaluations() {
  std::vector<NumberInfo> all = declared_numbers();
  const auto place = find_number(all, kReturnKey) - all.data() + 1;
  all.insert(all.begin() + place, {kEvaluationKey, "Return of evaluations"});
  return all;
}

const std::vector<NumberInfo>& known_numbers() {
  static const std::vector<NumberInfo> all = numbers_with_evaluations();
  return all;
}

// The order of a key; unknown keys of other versions come last.
std::size_t place_of(const std::string& key) {
  const std::vector<NumberInfo>& known = known_numbers();
  const NumberInfo* found = find_number(known, key);
  return found != nullptr ? static_cast<std::size_t>(found - known.data()) : known.size();
}

// Thins evenly and keeps the last point.
std::vector<double> thinned(const std::vector<double>& all) {
  if (all.size() <= kMostPoints) return all;
  std::vector<double> few;
  for (std::size_t i = 1; i <= kMostPoints; ++i)
    few.push_back(all[i * all.size() / kMostPoints - 1]);
  return few;
}

std::vector<double> shared_steps(const std::vector<Curve>& curves) {
  std::vector<double> shared = curves.front().steps;
  for (const Curve& curve : curves) {
    std::vector<double> both;
    std::set_intersection(shared.begin(), shared.end(), curve.steps.begin(), curve.steps.end(),
                          std::back_inserter(both));
    shared = std::move(both);
  }
  return shared;
}

ReportCurve interquartile_curve(const std::string& key, std::vector<Curve> curves,
                                const std::vector<double>& steps, const BootstrapOptions& options) {
  const RunCurves runs{static_cast<int>(curves.size()), 1, std::move(curves)};
  Result<EfficiencyCurve> curve = sample_efficiency(runs, steps, options);
  if (!curve.ok()) return {key, {}, {}};  // no point that all runs have
  return {key, std::move(curve.value().steps), std::move(curve.value().iqm)};
}

// Seconds of training at a step, interpolated between reports; NaN without times.
double elapsed_at(const ResultRun& run, double steps) {
  const auto after = std::lower_bound(run.reported.begin(), run.reported.end(), steps);
  if (after == run.reported.end()) return run.elapsed.empty() ? std::nan("") : run.elapsed.back();
  const auto i = static_cast<std::size_t>(after - run.reported.begin());
  const double before = i == 0 ? 0.0 : run.reported[i - 1];
  const double began = i == 0 ? 0.0 : run.elapsed[i - 1];
  return began + (run.elapsed[i] - began) * (steps - before) / (run.reported[i] - before);
}

void add_point(double time, double number, Curve& curve) {
  const bool ascends = curve.steps.empty() || time > curve.steps.back();
  if (!std::isfinite(time) || !std::isfinite(number) || !ascends) return;
  curve.steps.push_back(time);
  curve.returns.push_back(number);
}

// The numbers over seconds instead of steps.
Curve numbers_by_time(const ResultRun& run, const std::string& key) {
  Curve curve;
  if (key == kEvaluationKey) {
    for (std::size_t i = 0; i < run.evaluations.size(); ++i) {
      add_point(elapsed_at(run, run.evaluated_at[i]), run.evaluations[i], curve);
    }
    return curve;
  }
  const auto values = run.values.find(key);
  if (values == run.values.end()) return curve;
  for (std::size_t i = 0; i < run.elapsed.size(); ++i) {
    add_point(run.elapsed[i], values->second[i], curve);
  }
  return curve;
}

double last_known(const Curve& curve, double time) {
  const auto after = std::upper_bound(curve.steps.begin(), curve.steps.end(), time);
  return curve.returns[static_cast<std::size_t>(after - curve.steps.begin()) - 1];
}

}  // namespace

Curve curve_of(const ResultRun& run, const std::string& key) {
  if (key == kEvaluationKey) return {run.evaluated_at, run.evaluations};
  Curve curve;
  const auto values = run.values.find(key);
  if (values == run.values.end()) return curve;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    if (!std::isfinite(values->second[i])) continue;
    curve.steps.push_back(run.steps[i]);
    curve.returns.push_back(values->second[i]);
  }
  return curve;
}

std::vector<std::string> curve_keys(const std::vector<StudyResults>& results) {
  std::set<std::string> found;
  for (const StudyResults& study : results) {
    for (const ResultRun& run : study.runs) {
      for (const auto& [key, values] : run.values) found.insert(key);
      if (run.evaluations.size() > 1) found.insert(kEvaluationKey);
    }
  }
  std::vector<std::string> keys(found.begin(), found.end());
  std::stable_sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
    return place_of(a) < place_of(b);
  });
  return keys;
}

ReportInstrument instrument_of(const std::string& key) {
  const NumberInfo* found = find_number(known_numbers(), key);
  return found != nullptr ? ReportInstrument{key, title_of(*found, key), found->unit, {}}
                          : ReportInstrument{key, key, "", {}};
}

ReportCurve curve_over_steps(const std::vector<const ResultRun*>& runs, const std::string& key,
                             const BootstrapOptions& options) {
  std::vector<Curve> curves;
  for (const ResultRun* run : runs) {
    Curve curve = curve_of(*run, key);
    if (!curve.steps.empty()) curves.push_back(std::move(curve));
  }
  if (curves.empty()) return {key, {}, {}};
  const std::vector<double> steps = thinned(shared_steps(curves));
  return interquartile_curve(key, std::move(curves), steps, options);
}

ReportCurve curve_over_time(const std::vector<const ResultRun*>& runs, const std::string& key,
                            int points, const BootstrapOptions& options) {
  std::vector<Curve> known;
  double first = 0.0, longest = 0.0;
  for (const ResultRun* run : runs) {
    Curve curve = numbers_by_time(*run, key);
    if (curve.steps.empty()) continue;
    first = std::max(first, curve.steps.front());
    longest = std::max(longest, curve.steps.back());
    known.push_back(std::move(curve));
  }
  if (known.empty()) return {key, {}, {}};
  std::vector<double> times;
  for (int i = 1; i <= points; ++i) {
    const double time = i == points ? longest : longest * i / points;
    if (time >= first && (times.empty() || time > times.back())) times.push_back(time);
  }
  times = thinned(times);
  std::vector<Curve> curves;
  for (const Curve& curve : known) {
    curves.push_back({times, {}});
    for (const double time : times) curves.back().returns.push_back(last_known(curve, time));
  }
  return interquartile_curve(key, std::move(curves), times, options);
}

}  // namespace broadloom
