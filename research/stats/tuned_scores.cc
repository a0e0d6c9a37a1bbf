#include "research/stats/tuned_scores.h"

#include <algorithm>
#include <limits>

#include "broadloom/core/estimate.h"
#include "research/stats/pair_test.h"
#include "research/stats/scores.h"

namespace broadloom {
namespace {

// numbers: [count, seeds].
double mean_of(const Candidates& candidates, const std::vector<double>& numbers, int candidate) {
  double sum = 0.0;
  for (int seed = 0; seed < candidates.seeds; ++seed) {
    sum += numbers[candidates.place(candidate, seed)];
  }
  return sum / candidates.seeds;
}

// The numbers that the choice goes by.
Scores basis_of(const Candidates& candidates, int candidate) {
  const auto first =
      candidates.choosing().begin() + static_cast<std::ptrdiff_t>(candidate) * candidates.seeds;
  return {candidates.seeds, 1, {first, first + candidates.seeds}};
}

// The lowest (side = -1) or highest (1) mean over tasks that the candidates like the best allow.
double outer_mean(const Scores& scores, int side) {
  double sum = 0.0;
  for (int task = 0; task < scores.tasks; ++task) {
    if (scores.tuned.empty()) {
      double runs = 0.0;
      for (int run = 0; run < scores.runs; ++run) runs += scores.at(run, task);
      sum += runs / scores.runs;
      continue;
    }
    const Candidates& candidates = scores.tuned[static_cast<std::size_t>(task)];
    const std::vector<bool> like = like_the_best(candidates);
    double outer = mean_of(candidates, candidates.scores, best_candidate(candidates));
    for (int c = 0; c < candidates.count; ++c) {
      if (!like[static_cast<std::size_t>(c)]) continue;
      const double mean = mean_of(candidates, candidates.scores, c);
      outer = side > 0 ? std::max(outer, mean) : std::min(outer, mean);
    }
    sum += outer;
  }
  return sum / scores.tasks;
}

}  // namespace

std::vector<int> cross_fitted(const Candidates& candidates,
                              const std::vector<std::uint32_t>& drawn) {
  const auto seeds = static_cast<std::size_t>(candidates.seeds);
  const auto folds = static_cast<std::size_t>(std::min(candidates.seeds, kMostFolds));
  std::vector<double> times(seeds, drawn.empty() ? 1.0 : 0.0);
  for (const std::uint32_t seed : drawn) times[seed] += 1.0;
  std::vector<double> draws(folds, 0.0), sums(folds);
  for (std::size_t s = 0; s < seeds; ++s) draws[s % folds] += times[s];
  const auto all_draws = static_cast<double>(seeds);
  std::vector<double> highest(folds, -std::numeric_limits<double>::infinity());
  std::vector<int> by_fold(folds, 0);
  const std::vector<double>& choosing = candidates.choosing();
  for (int c = 0; c < candidates.count; ++c) {
    double total = 0.0;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t s = 0; s < seeds; ++s) {
      const double part = times[s] * choosing[candidates.place(c, static_cast<int>(s))];
      sums[s % folds] += part;
      total += part;
    }
    for (std::size_t f = 0; f < folds; ++f) {
      // If all draws are from one fold, that fold itself is the only basis.
      const bool alone = draws[f] >= all_draws;
      const double mean = alone ? total / all_draws : (total - sums[f]) / (all_draws - draws[f]);
      if (mean <= highest[f]) continue;
      highest[f] = mean;
      by_fold[f] = c;
    }
  }
  std::vector<int> chosen(seeds);
  for (std::size_t i = 0; i < seeds; ++i) {
    chosen[i] = by_fold[(drawn.empty() ? i : drawn[i]) % folds];
  }
  return chosen;
}

int best_candidate(const Candidates& candidates) {
  int best = 0;
  for (int c = 1; c < candidates.count; ++c) {
    const std::vector<double>& choosing = candidates.choosing();
    if (mean_of(candidates, choosing, c) > mean_of(candidates, choosing, best)) best = c;
  }
  return best;
}

std::vector<bool> like_the_best(const Candidates& candidates) {
  const int best = best_candidate(candidates);
  const Scores leading = basis_of(candidates, best);
  std::vector<bool> like(static_cast<std::size_t>(candidates.count), true);
  if (!can_tell(candidates.seeds, candidates.seeds, 1)) return like;
  for (int c = 0; c < candidates.count; ++c) {
    if (c == best) continue;
    const double chance = pair_test(leading, basis_of(candidates, c), {.replicates = 5000});
    like[static_cast<std::size_t>(c)] = chance > 1.0 - kConfidence;
  }
  return like;
}

std::vector<double> score_pool(const Scores& scores, int task) {
  if (!scores.tuned.empty()) return scores.tuned[static_cast<std::size_t>(task)].scores;
  std::vector<double> pool;
  pool.reserve(static_cast<std::size_t>(scores.runs));
  for (int run = 0; run < scores.runs; ++run) pool.push_back(scores.at(run, task));
  return pool;
}

std::vector<std::uint32_t> own_places(const Scores& scores) {
  std::vector<std::uint32_t> places;
  for (int task = 0; task < scores.tasks; ++task) {
    for (int run = 0; run < scores.runs; ++run) places.push_back(static_cast<std::uint32_t>(run));
  }
  choose_candidates(scores, places);
  return places;
}

void choose_candidates(const Scores& scores, std::vector<std::uint32_t>& chosen) {
  if (scores.tuned.empty()) return;
  const auto runs = static_cast<std::size_t>(scores.runs);
  std::vector<std::uint32_t> drawn(runs);
  for (std::size_t task = 0; task < scores.tuned.size(); ++task) {
    const auto first = chosen.begin() + static_cast<std::ptrdiff_t>(task * runs);
    std::copy_n(first, runs, drawn.begin());
    const std::vector<int> candidates = cross_fitted(scores.tuned[task], drawn);
    for (std::size_t i = 0; i < runs; ++i) {
      first[static_cast<std::ptrdiff_t>(i)] =
          static_cast<std::uint32_t>(candidates[i]) * static_cast<std::uint32_t>(runs) + drawn[i];
    }
  }
}

bool holds_for_candidates(int ahead, const Scores& x, const Scores& y) {
  if (x.tuned.empty() && y.tuned.empty()) return true;
  return ahead > 0 ? outer_mean(x, -1) > outer_mean(y, 1) : outer_mean(x, 1) < outer_mean(y, -1);
}

}  // namespace broadloom
