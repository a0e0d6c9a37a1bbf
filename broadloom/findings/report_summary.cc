#include "broadloom/findings/report_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "broadloom/core/number_text.h"
#include "broadloom/findings/report_best.h"
#include "broadloom/findings/report_comparisons.h"
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

// Whether no two tasks have a shape in common.
bool shapes_are_apart(const StudyReport& report) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> task_of;
  return std::all_of(report.cells.begin(), report.cells.end(), [&](const ReportCell& cell) {
    return task_of.emplace(std::pair(cell.num_envs, cell.num_steps), cell.task).first->second ==
           cell.task;
  });
}

// Where no arm has two tasks: that, and why; "" else.
std::string common_arms_words(const StudyReport& report) {
  const bool any = std::any_of(report.arms.begin(), report.arms.end(),
                               [](const ReportArm& arm) { return arm.cells.size() > 1; });
  if (any || report.tasks.size() < 2) return "";
  return fmt::format(
      "The {} tasks have no arm in common: {}. So nothing of one is set beside another; to compare "
      "arms over tasks, give all of them the same {}.",
      report.tasks.size(),
      shapes_are_apart(report) ? "each has shapes N x T of its own" : "their settings differ",
      shapes_are_apart(report) ? "num_envs and num_steps, in [base] or [shapes]" : "settings");
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
        "{} failed and {} in no number, which makes the cells look better than they are: {}.",
        count_words(runs.failed, "run"), runs.failed == 1 ? "stands" : "stand",
        list_words(cells, kMostNames)));
  }
  for (const std::string& line : {few_runs_words(report), common_arms_words(report)}) {
    if (!line.empty()) part.lines.push_back(line);
  }
  return part;
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

// With what its sentence says of each task by itself.
void add_said(const ReportComparison& c, std::vector<ShownComparison>& shown) {
  add_shown({c.a, c.b, -1, c.enough_runs, c.result != 0}, shown);
  for (const TaskComparison& t : c.by_task) {
    add_shown({c.a, c.b, t.task, t.enough_runs, t.result != 0}, shown);
  }
}

SummaryPart best_part(const StudyReport& report, std::vector<ShownComparison>& shown) {
  if (report.arms.size() < 2) return {"Best", {}};
  return {"Best", best_sentences(report, main_score(report), shown)};
}

SummaryPart comparisons_part(const StudyReport& report, std::vector<ShownComparison>& shown) {
  SummaryPart part{"Comparisons", {}};
  const ReportScore score = main_score(report);
  std::vector<const ReportComparison*> said;
  for (const auto& [a, b] : first_pairs(report, score)) {
    const ReportComparison* c = find_comparison(report, a, b, score);
    if (c == nullptr || std::find(said.begin(), said.end(), c) != said.end()) continue;
    if (said.size() == kMostComparisons) break;
    said.push_back(c);
    add_said(*c, shown);
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

// How many of the comparisons that a reader was told of would be called different by chance.
SummaryPart chance_part(const std::vector<ShownComparison>& shown) {
  SummaryPart part{"Chance", {}};
  std::int64_t able = 0, different = 0;
  for (const ShownComparison& c : shown) {
    able += c.enough_runs ? 1 : 0;
    different += c.different ? 1 : 0;
  }
  if (able < 2) return part;
  const auto all = static_cast<std::int64_t>(shown.size());
  constexpr double kChance = 1.0 - kConfidence;
  part.lines.push_back(fmt::format(
      "Of the {} comparisons that these sentences rest on, {}{} called different at 95 %; if no "
      "arm "
      "differed, about {:.2g} would be, by chance.",
      with_commas(all),
      able < all
          ? fmt::format("{} {} runs enough and ", with_commas(able), able == 1 ? "has" : "have")
          : "",
      fmt::format("{} {}", with_commas(different), different == 1 ? "is" : "are"),
      kChance * static_cast<double>(able)));
  return part;
}

}  // namespace

std::vector<SummaryPart> summarise(const StudyReport& report) {
  std::vector<SummaryPart> parts = {runs_part(report)};
  if (all_runs(report).finished == 0) return parts;
  std::vector<ShownComparison> shown;
  parts.push_back(best_part(report, shown));
  parts.push_back(comparisons_part(report, shown));
  parts.push_back(trends_part(report));
  parts.push_back(chance_part(shown));
  std::erase_if(parts, [](const SummaryPart& part) { return part.lines.empty(); });
  if (parts.size() == 1) {
    parts[0].lines.emplace_back("There are no two arms with scores to compare.");
  }
  return parts;
}

}  // namespace broadloom
