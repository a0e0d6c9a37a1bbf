// Merges cells that differ in tuned keys alone, such as the learning rate, so that each arm is
// compared with the value that suits it. StudyResults::stored keeps all runs of the store.
//
// The value is chosen and scored by cross-fitting over seeds (research/stats/tuned_scores.h). The
// merged cell has one run a seed: the run of the value that the other seeds chose.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/study_results.h"

namespace broadloom {

// The tuned keys that the study's own definition names; empty: none.
std::vector<std::string> tuned_keys(const StudyResults& study);

// Merges the cells of each study. A value with a failed run is left out where another value has
// none. Cells with fewer than two seeds that every value has finished stay pending.
//
// kInvalidConfig if cells do not differ in `keys`, or if such cells also differ in environment or
// gradient steps.
Status tune_results(const std::vector<std::string>& keys, std::vector<StudyResults>& studies);

}  // namespace broadloom
