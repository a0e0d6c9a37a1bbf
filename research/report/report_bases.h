// Finds keys in which cells of one task differ although no axis sets them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Only keys that affect what is learnt, for how long, or by what. Keys of shapes and minibatches
// are left out: cells have the former as numbers, and the match sets the latter.
struct UnvariedKeys {
  std::set<std::string> base_keys;     // one value in each study, but not the same in all
  std::set<std::string> default_keys;  // several values in one study, from an algorithm or encoder
};

// report: with the cells of `results` in their order, the studies and the tasks. changed: keys that
// axes set.
UnvariedKeys unvaried_keys(const std::vector<StudyResults>& results, const StudyReport& report,
                           const std::set<std::string>& changed);

}  // namespace broadloom
