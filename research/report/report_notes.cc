#include "research/report/report_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "broadloom/core/number_text.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/math/isa.h"
#include "research/report/report_lines.h"
#include "research/report/report_scores.h"
#include "research/report/report_troubles.h"
#include "research/report/report_words.h"
#include "research/study/study_definition.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostDetails = 5;

using Notes = std::vector<std::string>;

// Adds the first few details and the number of the others.
void add_details(const Notes& details, const char* what, Notes& notes) {
  const std::size_t shown = std::min(details.size(), kMostDetails);
  notes.insert(notes.end(), details.begin(), details.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < details.size()) {
    notes.push_back(fmt::format("{} more {}.", details.size() - shown, what));
  }
}

std::string cell_words(const StudyReport& report, const ReportCell& cell) {
  const std::string& arm = report.arms[static_cast<std::size_t>(cell.arm)].name;
  return report.tasks.size() > 1 ? arm + " on " + task_words(report, {cell.task}) : arm;
}

// Adds one sentence with the items in place of `{}`, if there are any.
void add_list(const char* sentence, const std::vector<std::string>& items, Notes& notes) {
  if (items.empty()) return;
  notes.push_back(fmt::format(fmt::runtime(sentence), list_words(items, kMostDetails)));
}

void note_missing(const StudyReport& report, Notes& notes) {
  for (const ReportStudy& study : report.studies) {
    if (study.parts > 1) {
      notes.push_back(fmt::format(
          "{} is part {}/{}: the runs of other parts are missing here; merge the parts with "
          "`broadloom study merge`.",
          study.store, study.part, study.parts));
    }
    if (study.runs.pending > 0) {
      notes.push_back(fmt::format("{} of {} of {} have not finished.",
                                  with_commas(study.runs.pending),
                                  count_words(study.runs.all, "run"), study.store));
    }
  }
}

// Settings that a sampler chose are no grid, and its best one profits from chance.
void note_sampled(const StudyReport& report, Notes& notes) {
  for (std::size_t s = 0; s < report.studies.size(); ++s) {
    const ReportStudy& study = report.studies[s];
    if (study.sampler.empty()) continue;
    const auto settings =
        std::count_if(report.cells.begin(), report.cells.end(),
                      [&](const ReportCell& cell) { return cell.study == static_cast<int>(s); });
    notes.push_back(fmt::format(
        "{} is not a grid: {} chose its {} one after another, by the returns of those before. The "
        "best was chosen for its return, which is therefore too high: train it with new seeds "
        "before you quote it. Settings crowd where returns were high, so means over them do not "
        "show the effect of a key.",
        study.store, study.sampler, count_words(settings, "setting")));
  }
}

void note_teachers(const std::vector<StudyResults>& results, Notes& notes) {
  std::vector<std::string> teachers;
  for (const StudyResults& study : results) {
    const auto hashes = defined_values(study.definition, "teacher.parameters_hash");
    for (const RunEntry& run : study.stored) {
      const auto hash = hashes.find(run.cell_name);
      if (hash == hashes.end()) continue;
      const ResultCell& cell = study.cells[static_cast<std::size_t>(run.cell)];
      std::string words =
          fmt::format("{} ({})", cell.setting("teacher"), hash->second.substr(0, 8));
      const bool is_known = std::find(teachers.begin(), teachers.end(), words) != teachers.end();
      if (!is_known) teachers.push_back(std::move(words));
    }
  }
  add_list("Students copied the policy of {}.", teachers, notes);
}

