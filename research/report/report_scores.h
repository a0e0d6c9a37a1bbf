// Selects scores of cells and arms for the statistics.
#pragma once

#include <optional>
#include <vector>

#include "research/report/report_model.h"
#include "research/stats/scores.h"

namespace broadloom {

// The cell of an arm on a task, or nullptr.
const ReportCell* cell_on(const StudyReport& report, const ReportArm& arm, int task);

// The first arm with the very same runs as this one, which may be itself. Arms that share runs are
// one sample.
int first_with_runs_of(const StudyReport& report, int arm);

// Finite scores of a cell's finished runs, in order.
std::vector<double> cell_scores(const ReportCell& cell, ReportScore score);

// Scores of cells on different tasks; with several, only of seeds with a score on each. In a tuned
// cell, such a seed has a score of every candidate, and the choice is part of the scores, also of
// those that it does not go by. Nothing if no run remains.
std::optional<Scores> joint_scores(const std::vector<const ReportCell*>& cells, ReportScore score);

// The same of an arm's cells on these tasks; nothing if it lacks one.
std::optional<Scores> arm_scores(const StudyReport& report, const ReportArm& arm,
                                 const std::vector<int>& tasks, ReportScore score);

// The quantities that are equal in two cells, or in two arms on their common tasks.
Equality equality(const ReportCell& a, const ReportCell& b);
Equality equality(const StudyReport& report, const ReportArm& a, const ReportArm& b,
                  const std::vector<int>& tasks);

// Confounds: unintended differences between cells of one task, such as "gradient steps (1,600 to
// 6,400, 4 times)", and keys that an algorithm or encoder sets.
std::vector<std::string> confounds(const std::vector<const ReportCell*>& cells,
                                   const Equality& equal);

// The quantities that are equal in both comparisons.
Equality equal_in_both(const Equality& a, const Equality& b);

// Whether training returns are biased by unfinished episodes: true if an environment's steps are
// fewer than ten of the longest episodes. Long episodes are then missing, so the return is too low
// if living is rewarded, and too high if it costs.
bool leaves_out_episodes(const StudyReport& report, const ReportCell& cell);
bool leaves_out_episodes(const StudyReport& report);  // true for some cell with finished runs

// The score that a report uses. Evaluations, since they use whole episodes and the final policy;
// training returns if some cell has runs without an evaluation.
ReportScore main_score(const StudyReport& report);

}  // namespace broadloom
