#include "broadloom/findings/report_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/core/number_text.h"
#include "broadloom/findings/report_notes.h"
#include "broadloom/findings/report_scores.h"
#include "broadloom/findings/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostComparisons = 4;
constexpr std::size_t kMostTrends = 3;
constexpr std::size_t kMostNames = 5;
constexpr std::size_t kTasksNamed = 3;

RunCounts all_runs(const StudyReport& report) {
  RunCounts counts;
  for (const ReportStudy& study : report.studies) {
    counts.all += study.runs.all;
    counts.finished += study.runs.finished;
    counts.failed += study.runs.failed;
    counts.pending += study.runs.pending;
  }
  return counts;
}

SummaryPart runs_part(const StudyReport& report) {
  const RunCounts runs = all_runs(report);
  SummaryPart part{"Runs", {}};
  std::vector<std::string> tasks;
  for (const ReportTask& task : report.tasks) tasks.push_back(task.name);
  part.lines.push_back(fmt::format(
      "{} of {} of {} on {} {} finished.", with_commas(runs.finished), count_words(runs.all, "run"),
      count_words(static_cast<std::int64_t>(report.cells.size()), "cell"),
      list_words(tasks, kTasksNamed), runs.all == 1 ? "has" : "have"));
  if (runs.finished == 0) part.lines.emplace_back("Nothing can be said yet.");
  if (runs.failed > 0) {
    std::vector<std::string> cells;
    for (const ReportCell& cell : report.cells) {
      if (cell.counts.failed == 0) continue;
      cells.push_back(fmt::format("{} of {}", cell.counts.failed, cell.name));
    }
    part.lines.push_back(fmt::format(
        "{} failed and stand in no number, which makes their cells look better than they are: {}.",
        count_words(runs.failed, "run"), list_words(cells, kMostNames)));
  }
  const std::string few = few_runs_words(report);
  if (!few.empty()) part.lines.push_back(few);
  return part;
}

// The arm with the largest IQM on one task; -1 where none has a score.
int best_on(const StudyReport& report, int task, ReportScore score) {
  int best = -1;
  double most = 0.0;
  for (const ReportCell& cell : report.cells) {
    if (cell.task != task || !cell.summary(score)) continue;
    const double iqm = cell.summary(score)->iqm.value;
    if (best >= 0 && iqm <= most) continue;
    best = cell.arm;
    most = iqm;
  }
  return best;
}

// Arms that the comparisons cannot tell from `best`, and those that win more often than not.
struct Rivals {
  std::vector<std::string> alike, better;
  int compared = 0;
};

Rivals rivals_of(const StudyReport& report, int best, ReportScore score) {
  Rivals rivals;
  for (const ReportComparison& c : report.comparisons) {
    if (c.score != score || (c.a != best && c.b != best)) continue;
    ++rivals.compared;
    const int other = c.a == best ? c.b : c.a;
    const int result = c.a == best ? c.result : -c.result;
    if (result == 0) rivals.alike.push_back(arm_words(report, other));
    if (result < 0) rivals.better.push_back(arm_words(report, other));
  }
  return rivals;
}

void add_rivals(const StudyReport& report, int best, ReportScore score,
                std::vector<std::string>& lines) {
  const Rivals rivals = rivals_of(report, best, score);
  if (rivals.compared == 0) return;
  const std::string where = report.tasks.size() > 1 ? " on average over the tasks" : "";
  if (static_cast<int>(rivals.alike.size()) == rivals.compared) {
    lines.push_back(fmt::format(
        "{} be told from it{}.",
        rivals.compared == 1 ? "The other arm cannot" : "None of the other arms can", where));
  } else if (!rivals.alike.empty()) {
    lines.push_back(fmt::format("{} of the {} cannot be told from it{}: {}.", rivals.alike.size(),
                                count_words(rivals.compared, "other arm"), where,
                                list_words(rivals.alike, kMostNames)));
  } else if (rivals.better.empty()) {
    const std::string all =
        rivals.compared == 1 ? "The other arm" : fmt::format("All {} other arms", rivals.compared);
    lines.push_back(fmt::format("{} can be told from it{}.", all, where));
  }
  if (!rivals.better.empty()) {
    lines.push_back(fmt::format("Single runs of these are better than its more often than not: {}.",
                                list_words(rivals.better, kMostNames)));
  }
}

