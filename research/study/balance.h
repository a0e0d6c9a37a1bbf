// Runs cut into parts that take equally long.
#pragma once

#include <cstdint>
#include <vector>

namespace broadloom {

// A run that is to be done, and what it is predicted to take.
struct PredictedRun {
  std::int64_t id = 0;
  double seconds = 0.0;
};

// What one job does, one run after another.
struct RunPart {
  std::vector<std::int64_t> runs;  // ascending
  double seconds = 0.0;            // predicted, of all of them
};

// The longest run first, each to the part that has least so far: the longest part takes at most
// 4/3 - 1/(3 count) of what the best cut would (Graham, Bounds on multiprocessing timing anomalies,
// SIAM Journal on Applied Mathematics 17, 1969). As many parts as asked for, or as there are runs;
// the same for the same runs in any order. count: at least 1. O(n log n).
std::vector<RunPart> balance(std::vector<PredictedRun> runs, std::size_t count);

// Of the longest part; 0 where there is none.
double longest_seconds(const std::vector<RunPart>& parts);

}  // namespace broadloom
