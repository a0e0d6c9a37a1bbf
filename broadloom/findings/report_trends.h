// Trends of a report over N.
#pragma once

#include "broadloom/findings/report_model.h"

namespace broadloom {

// Trends of arms with the same `other` and either the same batch size or the same number of steps,
// three of them at least, for both scores and each task. Takes report.replicates, and cells that
// have been measured. O(replicates * runs) each.
void find_trends(int threads, StudyReport& report);

}  // namespace broadloom
