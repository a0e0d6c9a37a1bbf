// Scores in ascending order, so that a replicate is a count for each of them and needs no sorting.
#pragma once

#include <cstdint>
#include <vector>

#include "research/stats/scores.h"

namespace broadloom {

// A bootstrap replicate draws n = runs * tasks numbers from the same pools again and again. The
// pools are sorted once. A replicate is then the number of times that each number was drawn. The
// interquartile mean is one pass over those counts. A pool is a task's runs, or of a tuned arm its
// runs under all candidates (tuned_scores.h).
class RankedScores {
 public:
  // Sorts: O(n log n). The scores must pass check_scores.
  explicit RankedScores(const Scores& scores);

  int runs() const { return runs_; }
  int tasks() const { return tasks_; }
  const std::vector<double>& sorted() const { return sorted_; }  // of all pools, ascending

  // counts [sorted().size()] of a replicate, whose places in the pools are [tasks, runs] as of
  // choose_candidates(); an empty `chosen` gives the scores themselves.
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
  std::vector<double> sorted_;             // ascending
  std::vector<std::uint32_t> ranks_;       // pool after pool: index in sorted_ of a score
  std::vector<std::size_t> first_;         // [tasks] where each pool begins in ranks_
  std::vector<std::uint32_t> own_places_;  // [tasks, runs]
};

}  // namespace broadloom