void note_failed(const std::vector<StudyResults>& results, const StudyReport& report,
                 Notes& notes) {
  std::vector<std::string> cells, unscored;
  for (const ReportCell& cell : report.cells) {
    if (cell.counts.failed == 0) continue;
    (cell.samples.failed > 0 ? cells : unscored)
        .push_back(fmt::format("{} of {}", cell.counts.failed, cell_words(report, cell)));
  }
  add_list(
      "Runs that failed are excluded from all statistics, so their cells look better than they "
      "are: {}.",
      cells, notes);
  add_list("Runs that failed with values or seeds that no score uses: {}.", unscored, notes);
  Notes details;
  for (const StudyResults& study : results) {
    for (const RunEntry& run : study.stored) {
      if (!run.failed()) continue;
      details.push_back(fmt::format("Failed: {}, seed {}: {}", run.cell_name, run.seed, run.error));
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
    details.push_back(
        fmt::format("{}: {} of {} ended no episode; they have no training return and are excluded.",
                    cell_words(report, cell), without,
                    count_words(static_cast<std::int64_t>(cell.runs.size()), "run")));
  }
  add_details(details, "cells have runs without a training return", notes);
}

// "10 episodes of each final policy, most likely actions", "2 to 10 episodes ...".
std::string evaluation_words(const StudyReport& report) {
  std::set<std::int64_t> counts;
  std::set<std::string> actions;
  for (const ReportStudy& study : report.studies) {
    counts.insert(study.eval_episodes.begin(), study.eval_episodes.end());
    actions.insert(study.eval_actions.begin(), study.eval_actions.end());
  }
  const std::string least = counts.size() > 1 ? with_commas(*counts.begin()) + " to " : "";
  return fmt::format(
      "{} of each final policy, {}",
      counts.empty() ? "whole episodes" : least + count_words(*counts.rbegin(), "episode"),
      actions_words(actions));
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
      "Training returns leave out episodes that have not ended, which are the longest: in {} an "
      "environment takes only {} steps, and an episode of {} may last {}. {}",
      cell_words(report, *worst), with_commas(worst->least_life), task.name,
      with_commas(task.max_episode_steps),
      main_score(report) == ReportScore::kEvaluation
          ? fmt::format("Evaluations use whole episodes: {}.", evaluation_words(report))
          : "Evaluations would include them, but not all of these runs have one."));
}

