#include "cli/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "broadloom/config/budget.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/record/json.h"
#include "cli/console.h"
#include "research/stats/run_statistics.h"

namespace broadloom::cli {
namespace {

// Columns are as wide as their widest text. The first is left-aligned, the others right-aligned.
void print_rows(std::FILE* stream, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      line += (i > 0 ? "  " : "") + padded(row[i], i > 0 ? -width : width);
    }
    tell(stream, "{}\n", line);
  }
}

std::string minibatch_text(const StudyCell& cell) {
  const std::int64_t size = cell.minibatch_size();
  if (cell.even_minibatches()) return with_commas(size);
  return with_commas(cell.smallest_minibatch()) + "-" + with_commas(size);
}

// Minibatches per epoch; one number per shape of a schedule.
std::string minibatches_text(const Config& config) {
  std::string text;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    text += (p > 0 ? ", " : "") + with_commas(config.of_phase(p).minibatch_count());
  }
  return text;
}

// Limits of a plan that is not printed whole.
constexpr std::size_t kMostCells = 24, kMostNotes = 8;

std::vector<std::vector<std::string>> plan_rows(const StudyPlan& plan, std::size_t cells) {
  std::vector<std::vector<std::string>> rows = {{"cell", "environment steps", "iterations",
                                                 "minibatches", "minibatch size", "epochs",
                                                 "gradient steps", "env steps per gradient step"}};
  for (std::size_t i = 0; i < cells; ++i) {
    const StudyCell& cell = plan.cells[i];
    rows.push_back({cell.name, with_commas(cell.environment_steps()),
                    with_commas(cell.config.num_iterations()), minibatches_text(cell.config),
                    minibatch_text(cell), to_text(cell.config.update_epochs),
                    with_commas(gradient_steps(cell.config)),
                    fmt::format("{:.4g}", cell.samples_per_gradient())});
  }
  return rows;
}

void print_rest(std::FILE* stream, std::size_t rest, const char* what) {
  if (rest == 0) return;
  tell(stream, "... and {} more {}{}; --plan prints the whole plan\n",
       with_commas(static_cast<std::int64_t>(rest)), what, rest == 1 ? "" : "s");
}

void print_notes(std::FILE* stream, const std::vector<std::string>& notes, bool whole) {
  const std::size_t shown = whole ? notes.size() : std::min(notes.size(), kMostNotes);
  for (std::size_t i = 0; i < shown; ++i) tell(stream, "{}\n", notes[i]);
  print_rest(stream, notes.size() - shown, "note");
}

// Notes on unequal cells, and on steps rounded to whole blocks.
struct PlanNotes {
  std::vector<std::string> match, budget;  // of cells
  std::vector<std::string> common;         // of all cells
};

PlanNotes notes_of(const StudyPlan& plan) {
  PlanNotes notes;
  std::set<std::int64_t> budgets;
  std::vector<Config> configs;
  for (const StudyCell& cell : plan.cells) configs.push_back(cell.config);
  const std::int64_t steps = common_budget(configs);
  for (const StudyCell& cell : plan.cells) {
    if (!cell.note.empty())
      notes.match.push_back(fmt::format("Note: {}: {}", cell.name, cell.note));
    const std::string budget = budget_warning(cell.config, cell.name, steps == 0);
    if (!budget.empty()) notes.budget.push_back(budget);
    budgets.insert(cell.environment_steps());
  }
  if (!notes.budget.empty() && steps > 0) {
    notes.common.push_back(
        fmt::format("Note: choose total_timesteps = {}, which suits all cells.", steps));
  }
  if (!plan.differing_defaults.empty()) {
    notes.common.push_back(fmt::format(
        "Note: cells also differ in {}: defaults of their environment, algorithm or encoder. To "
        "make one equal, set it in [base].",
        fmt::join(plan.differing_defaults, ", ")));
  }
  if (budgets.size() > 1) {
    notes.common.push_back(
        fmt::format("Note: cells train for {} to {} environment steps, rounded to whole blocks.",
                    with_commas(*budgets.begin()), with_commas(*budgets.rbegin())));
  }
  return notes;
}

