#include "research/report/report_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "broadloom/core/number_text.h"
#include "broadloom/math/isa.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostDetails = 5;

using Notes = std::vector<std::string>;

// The first few of them, and how many more there are.
void add_details(const Notes& details, const char* what, Notes& notes) {
  const std::size_t shown = std::min(details.size(), kMostDetails);
  notes.insert(notes.end(), details.begin(), details.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < details.size()) {
    notes.push_back(fmt::format("{} more {}.", details.size() - shown, what));
  }
}

void note_missing(const StudyReport& report, Notes& notes) {
  for (const ReportStudy& study : report.studies) {
    if (study.parts > 1) {
      notes.push_back(fmt::format(
          "{} is part {}/{}: runs of the other parts are missing here; `broadloom study merge` "
          "puts them together.",
          study.store, study.part, study.parts));
    }
    if (study.runs.pending > 0) {
      notes.push_back(fmt::format("{} of {} of {} have not finished.",
                                  with_commas(study.runs.pending),
                                  count_words(study.runs.all, "run"), study.store));
    }
  }
}

void note_failed(const std::vector<StudyResults>& results, Notes& notes) {
  Notes details;
  for (const StudyResults& study : results) {
    for (const ResultRun& run : study.runs) {
      if (!run.failed()) continue;
      details.push_back(fmt::format("Failed: {}, seed {}: {}",
                                    study.cells[static_cast<std::size_t>(run.cell)].name, run.seed,
                                    run.error));
    }
  }
  add_details(details, "runs failed", notes);
}

void note_scores(const StudyReport& report, Notes& notes) {
  Notes details;
  for (const ReportCell& cell : report.cells) {
    const auto without = std::count_if(cell.runs.begin(), cell.runs.end(), [](const ReportRun& r) {
      return !std::isfinite(r.training);
    });
    if (without == 0) continue;
    details.push_back(fmt::format(
        "{}: {} of {} ended no episode and have no training return; they stand in no number.",
        cell.name, without, count_words(static_cast<std::int64_t>(cell.runs.size()), "run")));
  }
  add_details(details, "cells have runs without a training return", notes);
}

// "10 whole episodes", "2 to 10 whole episodes".
std::string evaluation_words(const StudyReport& report) {
  std::set<std::int64_t> counts;
  for (const ReportStudy& study : report.studies) {
    counts.insert(study.eval_episodes.begin(), study.eval_episodes.end());
  }
  if (counts.empty()) return "whole episodes";
  const std::string from = counts.size() > 1 ? with_commas(*counts.begin()) + " to " : "";
  return from + count_words(*counts.rbegin(), "whole episode");
}

std::string lifetime_words(const ReportCell& cell) {
  if (cell.shapes_change) {
    return fmt::format(
        "Where shapes change, the environments that are stepped least live for {} steps",
        with_commas(cell.least_life));
  }
  return fmt::format("At N = {} an environment lives for {} steps", with_commas(cell.num_envs),
                     with_commas(cell.least_life));
}

void note_unended(const StudyReport& report, Notes& notes) {
  const ReportCell* worst = nullptr;
  for (const ReportCell& cell : report.cells) {
    if (cell.runs.empty() || !leaves_out_episodes(report, cell)) continue;
    if (worst == nullptr || cell.least_life < worst->least_life) worst = &cell;
  }
  if (worst == nullptr) return;
  const ReportTask& task = report.tasks[static_cast<std::size_t>(worst->task)];
  notes.push_back(fmt::format(
      "Training returns are of episodes that have ended. {}, and an episode of {} may last {}: "
      "what has not ended is left out, and with it the longest episodes.{}",
      lifetime_words(*worst), task.name, with_commas(task.max_episode_steps),
      main_score(report) == ReportScore::kEvaluation
          ? fmt::format(" Evaluations are of whole episodes: {} of each final policy, most likely "
                        "actions.",
                        evaluation_words(report))
          : " Evaluations would not leave them out; not all of these runs have one."));
}

void note_same_runs(const StudyReport& report, Notes& notes) {
  Notes details;
  for (const ReportArm& arm : report.arms) {
    if (arm.same_runs < 0) continue;
    details.push_back(fmt::format("{} has the very runs of {}: it is compared as that one.",
                                  arm.name,
                                  report.arms[static_cast<std::size_t>(arm.same_runs)].name));
  }
  add_details(details, "arms have the runs of others", notes);
}

