// What else changes along a line.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// ". Along it gradient steps (1,600 to 6,400) change too, so it says nothing of N alone", without
// the last part where that is what the key of the line does; of the first of a line's tasks where
// something changes. "" where nothing does.
std::string line_confounds(const StudyReport& report, const std::vector<const ReportLine*>& line);

}  // namespace broadloom
