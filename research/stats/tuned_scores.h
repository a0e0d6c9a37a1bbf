// Scores of an arm (a compared group of runs) for which a setting, such as the learning rate, is
// chosen among candidates.
//
// A choice and its score must not come from the same runs: the best of several averages is too high
// by chance, the more so the fewer the runs. Here the choice is cross-fitted. The seeds are dealt
// to folds, at most five. For each fold the candidate with the highest mean over the other folds'
// seeds is chosen, and the fold's seeds are scored with it. Every seed has a score, and helps to
// choose for the other folds only. A bootstrap replicate draws seeds and chooses anew, so that
// intervals include the uncertainty of the choice.
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
  // [count, seeds], finite: what the choice goes by, if not by the scores themselves.
  std::vector<double> basis{};

  std::size_t place(int candidate, int seed) const {
    return static_cast<std::size_t>(candidate) * static_cast<std::size_t>(seeds) +
           static_cast<std::size_t>(seed);
  }
  double score(int candidate, int seed) const { return scores[place(candidate, seed)]; }
  const std::vector<double>& choosing() const { return basis.empty() ? scores : basis; }
};

// The candidate for each drawn seed. drawn: [seeds], with repeats; empty: each seed once. The first
// of equal means wins. Cost: O(count * seeds).
std::vector<int> cross_fitted(const Candidates& candidates,
                              const std::vector<std::uint32_t>& drawn = {});

// The candidate with the highest mean over all seeds, of what the choice goes by.
int best_candidate(const Candidates& candidates);

// Marks the best candidate and those without a significant difference from it at 5 % (pair_test.h).
// With too few seeds for a difference, marks all.
std::vector<bool> like_the_best(const Candidates& candidates);

struct Scores;

// One task's scores from which replicates draw: [runs], or [count, runs] if tuned.
std::vector<double> score_pool(const Scores& scores, int task);
// Indices into score_pool() of the scores as reported, without resampling, [tasks, runs].
std::vector<std::uint32_t> own_places(const Scores& scores);
// Replaces drawn runs, [tasks, runs] from draw_runs(), by indices into score_pool(). Changes
// nothing if nothing is tuned.
void choose_candidates(const Scores& scores, std::vector<std::uint32_t>& chosen);

// Whether x has a higher (ahead = 1) or lower (-1) mean over tasks than y for every choice among
// the candidates that like_the_best() marks. True if neither is tuned.
bool holds_for_candidates(int ahead, const Scores& x, const Scores& y);

}  // namespace broadloom