void note_uncounted(const StudyReport& report, Notes& notes) {
  const bool all = std::all_of(report.cells.begin(), report.cells.end(),
                               [](const ReportCell& cell) { return cell.counted; });
  if (all) return;
  notes.emplace_back(
      "With target_kl a run leaves out epochs, so gradient steps are the most that there can be, "
      "and are never called equal; the metric `epochs` says how many there were.");
}

template <class Member>
void note_mixed(const StudyReport& report, const char* what, const char* so, Member member,
                Notes& notes) {
  std::set<std::string> all;
  for (const ReportStudy& study : report.studies) {
    const std::vector<std::string>& texts = study.*member;
    all.insert(texts.begin(), texts.end());
  }
  if (all.size() < 2) return;
  notes.push_back(fmt::format("Runs are of {} {} ({}): {}.", all.size(), what,
                              list_words({all.begin(), all.end()}, 4), so));
}

// Most instruction sets give the same bits.
void note_own_bits(const StudyReport& report, Notes& notes) {
  const auto own = [](const ReportStudy& study) {
    return !std::all_of(study.isa.begin(), study.isa.end(), has_common_bits);
  };
  if (std::none_of(report.studies.begin(), report.studies.end(), own)) return;
  note_mixed(report, "instruction sets", "their bits may differ", &ReportStudy::isa, notes);
}

void note_cells(const StudyReport& report, Notes& notes) {
  Notes details;
  for (const ReportCell& cell : report.cells) {
    if (!cell.note.empty()) details.push_back(fmt::format("{}: {}", cell.name, cell.note));
  }
  add_details(details, "cells are not matched exactly", notes);
}

void note_seeds(const StudyReport& report, Notes& notes) {
  if (report.tasks.size() < 2) return;
  Notes details;
  for (const ReportArm& arm : report.arms) {
    if (!arm.normalised || !arm.normalised->training) continue;
    int most = 0;
    for (const int cell : arm.cells) {
      most = std::max(most, report.cells[static_cast<std::size_t>(cell)].counts.finished);
    }
    const auto used =
        arm.normalised->training->iqm.count / static_cast<std::int64_t>(report.tasks.size());
    if (used == most) continue;
    details.push_back(fmt::format("{}: normalised scores are of the {} that every task has.",
                                  arm.name, count_words(used, "seed")));
  }
  add_details(details, "arms leave out seeds", notes);
}

void note_replicates(const StudyReportOptions& options, const StudyReport& report, Notes& notes) {
  if (report.replicates < options.replicates) {
    notes.push_back(fmt::format("There are many comparisons: intervals are of {} replicates.",
                                with_commas(report.replicates)));
  }
  if (report.band_replicates < options.band_replicates) {
    notes.push_back(fmt::format("There are many curves: their intervals are of {} replicates.",
                                with_commas(report.band_replicates)));
  }
}

}  // namespace

int fewest_runs(const StudyReport& report) {
  int fewest = 0;
  for (const ReportCell& cell : report.cells) {
    const int runs = cell.counts.finished;
    if (runs > 0 && (fewest == 0 || runs < fewest)) fewest = runs;
  }
  return fewest;
}

std::string few_runs_words(const StudyReport& report) {
  const int fewest = fewest_runs(report);
  if (fewest == 0 || fewest >= 5) return "";
  if (fewest == 1) {
    return "With one run there is no interval: what single runs show may be chance.";
  }
  // How many intervals of a cell's IQM hold the truth: docs/statistics.md.
  const int held = fewest == 2 ? 50 : fewest == 3 ? 75 : 88;
  return fmt::format(
      "With {} runs intervals are unreliable: read 95 % as about {} %; ten runs are "
      "a fair minimum.",
      fewest, held);
}

std::vector<std::string> report_notes(const std::vector<StudyResults>& results,
                                      const StudyReportOptions& options,
                                      const StudyReport& report) {
  Notes notes;
  note_missing(report, notes);
  note_failed(results, notes);
  note_scores(report, notes);
  note_unended(report, notes);
  note_same_runs(report, notes);
  note_uncounted(report, notes);
  const std::string few = few_runs_words(report);
  if (!few.empty()) notes.push_back(few);
  note_mixed(report, "revisions of the program", "they may differ for that reason alone",
             &ReportStudy::run_revisions, notes);
  note_mixed(report, "machines", "their times cannot be compared", &ReportStudy::hardware, notes);
  note_own_bits(report, notes);
  note_cells(report, notes);
  for (const ReportTask& task : report.tasks) {
    if (task.why_not.empty()) continue;
    notes.push_back(fmt::format("Scores of {} are not normalised: {}.", task.name, task.why_not));
  }
  note_seeds(report, notes);
  note_replicates(options, report, notes);
  return notes;
}

}  // namespace broadloom
