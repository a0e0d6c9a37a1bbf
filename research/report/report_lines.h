// Arms that differ in one thing alone, and what that does: what a study varies, all else equal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// Lines of every kind through two arms or more that have a main score, task by task, without
// standings. Keys that no two arms differ in alone vary together: they are one kSettings. Arms that
// repeat the runs of another one on the line are left out.
std::vector<ReportLine> gather_lines(const StudyReport& report);

// The pairs that the standings of lines and the counts of calls need: on each the arm with the
// largest IQM and the others, and neighbours.
std::vector<std::pair<int, int>> pairs_on_lines(const StudyReport& report,
                                                const std::vector<ReportLine>& lines);

// Whether a line has runs enough to show a difference, and how many lines have.
bool enough_runs(const ReportLine& line);
std::int64_t able_lines(const StudyReport& report);

// Whether the line's difference is more than chance among so many lines: its chance stands being
// multiplied by their number (Bonferroni).
bool is_more_than_chance(const ReportLine& line, std::int64_t lines);

// Sets leaders, standings and all other numbers of report.lines, and puts those with the largest
// effects first, but behind what is more than chance among able_lines() what is not. Takes the
// comparisons. O(replicates * runs) for each arm of a line.
void measure_lines(int threads, StudyReport& report);

// Calls between neighbours for each kind and key, in the order of report.lines. Takes the
// comparisons.
std::vector<LineCalls> count_calls(const StudyReport& report);

}  // namespace broadloom
