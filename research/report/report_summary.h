// What a reader of a report must know first, in sentences.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// About a dozen lines under a few titles, each computed from the report's numbers: which arm is
// best and which cannot be told from it, what each thing that was varied does with all else equal,
// what to be careful about, how much of it may be chance, and how many runs it rests on.
std::vector<SummaryPart> summarise(const StudyReport& report);

// One comparison as a sentence.
std::string comparison_sentence(const StudyReport& report, const ReportComparison& comparison);

}  // namespace broadloom
