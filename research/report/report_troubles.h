// Finds cells whose scores say little about their settings: failed runs, and policies that are not
// better than random, that collapsed, or that stopped changing.
#pragma once

#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// KL of an update below which the policy does not change.
inline constexpr double kStillKl = 1e-5;

// For each cell in order, its worst trouble. Either at least half of the runs failed; or the
// interval of the main score ends within 5 % of the way from the random to the reference score; or
// at least half of the gain at the peak is lost at the end, with separate intervals. Besides,
// kStill if the KL of updates stays below kStillKl for at least the last third of the run; an
// annealed learning rate does that only near the end. Needs measured cells.
std::vector<ReportTrouble> find_troubles(const StudyReport& report);

}  // namespace broadloom
