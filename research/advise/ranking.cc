#include "research/advise/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "research/stats/pair_test.h"
#include "research/stats/scores.h"
#include "research/stats/statistics.h"

namespace broadloom {
namespace {

constexpr double kShareOfBest = 0.9;
constexpr double kRounding = 1e-9;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean over the seeds of a candidate's k-th evaluation; the best over all k that all seeds have.
double best_mean(const CandidateEvidence& candidate) {
  std::size_t evaluations = std::numeric_limits<std::size_t>::max();
  for (const TrialCurve& trial : candidate.trials) {
    evaluations = std::min(evaluations, trial.points.size());
  }
  if (candidate.trials.empty()) return kNotKnown;
  double best = kNotKnown;
  for (std::size_t k = 0; k < evaluations; ++k) {
    double sum = 0.0;
    for (const TrialCurve& trial : candidate.trials) {
      sum += trial.points[k].unfinished > 0 ? kNotKnown : trial.points[k].mean_return;
    }
    best = std::fmax(best, sum / static_cast<double>(candidate.trials.size()));
  }
  return best;
}

// Tolerance: a mean of ten ones may be rounded below one.
bool is_at(const TrialPoint& point, double threshold) {
  const double rounding = kRounding * std::fmax(1.0, std::fabs(threshold));
  return point.mean_return >= threshold - rounding && point.unfinished == 0;
}

// A trial's state at the horizon, from its curve up to there.
struct CutTrial {
  bool failed = false;
  std::optional<double> reached;  // cost
  double area = 0.0, last = 0.0;
};

// The return is held from one evaluation to the next, because nothing between them is known.
double area_under(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
                  const TrialCurve& trial, double horizon, double& last) {
  double area = 0.0, begin = 0.0;
  last = evidence.untrained.value;
  for (const TrialPoint& point : trial.points) {
    const double cost = cost_of(evidence, candidate, point.global_step);
    if (cost > horizon) break;
    area += (cost - begin) * last;
    begin = cost;
    last = point.mean_return;
  }
  area += (horizon - begin) * last;
  return horizon > 0.0 ? area / horizon : last;
}

CutTrial cut_trial(const AdviceEvidence& evidence, const CandidateEvidence& candidate,
                   const TrialCurve& trial, double threshold, double horizon) {
  CutTrial cut;
  cut.failed = !trial.error.empty();
  cut.area = area_under(evidence, candidate, trial, horizon, cut.last);
  // A broken training leaves no policy to use.
  if (cut.failed) cut.area = cut.last = evidence.untrained.value;
  if (cut.failed || std::isnan(threshold)) return cut;
  const auto reached_at =
      steps_to_threshold(trial, threshold, std::numeric_limits<std::int64_t>::max());
  if (!reached_at) return cut;
  const double cost = cost_of(evidence, candidate, *reached_at);
  if (cost <= horizon) cut.reached = cost;
  return cut;
}

std::vector<CutTrial> cut_trials(const AdviceEvidence& evidence, std::size_t candidate,
                                 double threshold, double horizon) {
  std::vector<CutTrial> cuts;
  const CandidateEvidence& raced = evidence.candidates[candidate];
  for (const TrialCurve& trial : raced.trials) {
    cuts.push_back(cut_trial(evidence, raced, trial, threshold, horizon));
  }
  return cuts;
}

// A number for each trial, in the order of quality. Trials that reach the threshold later are
// worse. Trials that do not reach it are worse still, ordered by area. Failures are worst.
double trial_order(const AdviceEvidence& evidence, const CutTrial& cut, double horizon, double low,
                   double high) {
  if (cut.failed) return -1.0;
  const double value = evidence.goal == AdviceGoal::kReturn ? cut.last : cut.area;
  const double below_one = high > low ? 0.5 * (value - low) / (high - low) : 0.0;
  if (evidence.goal == AdviceGoal::kReturn || !cut.reached) return below_one;
  return horizon > 0.0 ? 2.0 - *cut.reached / horizon : 2.0;
}

std::vector<double> trial_orders(const AdviceEvidence& evidence, const std::vector<CutTrial>& cuts,
                                 double horizon, double low, double high) {
  std::vector<double> orders;
  orders.reserve(cuts.size());
  for (const CutTrial& cut : cuts) {
    orders.push_back(trial_order(evidence, cut, horizon, low, high));
  }
  return orders;
}

bool is_ahead(AdviceGoal goal, const CandidateScore& a, const CandidateScore& b) {
  if ((a.failed > 0) != (b.failed > 0)) return b.failed > 0;
  if (goal == AdviceGoal::kReturn) return a.mean_last > b.mean_last;
  if (a.mean_cost != b.mean_cost) return a.mean_cost < b.mean_cost;
  return a.mean_area > b.mean_area;
}

}  // namespace

double speed_threshold(const AdviceEvidence& evidence) {
  if (!std::isnan(evidence.threshold)) return evidence.threshold;
  double best = kNotKnown;
  for (const CandidateEvidence& candidate : evidence.candidates) {
    best = std::fmax(best, best_mean(candidate));
  }
  const double start = evidence.untrained.value;
  return best > start ? start + kShareOfBest * (best - start) : kNotKnown;
}

std::optional<std::int64_t> steps_to_threshold(const TrialCurve& trial, double threshold,
                                               std::int64_t most_steps) {
  std::size_t row = 0;
  for (std::size_t k = 0; k < trial.points.size(); ++k) {
    row = is_at(trial.points[k], threshold) ? row + 1 : 0;
    if (row < kInARow) continue;
    const std::int64_t first = trial.points[k + 1 - kInARow].global_step;
    return first <= most_steps ? std::optional<std::int64_t>(first) : std::nullopt;
  }
  return std::nullopt;
}

double common_horizon(const AdviceEvidence& evidence, const std::vector<std::size_t>& candidates,
                      double threshold) {
  constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();
  double least = std::numeric_limits<double>::infinity(), most = 0.0;
  for (const std::size_t index : candidates) {
    const CandidateEvidence& candidate = evidence.candidates[index];
    for (const TrialCurve& trial : candidate.trials) {
      const std::int64_t steps = trial.points.empty() ? 0 : trial.points.back().global_step;
      const double end = cost_of(evidence, candidate, steps);
      most = std::max(most, end);
      const bool is_over =
          !trial.error.empty() || (evidence.goal == AdviceGoal::kSpeed && !std::isnan(threshold) &&
                                   steps_to_threshold(trial, threshold, kEver).has_value());
      if (!is_over) least = std::min(least, end);
    }
  }
  return std::isinf(least) ? most : least;
}

CandidateScore score_of(const AdviceEvidence& evidence, std::size_t candidate, double threshold,
                        double horizon) {
  CandidateScore score;
  std::vector<double> costs, areas, lasts;
  for (const CutTrial& cut : cut_trials(evidence, candidate, threshold, horizon)) {
    score.reached += cut.reached ? 1 : 0;
    score.failed += cut.failed ? 1 : 0;
    costs.push_back(cut.reached.value_or(horizon));
    areas.push_back(cut.area);
    lasts.push_back(cut.last);
  }
  score.trials = static_cast<int>(costs.size());
  if (costs.empty()) return score;
  score.mean_cost = mean(costs);
  score.mean_area = mean(areas);
  score.mean_last = mean(lasts);
  return score;
}

std::vector<std::size_t> ranked(const AdviceEvidence& evidence, std::vector<std::size_t> candidates,
                                double threshold) {
  std::erase_if(candidates, [&](std::size_t c) { return evidence.candidates[c].trials.empty(); });
  const double horizon = common_horizon(evidence, candidates, threshold);
  std::vector<CandidateScore> scores(evidence.candidates.size());
  for (const std::size_t c : candidates) scores[c] = score_of(evidence, c, threshold, horizon);
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return is_ahead(evidence.goal, scores[a], scores[b]);
  });
  return candidates;
}

