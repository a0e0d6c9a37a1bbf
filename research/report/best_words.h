// Which arm is best, as far as the comparisons allow to say so.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// Sentences on report.rankings. An arm is called best only where a comparison tells it from every
// other one; otherwise those that cannot be told from the one that leads are named.
std::vector<std::string> best_sentences(const StudyReport& report);

}  // namespace broadloom
