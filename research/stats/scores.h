// Scores of several runs on several tasks: what the statistics of a study are made from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// One number for each run of each task, usually a normalised return. Every task has as many runs:
// the interquartile mean pools all numbers, so with other counts a task that lost runs would weigh
// less, and nobody would see it.
struct Scores {
  int runs = 0;
  int tasks = 0;
  std::vector<double> values;  // [runs, tasks]

  double at(int run, int task) const {
    return values[static_cast<std::size_t>(run) * static_cast<std::size_t>(tasks) +
                  static_cast<std::size_t>(task)];
  }
};

// Scores from one list of runs a task; by_task[m][n] becomes run n of task m. kMismatch where the
// lists differ in length, kInvalidConfig and kNumeric as check_scores.
Result<Scores> make_scores(const std::vector<std::vector<double>>& by_task);

// kInvalidConfig where there is no run or no task, kMismatch where `values` is not [runs, tasks],
// kNumeric where a score is not finite.
Status check_scores(const Scores& scores);

// (score - random) / (reference - random): 0 is what random actions get, 1 the reference score of
// the environment (EnvSpec::random_score, reference_score). kInvalidConfig where it has none, as
// with options other than the defaults or another time limit.
Result<double> normalised_score(const EnvSpec& spec, double score);

// The same for all; task m is of environment specs[m]. kMismatch where their numbers differ, other
// errors as normalised_score and check_scores.
Result<Scores> normalised(const Scores& scores, const std::vector<EnvSpec>& specs);

}  // namespace broadloom
