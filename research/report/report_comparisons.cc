#include "research/report/report_comparisons.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "broadloom/core/thread_pool.h"
#include "research/report/report_lines.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/stats/pair_test.h"

namespace broadloom {
namespace {

constexpr int kProfileThresholds = 51;

BootstrapOptions options_of(const StudyReport& report) {
  return {report.replicates, report.seed, 1};
}

std::vector<EnvSpec> specs_of(const StudyReport& report) {
  std::vector<EnvSpec> specs;
  specs.reserve(report.tasks.size());
  for (const ReportTask& task : report.tasks) {
    specs.emplace_back();
    specs.back().id = task.env_id;
    if (task.why_not.empty()) specs.back().set_score_range(task.random_score, task.reference_score);
  }
  return specs;
}

std::vector<int> tasks_of(const StudyReport& report, const ReportArm& arm) {
  std::vector<int> tasks;
  for (const int cell : arm.cells) {
    tasks.push_back(report.cells[static_cast<std::size_t>(cell)].task);
  }
  return tasks;
}

// Normalised scores of one arm; nothing without scores.
std::optional<Scores> normalised_scores(const StudyReport& report, const ReportArm& arm,
                                        const std::vector<EnvSpec>& specs, ReportScore score) {
  const std::optional<Scores> raw = arm_scores(report, arm, tasks_of(report, arm), score);
  if (!raw) return std::nullopt;
  Result<Scores> scores = normalised(*raw, specs);
  if (!scores.ok()) return std::nullopt;
  return scores.take();
}

// Thresholds from 0 to 1, extended to the lowest and highest score.
std::vector<double> thresholds_of(const std::vector<std::optional<Scores>>& all) {
  double low = 0.0, high = 1.0;
  for (const std::optional<Scores>& scores : all) {
    if (!scores) continue;
    const auto [least, most] = std::minmax_element(scores->values.begin(), scores->values.end());
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  std::vector<double> thresholds;
  thresholds.reserve(kProfileThresholds);
  for (int i = 0; i < kProfileThresholds - 1; ++i) {
    thresholds.push_back(low + (high - low) * i / (kProfileThresholds - 1));
  }
  thresholds.push_back(high);  // exactly, so that no score is above
  return thresholds;
}

std::optional<Aggregates> aggregates_of(const std::optional<Scores>& scores,
                                        const BootstrapOptions& options) {
  if (!scores) return std::nullopt;
  const Result<Aggregates> all = aggregate(*scores, options);
  if (!all.ok()) return std::nullopt;
  return all.value();
}

// Draws of an arm's IQM as first and as second of a pair.
struct ArmDraws {
  std::vector<double> first, second;
};

// Draws by arm; empty without scores, or with several tasks, which need no difference.
std::vector<ArmDraws> draw_arms(const StudyReport& report, ReportScore score, ThreadPool& pool) {
  std::vector<ArmDraws> draws(report.arms.size());
  if (report.tasks.size() != 1) return draws;
  pool.run(static_cast<int>(draws.size()), [&](int a) {
    const auto index = static_cast<std::size_t>(a);
    const std::optional<Scores> scores = arm_scores(report, report.arms[index], {0}, score);
    if (!scores || scores->runs < 2) return;
    draws[index] = {iqm_draws(*scores, options_of(report), 0),
                    iqm_draws(*scores, options_of(report), 1)};
  });
  return draws;
}

Estimate difference_of(const Scores& a, const Scores& b, const std::vector<double>& first,
                       const std::vector<double>& second, const BootstrapOptions& options) {
  const double value = interquartile_mean(a.values) - interquartile_mean(b.values);
  const std::int64_t count = a.runs + b.runs;
  if (first.empty() || second.empty()) return without_interval(value, count);
  return percentile_intervals({value}, count, options, [&](std::int64_t r, int, double* out) {
    *out = first[static_cast<std::size_t>(r)] - second[static_cast<std::size_t>(r)];
  })[0];
}

std::vector<TaskComparison> compare_by_task(const StudyReport& report, const ReportArm& one,
                                            const ReportArm& other, const std::vector<int>& tasks,
                                            ReportScore score) {
  std::vector<TaskComparison> all;
  if (tasks.size() < 2) return all;
  for (const int task : tasks) {
    const std::optional<Scores> x = arm_scores(report, one, {task}, score);
    const std::optional<Scores> y = arm_scores(report, other, {task}, score);
    if (!x || !y) continue;
    const BootstrapOptions options = options_of(report);
    const Result<Estimate> found = probability_of_improvement(*x, *y, options);
    if (!found.ok()) continue;
    all.push_back({task, found.value(), better_of(found.value(), *x, *y, options),
                   can_tell(x->runs, y->runs, x->tasks),
                   hangs_on_choice(found.value(), *x, *y, options)});
  }
  return all;
}

// Compares two arms; nothing if one has no scores.
std::optional<ReportComparison> compare(const StudyReport& report, std::pair<int, int> pair,
                                        ReportScore score, const std::vector<ArmDraws>& draws) {
  const auto [a, b] = pair;
  const ReportArm& one = report.arms[static_cast<std::size_t>(a)];
  const ReportArm& other = report.arms[static_cast<std::size_t>(b)];
  const std::vector<int> tasks = common_tasks(report, a, b);
  const std::optional<Scores> x = arm_scores(report, one, tasks, score);
  const std::optional<Scores> y = arm_scores(report, other, tasks, score);
  if (!x || !y) return std::nullopt;
  const bool enough_runs = can_tell(x->runs, y->runs, x->tasks);
  ReportComparison comparison{
      a, b, score, enough_runs, {}, {}, equality(report, one, other, tasks), 0, {}, {}, false};
  const BootstrapOptions options = options_of(report);
  const Result<Estimate> probability = probability_of_improvement(*x, *y, options);
  if (!probability.ok()) return std::nullopt;
  comparison.probability = probability.value();
  comparison.result = better_of(comparison.probability, *x, *y, options);
  comparison.hangs_on_choice = hangs_on_choice(comparison.probability, *x, *y, options);
  comparison.by_task = compare_by_task(report, one, other, tasks, score);
  for (const int task : tasks) {
    const ReportCell *x_cell = cell_on(report, one, task), *y_cell = cell_on(report, other, task);
    if (!comparison.confounds.empty()) break;
    comparison.confounds = confounds({x_cell, y_cell}, equality(*x_cell, *y_cell));
  }
  if (report.tasks.size() == 1) {
    comparison.difference = difference_of(*x, *y, draws[static_cast<std::size_t>(a)].first,
                                          draws[static_cast<std::size_t>(b)].second, options);
  }
  return comparison;
}

}  // namespace

const ReportComparison* find_comparison(const StudyReport& report, int a, int b,
                                        ReportScore score) {
  a = first_with_runs_of(report, a);
  b = first_with_runs_of(report, b);
  for (const ReportComparison& c : report.comparisons) {
    if (c.score == score && c.a == std::min(a, b) && c.b == std::max(a, b)) return &c;
  }
  return nullptr;
}

std::vector<int> common_tasks(const StudyReport& report, int a, int b) {
  std::vector<int> tasks;
  for (const int task : tasks_of(report, report.arms[static_cast<std::size_t>(a)])) {
    if (cell_on(report, report.arms[static_cast<std::size_t>(b)], task) != nullptr) {
      tasks.push_back(task);
    }
  }
  return tasks;
}

void normalise_arms(int threads, StudyReport& report) {
  const bool all_ranges = std::all_of(report.tasks.begin(), report.tasks.end(),
                                      [](const ReportTask& task) { return task.why_not.empty(); });
  if (!all_ranges) return;
  const std::vector<EnvSpec> specs = specs_of(report);
  std::vector<std::optional<Scores>> training(report.arms.size()), evaluation(report.arms.size());
  for (std::size_t a = 0; a < report.arms.size(); ++a) {
    const ReportArm& arm = report.arms[a];
    if (arm.cells.size() != report.tasks.size()) continue;
    training[a] = normalised_scores(report, arm, specs, ReportScore::kTraining);
    evaluation[a] = normalised_scores(report, arm, specs, ReportScore::kEvaluation);
  }
  const auto& main = main_score(report) == ReportScore::kTraining ? training : evaluation;
  const std::vector<double> thresholds = thresholds_of(main);
  const BootstrapOptions bands{report.band_replicates, report.seed, 1};
  ThreadPool pool(std::max(1, threads));
  pool.run(static_cast<int>(report.arms.size()), [&](int arm) {
    const auto a = static_cast<std::size_t>(arm);
    if (!training[a] && !evaluation[a]) return;
    NormalisedScores scores{aggregates_of(training[a], options_of(report)),
                            aggregates_of(evaluation[a], options_of(report)),
                            {}};
    if (main[a]) {
      Result<PerformanceProfile> profile =
          performance_profile(*main[a], thresholds, ProfileKind::kRunScores, bands);
      if (profile.ok()) scores.profile = profile.take();
    }
    report.arms[a].normalised = std::move(scores);
  });
}

std::vector<std::pair<int, int>> choose_pairs(const StudyReport& report) {
  const int arms = static_cast<int>(report.arms.size());
  std::vector<bool> is_first(report.arms.size(), false);
  if (arms > 0) is_first[0] = true;
  for (const ReportRanking& ranking : rank_arms(report, main_score(report))) {
    is_first[static_cast<std::size_t>(ranking.arms.front())] = true;
  }
  std::vector<std::pair<int, int>> all, chosen;
  const auto repeats = [&](int arm) {
    return report.arms[static_cast<std::size_t>(arm)].same_runs >= 0;
  };
  for (int a = 0; a < arms; ++a) {
    for (int b = a + 1; b < arms; ++b) {
      if (repeats(a) || repeats(b)) continue;
      if (common_tasks(report, a, b).empty()) continue;
      all.emplace_back(a, b);
      if (is_first[static_cast<std::size_t>(a)] || is_first[static_cast<std::size_t>(b)]) {
        chosen.emplace_back(a, b);
      }
    }
  }
  if (all.size() <= kMostPairs) return all;
  for (const auto& pair : pairs_on_lines(report, report.lines)) chosen.push_back(pair);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

void compare_arms(const std::vector<std::pair<int, int>>& pairs, int threads, StudyReport& report) {
  ThreadPool pool(std::max(1, threads));
  for (const ReportScore score : kReportScores) {
    const std::vector<ArmDraws> draws = draw_arms(report, score, pool);
    std::vector<std::optional<ReportComparison>> found(pairs.size());
    pool.run(static_cast<int>(pairs.size()), [&](int p) {
      const auto index = static_cast<std::size_t>(p);
      found[index] = compare(report, pairs[index], score, draws);
    });
    for (const std::optional<ReportComparison>& comparison : found) {
      if (comparison) report.comparisons.push_back(*comparison);
    }
  }
}

}  // namespace broadloom