void note_same_runs(const StudyReport& report, Notes& notes) {
  Notes details;
  for (const ReportArm& arm : report.arms) {
    if (arm.same_runs < 0) continue;
    details.push_back(fmt::format("{} has the same runs as {} and is compared under that name.",
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
      "With target_kl, runs may skip epochs: gradient steps are upper bounds and never count as "
      "equal; the metric `epochs` counts the epochs.");
}

void note_few_runs(const StudyReport& report, Notes& notes) {
  int fewest = 0;
  for (const ReportCell& cell : report.cells) {
    const int runs = cell.samples.finished;
    if (runs > 0 && (fewest == 0 || runs < fewest)) fewest = runs;
  }
  if (fewest == 0 || fewest >= 5) return;
  if (fewest == 1) {
    notes.emplace_back("With one run there is no interval, so differences may be chance.");
    return;
  }
  // Coverage of the intervals of a cell's IQM: docs/statistics.md.
  const int held = fewest == 2 ? 50 : fewest == 3 ? 75 : 88;
  notes.push_back(
      fmt::format("With {} runs intervals are unreliable: read 95 % as about {} %; ten runs are "
                  "a fair minimum.",
                  fewest, held));
}

// How values were chosen, which of them lie at an edge, and which calls are not made because of it.
void note_tuned(const StudyReport& report, Notes& notes) {
  if (report.tuned.empty()) return;
  notes.push_back(fmt::format(
      "{} {} chosen for each arm on most of the seeds and scored on the others, in turn. Intervals "
      "of scores include the choice's noise, those of areas and curves do not.",
      list_words(report.tuned, report.tuned.size()), report.tuned.size() == 1 ? "is" : "are"));
  std::vector<std::string> edges, left_out;
  for (const ReportCell& cell : report.cells) {
    if (!cell.tuned) continue;
    const std::string name = cell_words(report, cell);
    // Values of several keys name them.
    const std::string key = cell.tuned->keys.size() == 1 ? cell.tuned->keys.front() + " " : "";
    if (cell.tuned->at_edge) {
      edges.push_back(fmt::format("{} ({}{})", name, key,
                                  cell.tuned->values[static_cast<std::size_t>(cell.tuned->best)]));
    }
    if (!cell.tuned->left_out.empty()) {
      left_out.push_back(
          fmt::format("{} ({}{})", name, key, fmt::join(cell.tuned->left_out, ", ")));
    }
  }
  add_list("The best value is at an edge of those tried, so a better one may lie beyond: {}.",
           edges, notes);
  add_list("Values with more failed runs than others cannot be chosen: {}.", left_out, notes);
  std::vector<std::string> pairs;
  for (const ReportComparison& c : report.comparisons) {
    if (!c.hangs_on_choice || c.score != main_score(report)) continue;
    pairs.push_back(fmt::format("{} and {}", report.arms[static_cast<std::size_t>(c.a)].name,
                                report.arms[static_cast<std::size_t>(c.b)].name));
  }
  add_list("Not called, because another value that is as good would change the call: {}.", pairs,
           notes);
}

void note_chance(const StudyReport& report, Notes& notes) {
  const std::int64_t testable = testable_lines(report);
  if (testable == 0) return;
  const auto different = std::count_if(report.lines.begin(), report.lines.end(),
                                       [](const ReportLine& line) { return line.differ; });
  notes.push_back(fmt::format(
      "Sets of arms that differ in one key alone: {} with enough runs; differences at 95 %: {}; "
      "expected by chance, if no arm differed: at most {:.2g}.",
      with_commas(testable), with_commas(different),
      (1.0 - kConfidence) * static_cast<double>(testable)));
}

void note_common_arms(const StudyReport& report, Notes& notes) {
  const bool any = std::any_of(report.arms.begin(), report.arms.end(),
                               [](const ReportArm& arm) { return arm.cells.size() > 1; });
  if (any || report.tasks.size() < 2) return;
  notes.push_back(fmt::format(
      "The {} tasks have no arm in common, so no arm is compared across tasks; for that, give all "
      "tasks the same shapes and settings.",
      report.tasks.size()));
}

// A cell and its trouble: "8x8, 403 [400, 407] after 40,960 steps and 63 [60, 67] at the end".
std::string trouble_words(const StudyReport& report, const ReportTrouble& trouble) {
  const ReportCell& cell = report.cells[static_cast<std::size_t>(trouble.cell)];
  const std::string name = cell_words(report, cell);
  const std::string steps = with_commas(std::llround(trouble.step));
  switch (trouble.kind) {
    case TroubleKind::kFailed:
      return fmt::format("{} ({} of {})", name, cell.samples.failed,
                         cell.samples.failed + cell.samples.finished);
    case TroubleKind::kAtRandom:
      return fmt::format("{}, {} ({:.4g} to {:.4g})", name, estimate_words(trouble.after),
                         report.tasks[static_cast<std::size_t>(cell.task)].random_score,
                         report.tasks[static_cast<std::size_t>(cell.task)].reference_score);
    case TroubleKind::kCollapsed:
      return fmt::format("{}, {} after {} steps and {} at the end", name,
                         estimate_words(trouble.before), steps, estimate_words(trouble.after));
    case TroubleKind::kStill:
      return fmt::format("{} after {} of {} steps", name, steps,
                         with_commas(cell.environment_steps));
  }
  return "";
}

void note_troubles(const StudyReport& report, Notes& notes) {
  const std::pair<TroubleKind, std::string> sentences[] = {
      {TroubleKind::kFailed,
       report.tuned.empty() ? "At least half of the runs failed, and the rest is a selection: {}."
                            : "At least half of the runs, or of the seeds with some value, failed, "
                              "and the rest is a "
                              "selection: {}."},
      {TroubleKind::kAtRandom,
       fmt::format("Learnt next to nothing, at most {:g} % of the way from random actions to the "
                   "reference: {{}}.",
                   100.0 * kNearRandom)},
      {TroubleKind::kCollapsed, "Learnt and lost it again, so the last score is not the best: {}."},
      {TroubleKind::kStill,
       fmt::format("The policy hardly changed any more (all updates up to the end, together, moved "
                   "it by a KL below {:g}): {{}}.",
                   kStillKl)}};
  for (const auto& [kind, sentence] : sentences) {
    std::vector<std::string> cells;
    for (const ReportTrouble& trouble : report.troubles) {
      if (trouble.kind == kind) cells.push_back(trouble_words(report, trouble));
    }
    add_list(sentence.c_str(), cells, notes);
  }
  std::vector<std::string> constants;
  for (const ReportInstrument& instrument : report.instruments) {
    if (!instrument.constant) continue;
    constants.push_back(fmt::format("{} ({:.6g})", instrument.title, *instrument.constant));
  }
  if (constants.empty()) return;
  notes.push_back(fmt::format("Equal in all arms at all steps, and not drawn: {}.",
                              list_words(constants, constants.size())));
}

void note_hidden_updates(const StudyReport& report, Notes& notes) {
  std::vector<std::string> cells;
  for (const ReportCell& cell : report.cells) {
    if (hides_updates(cell)) cells.push_back(cell_words(report, cell));
  }
  add_list(
      "With one gradient step a block, ratios are 1 by definition, so that KL, clipped share "
      "and effective sample size say nothing: {}.",
      cells, notes);
}

template <class Member>
void note_mixed(const StudyReport& report, const char* what, const char* consequence, Member member,
                Notes& notes) {
  std::set<std::string> all;
  for (const ReportStudy& study : report.studies) {
    const std::vector<std::string>& texts = study.*member;
    all.insert(texts.begin(), texts.end());
  }
  if (all.size() < 2) return;
  notes.push_back(fmt::format("Runs come from {} {} ({}): {}.", all.size(), what,
                              list_words({all.begin(), all.end()}, 4), consequence));
}

// Instruction sets with bits of their own get a note; most give the same bits.
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
    if (!cell.note.empty())
      details.push_back(fmt::format("{}: {}", cell_words(report, cell), cell.note));
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
      most = std::max(most, report.cells[static_cast<std::size_t>(cell)].samples.finished);
    }
    const auto used =
        arm.normalised->training->iqm.count / static_cast<std::int64_t>(report.tasks.size());
    if (used == most) continue;
    details.push_back(fmt::format("{}: normalised scores use only the {} that every task has.",
                                  arm.name, count_words(used, "seed")));
  }
  add_details(details, "arms leave out seeds", notes);
}

void note_replicates(const StudyReportOptions& options, const StudyReport& report, Notes& notes) {
  if (report.replicates < options.replicates) {
    notes.push_back(fmt::format("There are many comparisons, so intervals use {} replicates.",
                                with_commas(report.replicates)));
  }
  if (report.band_replicates < options.band_replicates) {
    notes.push_back(fmt::format("There are many curves, so their intervals use {} replicates.",
                                with_commas(report.band_replicates)));
  }
}

}  // namespace

std::vector<std::string> report_notes(const std::vector<StudyResults>& results,
                                      const StudyReportOptions& options,
                                      const StudyReport& report) {
  Notes notes;
  note_missing(report, notes);
  note_sampled(report, notes);
  note_teachers(results, notes);
  note_failed(results, report, notes);
  note_few_runs(report, notes);
  note_tuned(report, notes);
  note_chance(report, notes);
  note_troubles(report, notes);
  note_hidden_updates(report, notes);
  note_scores(report, notes);
  note_unended(report, notes);
  note_same_runs(report, notes);
  note_uncounted(report, notes);
  note_common_arms(report, notes);
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
