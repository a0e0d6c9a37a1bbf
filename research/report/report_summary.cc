#include "research/report/report_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "broadloom/core/number_text.h"
#include "research/report/best_words.h"
#include "research/report/call_words.h"
#include "research/report/line_words.h"
#include "research/report/report_comparisons.h"
#include "research/report/report_lines.h"
#include "research/report/report_notes.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"
#include "research/report/trouble_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostKinds = 6;
constexpr std::size_t kMostCellNames = 5;
constexpr std::size_t kTasksNamed = 3;
constexpr double kErrorRate = 1.0 - kConfidence;

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
  SummaryPart part{"How many runs", {}};
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
        list_words(cells, kMostCellNames)));
  }
  for (const std::string& line : {few_runs_words(report), common_arms_words(report)}) {
    if (!line.empty()) part.lines.push_back(line);
  }
  return part;
}

// Where no two arms differ in one thing alone: the first one and the leaders.
std::vector<std::string> leader_sentences(const StudyReport& report) {
  std::vector<std::string> lines;
  for (const ReportRanking& ranking : report.rankings) {
    const ReportComparison* c = find_comparison(report, 0, ranking.leader, main_score(report));
    if (c != nullptr) lines.push_back(comparison_sentence(report, *c));
  }
  return lines;
}

// What is left to say of the line that the answer is about.
std::string rest_of_answer(const LineOnTasks& line) {
  std::string text;
  for (const ReportLine* one : line) {
    if (!one->differ || room_of(*one) <= 0.0) continue;
    if (line.size() > 1) return "";
    text = fmt::format(
        "Those of them that cannot be told apart may still differ: the intervals leave room for "
        "up to {}.",
        size_words(room_of(*one)));
  }
  return text;
}

// The line with the largest effect of each kind and key, and how often all of them agree.
SummaryPart lines_part(const StudyReport& report) {
  SummaryPart part{"What each thing that varies does, all else equal", {}};
  const auto add = [&](std::string text) {
    if (!text.empty()) part.lines.push_back(std::move(text));
  };
  const std::vector<LineOnTasks> lines = lines_on_tasks(report);
  std::vector<LineCalls> calls = count_calls(report);
  if (calls.size() > kMostKinds) calls.resize(kMostKinds);
  for (const LineCalls& each : calls) {
    const auto top = std::find_if(lines.begin(), lines.end(), [&](const LineOnTasks& line) {
      return line.front()->kind == each.kind && line.front()->key == each.key;
    });
    const bool said = top == lines.begin() && (lines.size() == 1 || top->front()->differ);
    add(said ? rest_of_answer(*top) : line_sentence(report, *top));
    if (each.lines > static_cast<int>(top->size()) && each.pairs > 1) add(calls_sentence(each));
  }
  if (lines.empty() && report.arms.size() > 1) {
    for (std::string& line : leader_sentences(report)) add(std::move(line));
  }
  return part;
}

// How many lines show a difference, and how many would by chance.
SummaryPart chance_part(const StudyReport& report) {
  SummaryPart part{"How much may be chance", {}};
  const std::int64_t able = able_lines(report);
  const auto different = std::count_if(report.lines.begin(), report.lines.end(),
                                       [](const ReportLine& line) { return line.differ; });
  if (able == 0) return part;
  if (able == 1) {
    part.lines.push_back(fmt::format(
        "The arms that differ in one thing alone {} at 95 %; arms that are all alike would show "
        "one in 5 of 100 studies at most.",
        different == 1 ? "show a difference" : "show no difference"));
    return part;
  }
  part.lines.push_back(fmt::format(
      "Of {} sets of arms that differ in one thing alone{}, {} {} a difference at 95 %; if no arm "
      "differed, {:.2g} at most would, by chance.",
      with_commas(able), report.tasks.size() > 1 ? " on a task" : "", with_commas(different),
      different == 1 ? "shows" : "show", kErrorRate * static_cast<double>(able)));
  return part;
}

}  // namespace

std::vector<SummaryPart> summarise(const StudyReport& report) {
  std::vector<SummaryPart> parts;
  const SummaryPart runs = runs_part(report);
  if (all_runs(report).finished == 0) return {runs};
  if (report.arms.size() > 1) parts.push_back({"Which is best", best_sentences(report)});
  parts.push_back(lines_part(report));
  parts.push_back({"What to be careful about", trouble_sentences(report)});
  parts.push_back(chance_part(report));
  parts.push_back(runs);
  std::erase_if(parts, [](const SummaryPart& part) { return part.lines.empty(); });
  if (report.lines.empty() && report.arms.size() < 2) {
    parts.back().lines.emplace_back("There are no two arms with scores to compare.");
  }
  return parts;
}

}  // namespace broadloom
