#include "research/stats/dealt_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace broadloom {
namespace {

// Streams of kBootstrap that no sample of draw_runs() uses.
constexpr std::uint32_t kPermutations = 0xffff0000U;

}  // namespace

std::vector<std::int64_t> doubled_ranks(const std::vector<double>& numbers) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(numbers.size());
  for (const double x : numbers) order.emplace_back(x, order.size());
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

Random random_of_deal(const BootstrapOptions& options, int replicate) {
  return Random(options.seed, Purpose::kBootstrap, kPermutations,
                static_cast<std::uint64_t>(replicate));
}

void deal(Random& random, std::vector<std::int64_t>& ranks) {
  for (std::size_t i = ranks.size() - 1; i > 0; --i) {
    std::swap(ranks[i], ranks[random.below(static_cast<std::uint32_t>(i + 1))]);
  }
}

}  // namespace broadloom
