#include "broadloom/findings/report_curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace broadloom {
namespace {

// Every metric of a run that is worth a chart, in the order of docs/formats/metrics.md.
const std::vector<ReportInstrument>& known_metrics() {
  static const std::vector<ReportInstrument> all = {
      {kReturnKey, "Training return", ""},
      {kEvaluationKey, "Return of evaluations", ""},
      {"episodic_length", "Episode length", "steps"},
      {"success_rate", "Success of training episodes", ""},
      {"termination_rate", "Episodes that ended by themselves", ""},
      {"episodes", "Episodes ended in a block", ""},
      {"learning_rate", "Learning rate", ""},
      {"policy_loss", "Policy loss", ""},
      {"value_loss", "Value loss", ""},
      {"entropy", "Entropy", "nats"},
      {"old_approx_kl", "KL, mean of -log r", "nats"},
      {"approx_kl", "KL, mean of (r - 1) - log r", "nats"},
      {"clipfrac", "Clipped share of samples", ""},
      {"grad_norm", "Gradient norm before clipping", ""},
      {"ess", "Effective sample size of ratios", "%"},
      {"min_ratio", "Smallest policy ratio", ""},
      {"max_ratio", "Largest policy ratio", ""},
      {"explained_variance", "Explained variance", ""},
      {"epochs", "Epochs carried out", ""},
      {"plasticity/dormant", "Dormant units", "%"},
      {"plasticity/tau_dormant", "Units dormant at tau", "%"},
      {"plasticity/silent", "Silent units", "%"},
      {"plasticity/constant", "Constant units", "%"},
      {"plasticity/weight_norm", "Norm of all parameters", ""},
      {"plasticity/grad_kurtosis", "Kurtosis of log gradient sizes", ""},
      {"plasticity/grad_zeros", "Gradient entries that are 0", "%"},
      {"policy/variance", "Variance of the policy", ""},
      {"policy/kl", "KL of the whole update", "nats"},
      {"policy/ess", "Effective sample size after the update", "%"},
      {"coverage/run", "Cells visited by the run", "%"},
      {"coverage/block", "Cells visited by the block", "%"},
      {"coverage/sample", "Cells visited by 512 states", "%"},
      {"coverage/states", "States that coverage is about", ""},
      {"grad/full_norm", "Norm of the block's gradient", ""},
      {"grad/first_epoch_cosine", "Cosine of minibatch and block, first epoch", ""},
      {"grad/last_epoch_cosine", "Cosine of minibatch and block, last epoch", ""},
      {"grad/min_cosine", "Least cosine of minibatch and block", ""},
      {"grad/drift_cosine", "Cosine of last epoch's mean and block", ""},
      {"grad/noise_scale", "Gradient noise scale", "samples"},
      {"grad/step_norm", "Length of the update", ""},
      {"grad/variance_inflation", "Variance inflation of the block's mean", ""},
  };
  return all;
}

std::size_t place_of(const std::string& key) {
  const auto& known = known_metrics();
  return static_cast<std::size_t>(
      std::find_if(known.begin(), known.end(),
                   [&](const ReportInstrument& metric) { return metric.key == key; }) -
      known.begin());
}

// Evenly, with the last one.
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
                                const std::vector<double>& at, const BootstrapOptions& options) {
  const RunCurves runs{static_cast<int>(curves.size()), 1, std::move(curves)};
  Result<EfficiencyCurve> curve = sample_efficiency(runs, at, options);
  if (!curve.ok()) return {key, {}, {}};  // no point that all runs have
  return {key, std::move(curve.value().steps), std::move(curve.value().iqm)};
}

// Returns against seconds instead of steps.
Curve returns_by_time(const ResultRun& run) {
  Curve curve;
  const auto returns = run.values.find(kReturnKey);
  if (returns == run.values.end()) return curve;
  for (std::size_t i = 0; i < run.elapsed.size(); ++i) {
    if (!std::isfinite(returns->second[i]) || !std::isfinite(run.elapsed[i])) continue;
    curve.steps.push_back(run.elapsed[i]);
    curve.returns.push_back(returns->second[i]);
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
  const std::size_t place = place_of(key);
  return place < known_metrics().size() ? known_metrics()[place] : ReportInstrument{key, key, ""};
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

ReportCurve curve_over_time(const std::vector<const ResultRun*>& runs, int points,
                            const BootstrapOptions& options) {
  std::vector<Curve> known;
  double first = 0.0, longest = 0.0;
  for (const ResultRun* run : runs) {
    Curve curve = returns_by_time(*run);
    if (curve.steps.empty()) continue;
    first = std::max(first, curve.steps.front());
    longest = std::max(longest, curve.steps.back());
    known.push_back(std::move(curve));
  }
  if (known.empty()) return {kReturnKey, {}, {}};
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
  return interquartile_curve(kReturnKey, std::move(curves), times, options);
}

}  // namespace broadloom
