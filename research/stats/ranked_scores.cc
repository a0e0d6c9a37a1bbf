#include "research/stats/ranked_scores.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace broadloom {

RankedScores::RankedScores(const Scores& scores)
    : runs_(scores.runs), tasks_(scores.tasks), own_places_(own_places(scores)) {
  std::vector<double> all;
  for (int task = 0; task < tasks_; ++task) {
    first_.push_back(all.size());
    const std::vector<double> pool = score_pool(scores, task);
    all.insert(all.end(), pool.begin(), pool.end());
  }
  std::vector<std::uint32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return all[a] < all[b]; });
  sorted_.resize(all.size());
  ranks_.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    sorted_[rank] = all[order[rank]];
    ranks_[order[rank]] = static_cast<std::uint32_t>(rank);
  }
}

void RankedScores::count(const std::vector<std::uint32_t>& chosen, std::vector<int>& counts) const {
  const std::vector<std::uint32_t>& places = chosen.empty() ? own_places_ : chosen;
  counts.assign(sorted_.size(), 0);
  const auto runs = static_cast<std::size_t>(runs_);
  for (std::size_t task = 0; task < first_.size(); ++task) {
    const std::uint32_t* const ranks = &ranks_[first_[task]];
    const std::uint32_t* const drawn = &places[task * runs];
    for (std::size_t i = 0; i < runs; ++i) ++counts[ranks[drawn[i]]];
  }
}

void RankedScores::task_means(const std::vector<std::uint32_t>& chosen,
                              std::vector<double>& means) const {
  const std::vector<std::uint32_t>& places = chosen.empty() ? own_places_ : chosen;
  const auto runs = static_cast<std::size_t>(runs_);
  means.resize(first_.size());
  for (std::size_t task = 0; task < means.size(); ++task) {
    const std::uint32_t* const ranks = &ranks_[first_[task]];
    double sum = 0.0;
    for (std::size_t i = 0; i < runs; ++i) sum += sorted_[ranks[places[task * runs + i]]];
    means[task] = sum / runs_;
  }
}

double RankedScores::iqm(const std::vector<int>& counts) const {
  const int n = runs_ * tasks_;
  const int low = n / 4, high = n - low;
  double sum = 0.0;
  int seen = 0, kept = low;  // kept: `seen`, clamped to [low, high]
  for (std::size_t rank = 0; rank < sorted_.size(); ++rank) {
    seen += counts[rank];
    const int now = std::clamp(seen, low, high);
    sum += sorted_[rank] * (now - kept);
    kept = now;
  }
  return sum / (high - low);
}

double RankedScores::optimality_gap(const std::vector<int>& counts) const {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < sorted_.size(); ++rank) {
    sum += std::min(sorted_[rank], 1.0) * counts[rank];
  }
  return 1.0 - sum / (static_cast<double>(runs_) * tasks_);
}

}  // namespace broadloom
