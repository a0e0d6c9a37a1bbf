#include "broadloom/stats/rank_test.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Of the streams of kBootstrap those that no sample of draw_runs has.
constexpr std::uint32_t kPermutations = 0xffff0000U;

// The ranks of all numbers, group after group, doubled so that they are whole with ties, too.
std::vector<std::int64_t> doubled_ranks(const std::vector<std::vector<double>>& groups) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::vector<double>& group : groups) {
    for (const double x : group) order.emplace_back(x, order.size());
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> ranks(order.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && order[last + 1].first == order[first].first) ++last;
    for (std::size_t i = first; i <= last; ++i) {
      ranks[order[i].second] = static_cast<std::int64_t>(first + last);
    }
    first = last + 1;
  }
  return ranks;
}

// What of Kruskal and Wallis's H depends on who is in which group: the sum over groups of (sum of
// ranks)^2 / size.
double apartness(const std::vector<std::int64_t>& ranks,
                 const std::vector<std::vector<double>>& groups) {
  double apart = 0.0;
  std::size_t at = 0;
  for (const std::vector<double>& group : groups) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < group.size(); ++i) sum += ranks[at++];
    apart +=
        static_cast<double>(sum) * static_cast<double>(sum) / static_cast<double>(group.size());
  }
  return apart;
}

}  // namespace

double rank_test(const std::vector<std::vector<double>>& groups, const BootstrapOptions& options) {
  std::vector<std::int64_t> ranks = doubled_ranks(groups);
  // Whole numbers over whole numbers: equal arrangements may differ in the last bits.
  const double found = apartness(ranks, groups) * (1.0 - 1e-12);
  std::int64_t as_far = 0;
  for (int r = 0; r < options.replicates; ++r) {
    Random random(options.seed, Purpose::kBootstrap, kPermutations, static_cast<std::uint64_t>(r));
    for (std::size_t i = ranks.size() - 1; i > 0; --i) {
      std::swap(ranks[i], ranks[random.below(static_cast<std::uint32_t>(i + 1))]);
    }
    as_far += apartness(ranks, groups) >= found ? 1 : 0;
  }
  return static_cast<double>(as_far + 1) / static_cast<double>(options.replicates + 1);
}

}  // namespace broadloom
