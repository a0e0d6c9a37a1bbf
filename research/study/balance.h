// Divides runs into parts of nearly equal predicted time.
#pragma once

#include <cstdint>
#include <vector>

namespace broadloom {

// A run still to train.
struct PredictedRun {
  std::int64_t id = 0;
  double seconds = 0.0;  // predicted
};

// The runs that one job trains, one after another.
struct RunPart {
  std::vector<std::int64_t> runs;  // ascending
  double seconds = 0.0;            // predicted, for all its runs
};

// Takes the longest run first and gives it to the part with the least time so far. The longest part
// takes at most 4/3 - 1/(3 count) times that of the best division (Graham, Bounds on
// multiprocessing timing anomalies, SIAM Journal on Applied Mathematics 17, 1969). Returns `count`
// parts, or one a run if there are fewer runs; the order of `runs` does not matter. count: at least
// 1. O(n log n).
std::vector<RunPart> balance(std::vector<PredictedRun> runs, std::size_t count);

// Predicted seconds of the longest part; 0 without parts.
double longest_seconds(const std::vector<RunPart>& parts);

}  // namespace broadloom