std::int64_t runs_in(const StudyPart& part, const StudyPlan& plan) {
  return std::count_if(plan.runs.begin(), plan.runs.end(),
                       [&](const StudyRun& run) { return part.holds(run.id); });
}

RunStatistics over_runs(const std::vector<double>& values) {
  if (!values.empty()) return run_statistics(values, {});
  const Estimate none = without_interval(std::nan(""), 0);
  return {none, none, none};
}

struct CellResult {
  int finished = 0, failed = 0, pending = 0;
  std::vector<double> training, evaluation;
};

std::vector<CellResult> results_of(const StudyPlan& plan, const StudySummary& summary) {
  std::vector<CellResult> cells(plan.cells.size());
  for (const StoredRun& run : summary.runs) {
    CellResult& cell = cells[static_cast<std::size_t>(run.cell)];
    cell.finished += run.status == "finished" ? 1 : 0;
    cell.failed += run.status == "failed" ? 1 : 0;
    cell.pending += run.status == "pending" ? 1 : 0;
    if (run.status != "finished") continue;
    if (!std::isnan(run.training_return)) cell.training.push_back(run.training_return);
    if (!std::isnan(run.evaluation_return)) cell.evaluation.push_back(run.evaluation_return);
  }
  return cells;
}

std::string estimate_text(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return fixed_text(e.value, 1);
  return fmt::format("{:.1f} [{:.1f}, {:.1f}]", e.value, e.low, e.high);
}

// Describes an evaluation; "" if the study has none.
std::string evaluation_words(const StudyPlan& plan) {
  if (plan.evaluations == 0) return "";
  int least = plan.cells.front().config.eval_episodes, most = least;
  std::set<std::string> actions;
  for (const StudyCell& cell : plan.cells) {
    least = std::min(least, cell.config.eval_episodes);
    most = std::max(most, cell.config.eval_episodes);
    actions.insert(cell.config.eval_actions);
  }
  return fmt::format(" Evaluation: mean return of {}{} episode{} of its final policy, {}.",
                     least < most ? to_text(least) + " to " : "", most, most == 1 ? "" : "s",
                     actions_words(actions));
}

Json head_json(const StudyPlan& plan, const std::string& store) {
  return {{"study", plan.name},
          {"sampler", plan.sampler.empty() ? Json() : Json(plan.sampler)},
          {"store", store}};
}

Json cell_json(const StudyCell& cell) {
  return {{"cell", cell.name},
          {"environment_steps", cell.environment_steps()},
          {"iterations", cell.config.num_iterations()},
          {"minibatch_count", cell.minibatch_count()},
          {"minibatch_size", cell.minibatch_size()},
          {"update_epochs", cell.config.update_epochs},
          {"gradient_steps", gradient_steps(cell.config)},
          {"samples_per_gradient", cell.samples_per_gradient()},
          {"note", cell.note}};
}

Json or_null(double x) {
  if (!std::isfinite(x)) return nullptr;
  return x;
}

Json estimate_of_runs(const Estimate& e) {
  return {{"value", or_null(e.value)},
          {"low", or_null(e.low)},
          {"high", or_null(e.high)},
          {"runs", e.count}};
}

}  // namespace

