// Finds cells whose scores say little about their settings: failed runs, and policies that are not
// near random actions, that collapsed, or that stand still.
#pragma once

#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// Share of the way from the random to the reference score.
inline constexpr double kNearRandom = 0.05;

// A policy stands still if all of its later updates together move it by a smaller KL.
inline constexpr double kStillKl = 1e-3;

// Whether an update's ratios say nothing of it, as with one gradient step a block: a ratio is taken
// before the step of its minibatch, so all are 1.
bool hides_updates(const ReportCell& cell);

// For each cell in order, its worst trouble. Either at least half of the runs failed; or the
// interval of the main score ends within kNearRandom of the way from the random to the reference
// score, unless that score leaves out the longest episodes; or
// at least half of the gain at the peak is lost at the end, with separate intervals. Besides,
// kStill if the updates of at least the last third of the run, all in one direction, would move the
// policy by a KL below kStillKl. Needs measured cells.
std::vector<ReportTrouble> find_troubles(const StudyReport& report);

}  // namespace broadloom
