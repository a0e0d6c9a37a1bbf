// What cells of one task differ in though no axis sets it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Keys that change what is learnt, how long it goes on, or what learns. Those of shapes, which
// cells have as numbers, and of minibatches, which the match decides, are not among them.
struct UntoldKeys {
  std::set<std::string> of_bases;  // one text in each study, but not in all of them
  std::set<std::string>
      of_defaults;  // several in one study: an algorithm or an encoder brings them
};

// report: with the cells of `results`, in their order, and their studies and tasks. changed: keys
// that axes set.
UntoldKeys untold_keys(const std::vector<StudyResults>& results, const StudyReport& report,
                       const std::set<std::string>& changed);

}  // namespace broadloom