std::string best_words(const StudyReport& report, const std::vector<int>& best, ReportScore score,
                       const Estimate& iqm, const std::string& where) {
  std::vector<std::string> names;
  names.reserve(best.size());
  for (const int arm : best) names.push_back(arm_words(report, arm));
  return fmt::format("{} {} the largest {}: IQM {} ({}).", list_words(names, kMostNames),
                     best.size() == 1 ? "has" : "share", score_words(score), estimate_words(iqm),
                     where);
}

// Arms with the same IQM as `best` on a task, itself among them; repeats of runs count once.
std::vector<int> ties_on(const StudyReport& report, int best, int task, ReportScore score) {
  const auto iqm_of = [&](int arm) {
    const ReportCell* cell = cell_on(report, report.arms[static_cast<std::size_t>(arm)], task);
    return cell != nullptr && cell->summary(score) ? cell->summary(score)->iqm.value : std::nan("");
  };
  std::vector<int> ties;
  for (int arm = 0; arm < static_cast<int>(report.arms.size()); ++arm) {
    if (report.arms[static_cast<std::size_t>(arm)].same_runs >= 0) continue;
    if (iqm_of(arm) == iqm_of(best)) ties.push_back(arm);
  }
  return ties;
}

void add_best_by_task(const StudyReport& report, ReportScore score,
                      std::vector<std::string>& lines) {
  for (std::size_t task = 0; task < std::min(report.tasks.size(), kTasksNamed); ++task) {
    const int best = best_on(report, static_cast<int>(task), score);
    if (best < 0) continue;
    const ReportCell* cell =
        cell_on(report, report.arms[static_cast<std::size_t>(best)], static_cast<int>(task));
    lines.push_back(best_words(report, ties_on(report, best, static_cast<int>(task), score), score,
                               cell->summary(score)->iqm, report.tasks[task].name));
  }
}

SummaryPart best_part(const StudyReport& report) {
  SummaryPart part{"Best", {}};
  const ReportScore score = main_score(report);
  const int best = best_arm(report, score);
  if (report.arms.size() < 2) return part;
  if (best < 0 || report.tasks.size() == 1) {
    add_best_by_task(report, score, part.lines);
  } else {
    const Aggregates& all = *report.arms[static_cast<std::size_t>(best)].normalised->of(score);
    part.lines.push_back(best_words(
        report, {best}, score, all.iqm,
        count_words(static_cast<std::int64_t>(report.tasks.size()), "task") + ", normalised"));
  }
  if (best >= 0) add_rivals(report, best, score, part.lines);
  const bool trained = score == ReportScore::kTraining;
  const int by_other =
      best_arm(report, trained ? ReportScore::kEvaluation : ReportScore::kTraining);
  if (best >= 0 && by_other >= 0 && by_other != best) {
    part.lines.push_back(fmt::format(
        "By {} it is {}.", trained ? "evaluations of the final policies" : "training returns",
        arm_words(report, by_other)));
  }
  return part;
}

const ReportComparison* find_pair(const StudyReport& report, int a, int b, ReportScore score) {
  for (int* arm : {&a, &b}) {
    const int same = report.arms[static_cast<std::size_t>(*arm)].same_runs;
    if (same >= 0) *arm = same;
  }
  for (const ReportComparison& c : report.comparisons) {
    if (c.score == score && c.a == std::min(a, b) && c.b == std::max(a, b)) return &c;
  }
  return nullptr;
}

