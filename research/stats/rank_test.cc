#include "research/stats/rank_test.h"

#include <cstddef>
#include <cstdint>

#include "research/stats/dealt_ranks.h"
#include "research/stats/pair_test.h"

namespace broadloom {
namespace {

// The part of Kruskal and Wallis's H that depends on the groups: the sum over groups of (sum of
// ranks)^2 / size.
double rank_spread(const std::vector<std::int64_t>& ranks,
                   const std::vector<std::vector<double>>& groups) {
  double spread = 0.0;
  std::size_t place = 0;
  for (const std::vector<double>& group : groups) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < group.size(); ++i) sum += ranks[place++];
    spread +=
        static_cast<double>(sum) * static_cast<double>(sum) / static_cast<double>(group.size());
  }
  return spread;
}

Scores on_one_task(const std::vector<double>& group) {
  return {static_cast<int>(group.size()), 1, group};
}

}  // namespace

double rank_test(const std::vector<std::vector<double>>& groups, const BootstrapOptions& options) {
  if (groups.size() == 2) {
    return pair_test(on_one_task(groups[0]), on_one_task(groups[1]), options);
  }
  std::vector<double> all;
  for (const std::vector<double>& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::vector<std::int64_t> ranks = doubled_ranks(all);
  // Tolerance: sums of quotients, so equal arrangements may differ in the last bits.
  const double found = rank_spread(ranks, groups) * (1.0 - 1e-12);
  std::int64_t as_far = 0;
  for (int r = 0; r < options.replicates; ++r) {
    Random random = random_of_deal(options, r);
    deal(random, ranks);
    as_far += rank_spread(ranks, groups) >= found ? 1 : 0;
  }
  return static_cast<double>(as_far + 1) / static_cast<double>(options.replicates + 1);
}

}  // namespace broadloom
