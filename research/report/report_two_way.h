// Two-way questions: whether the effect of one key depends on another.
#pragma once

#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// One question for each pair of keys that vary in a grid, on each task: does the change of the IQM
// from the least to the greatest value of one differ between the least and the greatest value of
// the other? Values that are no numbers take part if there are two of them. All four arms need five
// runs. The intervals are percentile bootstraps; that of the difference is at 95 % over all
// questions together (Bonferroni). Needs report.lines. O(replicates * runs) a question.
std::vector<ReportTwoWay> ask_two_way(const StudyReport& report);

}  // namespace broadloom
