// The scores of a report's cells and arms, as the statistics want them.
#pragma once

#include <optional>
#include <vector>

#include "research/report/report_model.h"
#include "research/stats/scores.h"

namespace broadloom {

// The cell of an arm on a task; nullptr where it has none.
const ReportCell* cell_on(const StudyReport& report, const ReportArm& arm, int task);

// The finite scores of a cell's finished runs, in the order of its runs.
std::vector<double> cell_scores(const ReportCell& cell, ReportScore score);

// The scores of an arm on tasks that it has. With several tasks, only of the seeds that have a
// score on each. Nothing where no run is left.
std::optional<Scores> arm_scores(const StudyReport& report, const ReportArm& arm,
                                 const std::vector<int>& tasks, ReportScore score);

// What does not differ between two cells, and between arms on tasks that both have.
Equality equality(const ReportCell& a, const ReportCell& b);
Equality equality(const StudyReport& report, const ReportArm& a, const ReportArm& b,
                  const std::vector<int>& tasks);

// Confounds: what differs between cells of one task beside what their study varies, as "gradient
// steps (1,600 to 6,400)", and keys that an algorithm or an encoder brings along.
std::vector<std::string> confounds(const std::vector<const ReportCell*>& cells,
                                   const Equality& equal);

// What is equal in both.
Equality both(const Equality& a, const Equality& b);

// Training returns are of episodes that have ended. Where an environment of the cell lives for
// fewer than ten of the longest episodes, those that have not are a part that counts: long ones, so
// the return is too low where living is rewarded, and too high where it costs.
bool leaves_out_episodes(const StudyReport& report, const ReportCell& cell);
bool leaves_out_episodes(const StudyReport& report);  // of some cell with finished runs

// The score that a report speaks of: evaluations, which are of whole episodes and of the policy
// that a user gets; training returns where some cell has runs without an evaluation.
ReportScore main_score(const StudyReport& report);

}  // namespace broadloom
