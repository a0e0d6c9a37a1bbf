// Arms that differ in one thing alone, and what that does: what a study varies, all else equal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broadloom/findings/report_model.h"

namespace broadloom {

// Lines of every kind through two arms or more that have a main score, task by task, without
// standings. Keys that no two arms differ in alone vary together: they are one kSettings. Arms that
// repeat the runs of another one on the line are left out.
std::vector<ReportLine> gather_lines(const StudyReport& report);

// The pairs that the standings of lines and the counts of calls need: on each the arm with the
// largest IQM and the others, and neighbours.
std::vector<std::pair<int, int>> pairs_on_lines(const StudyReport& report,
                                                const std::vector<ReportLine>& lines);

// Sets leaders, standings and all other numbers of report.lines, and puts those with the largest
// effects first. Takes the comparisons. O(replicates * runs) for each arm of a line.
void measure_lines(int threads, StudyReport& report);

// Pairs of neighbours on lines of one kind and key, and how many of them are told apart.
struct LineCalls {
  LineKind kind = LineKind::kSetting;
  std::string key;
  bool ordered = false;
  std::string first, second;  // the two values, where all such lines have these two
  int lines = 0, pairs = 0;   // those with runs enough
  int later_better = 0, earlier_better = 0;
};

// In the order of report.lines.
std::vector<LineCalls> count_calls(const StudyReport& report);

}  // namespace broadloom