// Pairs that a reader asks for first: the ends of each trend, the best and the first arm, and arms
// of the best one's shape with other settings.
std::vector<std::pair<int, int>> first_pairs(const StudyReport& report, ReportScore score) {
  std::vector<std::pair<int, int>> pairs;
  for (const ReportTrend& trend : report.trends) {
    if (trend.score == score) pairs.emplace_back(trend.arms.front(), trend.arms.back());
  }
  const int best = best_arm(report, score);
  if (best > 0) pairs.emplace_back(0, best);
  for (std::size_t a = 0; best >= 0 && a < report.arms.size(); ++a) {
    const ReportArm& one = report.arms[a];
    const ReportArm& other = report.arms[static_cast<std::size_t>(best)];
    if (one.num_envs != other.num_envs || one.num_steps != other.num_steps) continue;
    if (static_cast<int>(a) != best) pairs.emplace_back(static_cast<int>(a), best);
  }
  for (const ReportComparison& c : report.comparisons) {
    if (pairs.empty() && c.score == score) pairs.emplace_back(c.a, c.b);
  }
  return pairs;
}

SummaryPart comparisons_part(const StudyReport& report) {
  SummaryPart part{"Comparisons", {}};
  const ReportScore score = main_score(report);
  std::vector<const ReportComparison*> said;
  for (const auto& [a, b] : first_pairs(report, score)) {
    const ReportComparison* c = find_pair(report, a, b, score);
    if (c == nullptr || std::find(said.begin(), said.end(), c) != said.end()) continue;
    if (said.size() == kMostComparisons) break;
    said.push_back(c);
    part.lines.push_back(comparison_sentence(report, *c));
  }
  return part;
}

// Trends of the main score, tasks in turn; not those along arms that repeat the runs of others.
std::vector<const ReportTrend*> first_trends(const StudyReport& report) {
  std::vector<std::vector<const ReportTrend*>> by_task(report.tasks.size());
  const ReportScore score = main_score(report);
  std::size_t most = 0;
  for (const ReportTrend& trend : report.trends) {
    const bool repeats = std::all_of(trend.arms.begin(), trend.arms.end(), [&](int arm) {
      return report.arms[static_cast<std::size_t>(arm)].same_runs >= 0;
    });
    if (trend.score != score || repeats) continue;
    auto& of_task = by_task[static_cast<std::size_t>(trend.task)];
    of_task.push_back(&trend);
    most = std::max(most, of_task.size());
  }
  std::vector<const ReportTrend*> trends;
  for (std::size_t k = 0; k < most; ++k) {
    for (const auto& of_task : by_task) {
      if (k < of_task.size()) trends.push_back(of_task[k]);
    }
  }
  return trends;
}

SummaryPart trends_part(const StudyReport& report) {
  SummaryPart part{"N", {}};
  const std::vector<const ReportTrend*> trends = first_trends(report);
  for (std::size_t t = 0; t < std::min(trends.size(), kMostTrends); ++t) {
    part.lines.push_back(trend_sentence(report, *trends[t]));
  }
  if (trends.size() > kMostTrends) {
    part.lines.push_back(fmt::format("{} more {} in the report.", trends.size() - kMostTrends,
                                     trends.size() == kMostTrends + 1 ? "is" : "are"));
  }
  return part;
}

SummaryPart chance_part(const StudyReport& report) {
  SummaryPart part{"Chance", {}};
  const ReportScore score = main_score(report);
  int all = 0, different = 0;
  for (const ReportComparison& c : report.comparisons) {
    if (c.score != score || !c.enough_runs) continue;
    ++all;
    different += c.result != 0 ? 1 : 0;
  }
  if (all < 2) return part;
  constexpr double kChance = 1.0 - kConfidence;
  part.lines.push_back(fmt::format(
      "Of {} comparisons of the {}, {} are called different at 95 %; if no arm differed, about "
      "{:.2g} would be, by chance.",
      with_commas(all), score_words(score), with_commas(different), kChance * all));
  return part;
}

}  // namespace

std::vector<SummaryPart> summarise(const StudyReport& report) {
  std::vector<SummaryPart> parts = {runs_part(report)};
  if (all_runs(report).finished == 0) return parts;
  for (SummaryPart (*part)(const StudyReport&) :
       {best_part, comparisons_part, trends_part, chance_part}) {
    SummaryPart next = part(report);
    if (!next.lines.empty()) parts.push_back(std::move(next));
  }
  if (parts.size() == 1) {
    parts[0].lines.emplace_back("There are no two arms with scores to compare.");
  }
  return parts;
}

}  // namespace broadloom
