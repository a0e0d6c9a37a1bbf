// Scores of an arm whose setting, such as the learning rate, is chosen among candidates.
//
// A choice and its score must not come from the same runs: the best of several averages is too high
// by chance, the more so the fewer the runs. Here the choice is cross-fitted. The seeds are dealt
// to folds, at most five. For each fold the candidate with the highest mean over the other folds'
// seeds is chosen, and the fold's seeds are scored with it. Every seed chooses and every seed is
// scored, never for itself. A bootstrap replicate draws seeds and chooses anew, so that intervals
// hold the uncertainty of the choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadloom {

inline constexpr int kMostFolds = 5;

// One task's scores under each candidate.
struct Candidates {
  int count = 0;               // candidates, in the order of the study
  int seeds = 0;               // at least 2
  std::vector<double> scores;  // [count, seeds], finite

  double score(int candidate, int seed) const {
    return scores[static_cast<std::size_t>(candidate) * static_cast<std::size_t>(seeds) +
                  static_cast<std::size_t>(seed)];
  }
};

// The candidate for each drawn seed. drawn: [seeds], with repeats; empty: each seed once. The first
// of equal means wins. Cost: O(count * seeds).
std::vector<int> cross_fitted(const Candidates& candidates,
                              const std::vector<std::uint32_t>& drawn = {});

// The candidate with the highest mean over all seeds.
int best_candidate(const Candidates& candidates);

// Marks the candidates without a significant difference from the best one at 5 %, by the pair test,
// and the best itself. With too few seeds for a difference, marks all.
std::vector<bool> like_the_best(const Candidates& candidates);

struct Scores;

// One task's scores from which replicates draw: [runs], or [count, runs] if tuned.
std::vector<double> score_pool(const Scores& scores, int task);
// The places in the pools of the scores themselves, [tasks, runs].
std::vector<std::uint32_t> own_places(const Scores& scores);
// From drawn runs, [tasks, runs] as of draw_runs(), to places in the pools.
void choose_candidates(const Scores& scores, std::vector<std::uint32_t>& chosen);

// Whether x is better (ahead = 1) or worse (-1) than y in the mean over tasks whichever of the
// candidates are taken that are like their best ones. True where neither is tuned.
bool holds_for_candidates(int ahead, const Scores& x, const Scores& y);

}  // namespace broadloom
