// The numbers of arms: normalised scores and comparisons of pairs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// Both take report.replicates, and cells that have been measured.

// Arms that have every task, where every task has a range.
void normalise_arms(int threads, StudyReport& report);

// Comparisons of the pairs, for both scores, where both arms have scores on tasks in common.
void compare_arms(const std::vector<std::pair<int, int>>& pairs, int threads, StudyReport& report);

inline constexpr std::size_t kMostPairs = 400;

// Pairs of arms with tasks in common: all of them, or where those are more than kMostPairs the ones
// with the first arm, with those that have the largest IQM, and those that report.lines need.
std::vector<std::pair<int, int>> choose_pairs(const StudyReport& report);

// The comparison of two arms, in whichever order, or of those whose runs they repeat; nullptr where
// there is none.
const ReportComparison* find_comparison(const StudyReport& report, int a, int b, ReportScore score);

// Tasks that both arms have.
std::vector<int> common_tasks(const StudyReport& report, int a, int b);

}  // namespace broadloom
