// Measures arms: normalised scores and comparisons of pairs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

// Both functions use report.replicates and need measured cells.

// Normalises arms that have every task, if every task has a range.
void normalise_arms(int threads, StudyReport& report);

// Compares the pairs by both scores on their common tasks.
void compare_arms(const std::vector<std::pair<int, int>>& pairs, int threads, StudyReport& report);

inline constexpr std::size_t kMostPairs = 400;

// Chooses the pairs of arms to compare. These are all pairs with common tasks, up to kMostPairs.
// Above that: pairs with the first arm, pairs with the arms of largest IQM, and pairs for
// report.lines.
std::vector<std::pair<int, int>> choose_pairs(const StudyReport& report);

// The comparison of two arms in either order, or of the arms whose runs they repeat; nullptr if
// there is none.
const ReportComparison* find_comparison(const StudyReport& report, int a, int b, ReportScore score);

// Tasks that both arms have.
std::vector<int> common_tasks(const StudyReport& report, int a, int b);

}  // namespace broadloom