TrialComparison compare_trials(const AdviceEvidence& evidence, std::size_t a, std::size_t b,
                               double threshold) {
  const TrialComparison none{without_interval(kNotKnown, 0), false};
  const double horizon = common_horizon(evidence, {a, b}, threshold);
  const std::vector<CutTrial> cuts[] = {cut_trials(evidence, a, threshold, horizon),
                                        cut_trials(evidence, b, threshold, horizon)};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::vector<CutTrial>& candidate_cuts : cuts) {
    for (const CutTrial& cut : candidate_cuts) {
      const double value = evidence.goal == AdviceGoal::kReturn ? cut.last : cut.area;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const Result<Scores> of_a = make_scores({trial_orders(evidence, cuts[0], horizon, low, high)});
  const Result<Scores> of_b = make_scores({trial_orders(evidence, cuts[1], horizon, low, high)});
  if (!of_a.ok() || !of_b.ok()) return none;
  BootstrapOptions options;
  options.replicates = kBandReplicates;
  options.seed = evidence.seed;
  const Result<Estimate> p = probability_of_improvement(of_a.value(), of_b.value(), options);
  if (!p.ok()) return none;
  return {p.value(), better_of(p.value(), of_a.value(), of_b.value(), options) != 0};
}

bool has_learnt(const AdviceEvidence& evidence, std::size_t candidate) {
  const double high =
      std::isnan(evidence.untrained.high) ? evidence.untrained.value : evidence.untrained.high;
  int above = 0, trials = 0;
  double sum = 0.0;
  for (const TrialCurve& trial : evidence.candidates[candidate].trials) {
    if (!trial.error.empty() || trial.points.empty()) continue;
    const double last = trial.points.back().mean_return;
    above += last > high && trial.points.back().unfinished == 0 ? 1 : 0;
    sum += last;
    ++trials;
  }
  return trials > 0 && sum / trials > high && 3 * above >= 2 * trials;
}

}  // namespace broadloom
