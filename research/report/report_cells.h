// Measures single cells: scores, learning curves, profiles.
#pragma once

#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Fills runs, scores, curves and profiles of report.cells, which are the cells of `results` in
// order, and report.instruments. Uses report.replicates and report.band_replicates.
void measure_cells(const std::vector<StudyResults>& results, int threads, StudyReport& report);

// Points times runs, summed over all curves of the cells: the cost of a band replicate.
double curve_numbers(const std::vector<StudyResults>& results);

}  // namespace broadloom
