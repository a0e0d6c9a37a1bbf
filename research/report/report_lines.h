// Lines of arms: sets of arms that differ in only one thing, and the effect of that thing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// All lines through two or more arms with a main score, task by task, without standings. Keys that
// never vary alone form one kSettings. Arms that repeat the runs of another arm are left out.
std::vector<ReportLine> gather_lines(const StudyReport& report);

// The pairs needed for standings and calls: on each line the arm with the largest IQM and every
// other one, and neighbours.
std::vector<std::pair<int, int>> pairs_on_lines(const StudyReport& report,
                                                const std::vector<ReportLine>& lines);

// Whether a line has enough runs to show a difference, and the number of such lines.
bool enough_runs(const ReportLine& line);
std::int64_t testable_lines(const StudyReport& report);

// Whether the line's difference exceeds chance among so many lines: chance * lines is small enough
// (Bonferroni).
bool is_more_than_chance(const ReportLine& line, std::int64_t lines);

// Fills in leaders, standings and all other numbers of report.lines. Sorts them by effect, with
// those beyond chance first. Needs the comparisons. O(replicates * runs) for each arm of a line.
void measure_lines(int threads, StudyReport& report);

// Counts calls between neighbours for each kind and key, in the order of report.lines. Needs the
// comparisons.
std::vector<LineCalls> count_calls(const StudyReport& report);

}  // namespace broadloom
