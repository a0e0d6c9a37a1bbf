#include "research/report/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "broadloom/core/number_text.h"
#include "research/report/report_answer.h"
#include "research/report/report_comparisons.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostRows = 24, kMostLines = 8;

const ReportArm& arm_at(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

const char* call_words(Standing standing) {
  switch (standing) {
    case Standing::kLeads:
      return "leads";
    case Standing::kAlike:
      return "no difference found";
    case Standing::kLower:
      return "lower";
    case Standing::kUnknown:
      return "not called";
  }
  return "";
}

std::string runs_words(const RunCounts& counts) {
  std::string text = fmt::format("{} of {}", counts.finished, counts.all);
  if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
  return text;
}

// "0.001, an edge; alike: 0.003".
std::string choice_words(const TunedChoice& choice) {
  const auto best = static_cast<std::size_t>(choice.best);
  std::vector<std::string> alike;
  for (std::size_t c = 0; c < choice.values.size(); ++c) {
    if (c != best && choice.like_best[c]) alike.push_back(choice.values[c]);
  }
  return choice.values[best] + (choice.at_edge ? ", an edge" : "") +
         (alike.empty() ? "" : fmt::format("; alike: {}", fmt::join(alike, ", ")));
}

void keep_first_rows(ReportTable& table) {
  if (table.rows.size() <= kMostRows) return;
  table.below = fmt::format("{} more are in study.json and study.html.",
                            with_commas(static_cast<std::int64_t>(table.rows.size() - kMostRows)));
  table.rows.resize(kMostRows);
}

// The cells by task, then by IQM, highest first.
ReportTable cells_table(const StudyReport& report) {
  const ReportScore score = main_score(report);
  std::vector<std::tuple<int, double, const ReportCell*>> order;
  RunCounts runs;
  for (const ReportCell& cell : report.cells) {
    const auto& summary = cell.summary(score);
    order.emplace_back(cell.task, summary ? -summary->iqm.value : HUGE_VAL, &cell);
    runs.all += cell.counts.all;
    runs.finished += cell.counts.finished;
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  ReportTable table{fmt::format("Cells: {} of {} have finished", with_commas(runs.finished),
                                count_words(runs.all, "run")),
                    {"arm", "runs", fmt::format("{}, IQM", score_words(score)), "seconds a run"},
                    {},
                    ""};
  if (!report.tuned.empty()) {
    table.columns.emplace_back("seeds with every value");
    table.columns.push_back(fmt::format("best {}", fmt::join(report.tuned, ", ")));
  }
  if (report.tasks.size() > 1) table.columns.emplace_back("task");
  for (const auto& [task, value, cell] : order) {
    const auto& summary = cell->summary(score);
    table.rows.push_back({arm_at(report, cell->arm).name, runs_words(cell->counts),
                          summary ? estimate_words(summary->iqm) : "-",
                          cell->seconds.count > 0 ? estimate_words(cell->seconds) : "-"});
    if (!report.tuned.empty()) {
      const RunCounts& seeds = cell->samples;
      table.rows.back().push_back(fmt::format("{} of {}", seeds.finished, seeds.all));
      table.rows.back().push_back(cell->tuned ? choice_words(*cell->tuned) : "-");
    }
    if (report.tasks.size() > 1) table.rows.back().push_back(task_words(report, {task}));
  }
  keep_first_rows(table);
  return table;
}

// The arms of a ranking compared with its leader.
ReportTable ranking_table(const StudyReport& report, const ReportRanking& ranking) {
  const ReportScore score = main_score(report);
  const std::string place =
      ranking.task >= 0
          ? task_words(report, {ranking.task})
          : count_words(static_cast<std::int64_t>(report.tasks.size()), "task") + ", normalised";
  ReportTable table{fmt::format("Ranking by {} on {}", score_words(score), place),
                    {"arm", "IQM", "P(leader better)", "call"},
                    {},
                    ""};
  bool confounds = false;
  for (const int arm : ranking.arms) {
    const Standing standing = standing_of(report, arm, ranking.leader, ranking.task, score);
    const auto found = outcome(report, ranking.leader, arm, ranking.task, score);
    const bool leads = standing == Standing::kLeads;
    table.rows.push_back({arm_at(report, arm).name,
                          estimate_words(ranked_score(report, arm, ranking.task, score)->iqm),
                          leads || !found ? "" : probability_words(found->probability),
                          leads && ranking.best ? "best" : call_words(standing)});
    const ReportComparison* pair = find_comparison(report, ranking.leader, arm, score);
    table.rows.back().push_back(
        leads || pair == nullptr ? "" : fmt::format("{}", fmt::join(pair->confounds, ", ")));
    confounds = confounds || !table.rows.back().back().empty();
  }
  table.columns.emplace_back(confounds ? "differs too" : "");
  keep_first_rows(table);
  if (ranking.unscored > 0) {
    table.below += fmt::format("{}Arms without such a score: {}.", table.below.empty() ? "" : " ",
                               ranking.unscored);
  }
  return table;
}

ReportTable line_table(const StudyReport& report, const ReportLine& line) {
  const std::string held = held_words(report, line.arms);
  ReportTable table{
      fmt::format("{}{} on {}", key_words(line.kind, line.key), held.empty() ? "" : " at " + held,
                  task_words(report, {line.task})),
      {"value", fmt::format("{}, IQM", score_words(line.score)), "below the leader", "call"},
      {},
      ""};
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    // A single call does not count unless all of them together exceed chance.
    const bool by_chance = !line.differ && line.standings[i] == Standing::kLower;
    table.rows.push_back(
        {value_words(line, i),
         estimate_words(ranked_score(report, line.arms[i], line.task, line.score)->iqm),
         line.ahead[i] ? estimate_words(*line.ahead[i]) : "",
         call_words(by_chance ? Standing::kAlike : line.standings[i])});
  }
  if (std::isfinite(line.chance)) {
    table.below =
        fmt::format("Equal arms would differ as much with probability {:.2g}.", line.chance);
  }
  if (line.room > 0.0) {
    table.below += fmt::format(" If no difference was found, one of up to {} is possible.",
                               size_words(line.room));
  }
  if (!line.confounds.empty()) {
    table.below += fmt::format(" Differs too: {}.", fmt::join(line.confounds, ", "));
  }
  return table;
}

ReportTable calls_table(const StudyReport& report) {
  ReportTable table{"Neighbours that differ in one key alone, over all such pairs",
                    {"side", "called better", "of pairs", "by chance at most"},
                    {},
                    ""};
  for (const LineCalls& calls : report.calls) {
    if (calls.lines < 2 || calls.pairs < 2) continue;
    const auto [later, earlier] = sides_of(calls);
    const std::string chance = fmt::format("{:.2g}", 0.5 * (1.0 - kConfidence) * calls.pairs);
    for (const auto& [side, better] :
         {std::pair(later, calls.later_better), std::pair(earlier, calls.earlier_better)}) {
      table.rows.push_back({side, to_text(better), to_text(calls.pairs), chance});
    }
  }
  return table;
}

}  // namespace

std::vector<ReportTable> report_tables(const StudyReport& report) {
  std::vector<ReportTable> tables = {cells_table(report)};
  for (const ReportRanking& ranking : report.rankings) {
    tables.push_back(ranking_table(report, ranking));
  }
  std::set<std::tuple<LineKind, std::string, int>> shown;
  for (const ReportLine& line : report.lines) {
    if (shown.size() == kMostLines) break;
    if (!shown.emplace(line.kind, line.key, line.task).second) continue;
    tables.push_back(line_table(report, line));
  }
  if (shown.size() < report.lines.size()) {
    tables.back().below +=
        fmt::format(" Shown: {} of {} such sets of arms.", shown.size(), report.lines.size());
  }
  tables.push_back(calls_table(report));
  std::erase_if(tables, [](const ReportTable& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace broadloom
