// The numbers of single cells: scores, learning curves, profiles.
#pragma once

#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Fills the runs, scores, curves and profiles of report.cells, which are the cells of `results` in
// order, and report.instruments. Takes report.replicates and report.band_replicates.
void measure_cells(const std::vector<StudyResults>& results, int threads, StudyReport& report);

// Numbers that all curves of the cells have together, points times runs: what a band replicate
// costs.
double curve_numbers(const std::vector<StudyResults>& results);

}  // namespace broadloom
