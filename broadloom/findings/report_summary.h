// What a reader of a report must know first, in sentences.
#pragma once

#include <string>
#include <vector>

#include "broadloom/findings/report_model.h"

namespace broadloom {

// About a dozen lines under a few titles, each computed from the report's numbers: what was run,
// which arm is best and which cannot be told from it, the comparisons that a reader asks for first
// with what else differs in them, trends over N, and how much of it may be chance.
std::vector<SummaryPart> summarise(const StudyReport& report);

// One comparison, and one trend, as a sentence.
std::string comparison_sentence(const StudyReport& report, const ReportComparison& comparison);
std::string trend_sentence(const StudyReport& report, const ReportTrend& trend);

}  // namespace broadloom
