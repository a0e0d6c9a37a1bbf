// Scores in ascending order, so that a replicate is a count for each of them and needs no sorting.
#pragma once

#include <cstdint>
#include <vector>

#include "research/stats/scores.h"

namespace broadloom {

// A bootstrap replicate draws the same n = runs * tasks numbers again and again. They are sorted
// once. A replicate is then the number of times that each was drawn. The interquartile mean is one
// pass over those counts.
class RankedScores {
 public:
  // Sorts: O(n log n). The scores must pass check_scores.
  explicit RankedScores(const Scores& scores);

  int runs() const { return runs_; }
  int tasks() const { return tasks_; }
  const std::vector<double>& sorted() const { return sorted_; }  // [n]

  // counts [n] of a replicate from draw_runs(); an empty `chosen` gives the scores themselves.
  void count(const std::vector<std::uint32_t>& chosen, std::vector<int>& counts) const;

  // means [tasks] of the same replicate, summed in the order drawn.
  void task_means(const std::vector<std::uint32_t>& chosen, std::vector<double>& means) const;

  // Mean of the n counted numbers without the floor(n / 4) smallest and largest: the 25 % trimmed
  // mean of SciPy's trim_mean and of rliable. O(n), without a branch.
  double iqm(const std::vector<int>& counts) const;

  // 1 - mean of min(score, 1).
  double optimality_gap(const std::vector<int>& counts) const;

 private:
  int runs_, tasks_;
  std::vector<double> sorted_;        // [n], ascending
  std::vector<std::uint32_t> ranks_;  // [tasks, runs]: index in sorted_ of a run's score
};

}  // namespace broadloom
