#include "research/stats/ranked_scores.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace broadloom {

RankedScores::RankedScores(const Scores& scores) : runs_(scores.runs), tasks_(scores.tasks) {
  const std::size_t n = scores.values.size();
  const auto tasks = static_cast<std::size_t>(tasks_);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return scores.values[a] < scores.values[b]; });
  sorted_.resize(n);
  ranks_.resize(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::size_t run = order[rank] / tasks, task = order[rank] % tasks;
    sorted_[rank] = scores.values[order[rank]];
    ranks_[task * static_cast<std::size_t>(runs_) + run] = static_cast<std::uint32_t>(rank);
  }
}

void RankedScores::count(const std::vector<std::uint32_t>& chosen, std::vector<int>& counts) const {
  counts.assign(sorted_.size(), chosen.empty() ? 1 : 0);
  const auto runs = static_cast<std::size_t>(runs_);
  for (std::size_t first = 0; first < chosen.size(); first += runs) {
    const std::uint32_t* ranks = &ranks_[first];
    for (std::size_t i = 0; i < runs; ++i) ++counts[ranks[chosen[first + i]]];
  }
}

void RankedScores::task_means(const std::vector<std::uint32_t>& chosen,
                              std::vector<double>& means) const {
  const auto runs = static_cast<std::size_t>(runs_);
  means.resize(static_cast<std::size_t>(tasks_));
  for (std::size_t task = 0; task < means.size(); ++task) {
    const std::uint32_t* ranks = &ranks_[task * runs];
    double sum = 0.0;
    for (std::size_t i = 0; i < runs; ++i) {
      sum += sorted_[ranks[chosen.empty() ? i : chosen[task * runs + i]]];
    }
    means[task] = sum / runs_;
  }
}

double RankedScores::iqm(const std::vector<int>& counts) const {
  const int n = static_cast<int>(sorted_.size());
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
  return 1.0 - sum / static_cast<double>(sorted_.size());
}

}  // namespace broadloom
