// Scores of several runs on several tasks, from which a study's statistics are computed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "research/stats/tuned_scores.h"

namespace broadloom {

// One number per run and task, usually a normalised return. Every task must have the same number of
// runs. The interquartile mean pools all numbers, so a task that lost runs would weigh less,
// unnoticed.
struct Scores {
  int runs = 0;
  int tasks = 0;
  std::vector<double> values{};  // [runs, tasks]
  // [tasks] of a tuned arm: what each run's score was chosen from; empty otherwise. make_tuned()
  // fills both.
  std::vector<Candidates> tuned{};

  double at(int run, int task) const {
    return values[static_cast<std::size_t>(run) * static_cast<std::size_t>(tasks) +
                  static_cast<std::size_t>(task)];
  }
};

// Scores from one list of runs per task; by_task[m][n] becomes run n of task m. kMismatch if the
// lists differ in length. kInvalidConfig and kNumeric as check_scores.
Result<Scores> make_scores(const std::vector<std::vector<double>>& by_task);

// The cross-fitted scores of a tuned arm, one task each; all have the same number of seeds.
// kMismatch, kInvalidConfig and kNumeric as above.
Result<Scores> make_tuned(std::vector<Candidates> by_task);

// kInvalidConfig if there is no run or no task. kMismatch if `values` is not [runs, tasks].
// kNumeric if a score is not finite.
Status check_scores(const Scores& scores);

// (score - random) / (reference - random): 0 is the score of random actions, 1 the environment's
// reference score (EnvSpec::random_score, reference_score). kInvalidConfig if it has none, as with
// options other than the defaults or another time limit.
Result<double> normalised_score(const EnvSpec& spec, double score);

// The same for all scores; task m uses specs[m]. kMismatch if their numbers differ. Other errors as
// normalised_score and check_scores.
Result<Scores> normalised(const Scores& scores, const std::vector<EnvSpec>& specs);

}  // namespace broadloom
