// What makes a cell's score say little about its settings: failed runs, policies that act no better
// than at random, that lost what they had learnt, or that stand still.
#pragma once

#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// An update of less KL than that leaves the policy where it is.
inline constexpr double kStillKl = 1e-5;

// In the order of the cells, what is worst of each: half of the runs or more failed; the interval
// of the main score ends within 5 % of the way from the random to the reference score; half or more
// of what had been gained at the peak is lost in the end, with intervals apart. Besides, where the
// KL of updates stays below kStillKl for the last third of the run or longer: annealed learning
// rates do that to the end of any run, and not that early. Takes cells that have been measured.
std::vector<ReportTrouble> find_troubles(const StudyReport& report);

}  // namespace broadloom
