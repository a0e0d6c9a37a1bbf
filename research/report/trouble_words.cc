#include "research/report/trouble_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "broadloom/core/number_text.h"
#include "research/report/report_scores.h"
#include "research/report/report_troubles.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostCells = 5;

std::string cell_words(const StudyReport& report, int cell) {
  const ReportCell& one = report.cells[static_cast<std::size_t>(cell)];
  return arm_words(report, one.arm) +
         (report.tasks.size() > 1 ? " on " + task_words(report, {one.task}) : "");
}

std::vector<const ReportTrouble*> of_kind(const StudyReport& report, TroubleKind kind) {
  std::vector<const ReportTrouble*> all;
  for (const ReportTrouble& trouble : report.troubles) {
    if (trouble.kind == kind) all.push_back(&trouble);
  }
  return all;
}

template <class Words>
std::string listed(const std::vector<const ReportTrouble*>& all, Words&& words) {
  std::vector<std::string> items;
  items.reserve(all.size());
  for (const ReportTrouble* trouble : all) items.push_back(words(*trouble));
  return list_words(items, kMostCells);
}

void say_failed(const StudyReport& report, std::vector<std::string>& lines) {
  const auto all = of_kind(report, TroubleKind::kFailed);
  if (all.empty()) return;
  lines.push_back(
      fmt::format("Half of the runs or more failed of {}: what is left of them is a selection.",
                  listed(all, [&](const ReportTrouble& t) {
                    const RunCounts& runs = report.cells[static_cast<std::size_t>(t.cell)].counts;
                    return fmt::format("{} ({} of {})", cell_words(report, t.cell), runs.failed,
                                       runs.failed + runs.finished);
                  })));
}

void say_random(const StudyReport& report, std::vector<std::string>& lines) {
  const auto all = of_kind(report, TroubleKind::kAtRandom);
  if (all.empty()) return;
  lines.push_back(fmt::format(
      "No better than random actions: {}. Such an arm did not learn; a setting that it differs in "
      "need not be bad in itself.",
      listed(all, [&](const ReportTrouble& t) {
        const int task = report.cells[static_cast<std::size_t>(t.cell)].task;
        return fmt::format("{}, {} where random actions have {:.4g}", cell_words(report, t.cell),
                           estimate_words(t.after),
                           report.tasks[static_cast<std::size_t>(task)].random_score);
      })));
}

void say_collapsed(const StudyReport& report, std::vector<std::string>& lines) {
  const auto all = of_kind(report, TroubleKind::kCollapsed);
  if (all.empty()) return;
  lines.push_back(
      fmt::format("Learnt and lost again: {}. The last score is not what such an arm can do.",
                  listed(all, [&](const ReportTrouble& t) {
                    return fmt::format("{}, {} after {} steps and {} in the end",
                                       cell_words(report, t.cell), estimate_words(t.before),
                                       with_commas(std::llround(t.at)), estimate_words(t.after));
                  })));
}

void say_still(const StudyReport& report, std::vector<std::string>& lines) {
  const auto all = of_kind(report, TroubleKind::kStill);
  if (all.empty()) return;
  lines.push_back(fmt::format(
      "The policy has stopped moving, with a KL of updates below {:.0e} from there to the end: {}. "
      "What is varied can do little to it after that.",
      kStillKl, listed(all, [&](const ReportTrouble& t) {
        const ReportCell& cell = report.cells[static_cast<std::size_t>(t.cell)];
        if (t.at == 0.0) return cell_words(report, t.cell) + " from the start on";
        return fmt::format("{} after {} of {} steps", cell_words(report, t.cell),
                           with_commas(std::llround(t.at)), with_commas(cell.environment_steps));
      })));
}

void say_constant(const StudyReport& report, std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (const ReportInstrument& instrument : report.instruments) {
    if (!instrument.constant) continue;
    names.push_back(fmt::format("{} ({:.6g})", instrument.title, *instrument.constant));
  }
  if (names.empty()) return;
  lines.push_back(fmt::format("The same in all arms at all steps, so no figure of it is drawn: {}.",
                              list_words(names, names.size())));
}

}  // namespace

std::vector<std::string> trouble_sentences(const StudyReport& report) {
  std::vector<std::string> lines;
  say_failed(report, lines);
  say_random(report, lines);
  say_collapsed(report, lines);
  say_still(report, lines);
  say_constant(report, lines);
  return lines;
}

}  // namespace broadloom