void print_study_plan(std::FILE* stream, const StudyPlan& plan, const StudyPart& part, bool whole) {
  const std::string rule = plan.match == Match::kGradientSteps
                               ? fmt::format("gradient_steps (by {})", adjust_name(plan.adjust))
                               : match_name(plan.match);
  const auto cells = static_cast<std::int64_t>(plan.cells.size());
  tell(stream, "Study {}: {} cell{} x {} seed{} = {} runs; match: {}\n\n", plan.name,
       with_commas(cells), cells == 1 ? "" : "s", plan.seeds.size(),
       plan.seeds.size() == 1 ? "" : "s", with_commas(static_cast<std::int64_t>(plan.runs.size())),
       rule);
  if (!plan.sampler.empty()) {
    tell(stream, "Settings chosen one after another by {}, not a grid\n\n", plan.sampler);
  }
  const bool is_whole = whole || plan.cells.size() <= kMostCells;
  const std::size_t shown = is_whole ? plan.cells.size() : kMostCells;
  print_rows(stream, plan_rows(plan, shown));
  print_rest(stream, plan.cells.size() - shown, "cell");
  const PlanNotes notes = notes_of(plan);
  print_notes(stream, notes.match, is_whole);
  print_notes(stream, notes.budget, is_whole);
  print_notes(stream, notes.common, true);
  if (!part.is_whole()) {
    tell(stream, "{}: {} of these runs.\n",
         part.count > 1 ? fmt::format("Part {}/{}", part.index, part.count)
                        : "Runs " + runs_text(part.runs),
         runs_in(part, plan));
  }
  tell(stream, "\n");
}

void print_study_result(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary) {
  const std::vector<CellResult> cells = results_of(plan, summary);
  std::vector<std::vector<std::string>> rows = {
      {"cell", "runs", "training IQM [95 %]", "training mean [95 %]", "evaluation IQM [95 %]"}};
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const RunStatistics training = over_runs(cells[c].training);
    rows.push_back({plan.cells[c].name, to_text(cells[c].finished), estimate_text(training.iqm),
                    estimate_text(training.mean),
                    estimate_text(over_runs(cells[c].evaluation).iqm)});
  }
  print_rows(stream, rows);
  tell(stream,
       "\nTraining: mean return of a run's last episodes.{} Intervals: bootstrap over runs.\n",
       evaluation_words(plan));
}

int print_failed_runs(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary) {
  constexpr int kMost = 10;
  int failed = 0;
  for (const StoredRun& run : summary.runs) {
    if (run.status != "failed" || ++failed > kMost) continue;
    tell(stream, "Failed: {} seed {}: {}\n", plan.cells[static_cast<std::size_t>(run.cell)].name,
         run.seed, run.error);
  }
  if (failed > kMost) {
    tell(stream, "{} more runs failed; their errors are in the store's table `runs`.\n",
         failed - kMost);
  }
  return failed;
}

Json study_plan_json(const StudyPlan& plan, const StudyPart& part, const std::string& store,
                     const std::string& launch) {
  Json out = head_json(plan, store);
  out["match"] = match_name(plan.match);
  out["adjust"] = plan.match == Match::kGradientSteps ? Json(adjust_name(plan.adjust)) : Json();
  out["seeds"] = plan.seeds;
  out["runs"] = plan.runs.size();
  out["runs_of_part"] = runs_in(part, plan);
  PlanNotes notes = notes_of(plan);
  notes.budget.insert(notes.budget.end(), notes.common.begin(), notes.common.end());
  out["notes"] = notes.budget;
  out["launch"] = launch;
  out["cells"] = Json::array();
  for (const StudyCell& cell : plan.cells) out["cells"].push_back(cell_json(cell));
  return out;
}

Json study_json(const StudyPlan& plan, const StudySummary& summary, const StudyOptions& options) {
  Json out = head_json(plan, options.store);
  out["complete"] = summary.is_over();
  out["part_complete"] = summary.is_over(options.part);
  out["seconds"] = summary.seconds;
  out["cells"] = Json::array();
  const std::vector<CellResult> cells = results_of(plan, summary);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const RunStatistics training = over_runs(cells[c].training);
    Json cell = cell_json(plan.cells[c]);
    cell["finished"] = cells[c].finished;
    cell["failed"] = cells[c].failed;
    cell["pending"] = cells[c].pending;
    cell["training_iqm"] = estimate_of_runs(training.iqm);
    cell["training_mean"] = estimate_of_runs(training.mean);
    cell["evaluation_iqm"] = estimate_of_runs(over_runs(cells[c].evaluation).iqm);
    out["cells"].push_back(std::move(cell));
  }
  return out;
}

}  // namespace broadloom::cli
