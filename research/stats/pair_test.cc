#include "research/stats/pair_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "broadloom/core/portable_math.h"
#include "research/stats/dealt_ranks.h"

namespace broadloom {
namespace {

constexpr double kChance = 1.0 - kConfidence;
// Beyond this many steps, counting takes longer than drawing.
constexpr double kMostSteps = 1e6;
// More deals do not change a decision between two sides.
constexpr int kMostDeals = 5000;

// Doubled ranks of both sides' runs on each task, the first side's runs first.
struct Dealt {
  std::size_t first = 0, all = 0;
  std::vector<std::vector<std::int64_t>> ranks;  // [tasks][all]
};

Dealt dealt(const Scores& x, const Scores& y) {
  Dealt sides{static_cast<std::size_t>(x.runs), static_cast<std::size_t>(x.runs + y.runs), {}};
  for (int task = 0; task < x.tasks; ++task) {
    std::vector<double> both;
    both.reserve(sides.all);
    for (int run = 0; run < x.runs; ++run) both.push_back(x.at(run, task));
    for (int run = 0; run < y.runs; ++run) both.push_back(y.at(run, task));
    sides.ranks.push_back(doubled_ranks(both));
  }
  return sides;
}

// Sum over tasks of the ranks of the first side.
std::int64_t first_sum(const Dealt& sides) {
  std::int64_t sum = 0;
  for (const std::vector<std::int64_t>& ranks : sides.ranks) {
    sum = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(sides.first),
                          sum);
  }
  return sum;
}

// The expected value of that sum: the mean of doubled ranks is n - 1.
std::int64_t mean_sum(const Dealt& sides) {
  return static_cast<std::int64_t>(sides.ranks.size() * sides.first * (sides.all - 1));
}

// Greatest common divisor of all ranks: 2 if there are no ties.
std::int64_t unit_of(const Dealt& sides) {
  std::int64_t unit = 0;
  for (const std::vector<std::int64_t>& ranks : sides.ranks) {
    for (const std::int64_t rank : ranks) unit = std::gcd(unit, rank);
  }
  return std::max<std::int64_t>(unit, 1);
}

// Number of choices that give each sum.
using Ways = std::vector<double>;

std::size_t largest_sum(std::vector<std::int64_t> ranks, std::size_t chosen, std::int64_t unit) {
  std::sort(ranks.rbegin(), ranks.rend());
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(chosen);
  return static_cast<std::size_t>(std::accumulate(ranks.begin(), end, std::int64_t{0}) / unit);
}

// Adds rank by rank, chosen or not.
Ways ways_of(const std::vector<std::int64_t>& ranks, std::size_t chosen, std::int64_t unit) {
  const std::size_t most = largest_sum(ranks, chosen, unit);
  std::vector<Ways> ways(chosen + 1, Ways(most + 1, 0.0));
  ways[0][0] = 1.0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks[i] / unit);
    for (std::size_t k = std::min(i + 1, chosen); k > 0; --k) {
      for (std::size_t sum = rank; sum <= most; ++sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  return ways[chosen];
}

// Scales by a power of two, so that no product overflows.
Ways near_one(Ways ways) {
  const int exponent = std::ilogb(std::accumulate(ways.begin(), ways.end(), 0.0));
  for (double& of_sum : ways) of_sum = std::ldexp(of_sum, -exponent);
  return ways;
}

Ways together(const Ways& a, const Ways& b) {
  Ways both(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0.0) continue;
    for (std::size_t j = 0; j < b.size(); ++j) both[i + j] += a[i] * b[j];
  }
  return both;
}

double steps_to_count(const Dealt& sides, std::int64_t unit) {
  double steps = 0.0, sums = 1.0;
  for (const std::vector<std::int64_t>& ranks : sides.ranks) {
    const auto most = static_cast<double>(largest_sum(ranks, sides.first, unit)) + 1.0;
    steps += static_cast<double>(sides.all * sides.first) * most;
    if (sums > 1.0) steps += sums * most;
    sums += most;
  }
  return steps;
}

double counted_chance(const Dealt& sides, std::int64_t unit) {
  Ways ways{1.0};
  for (const std::vector<std::int64_t>& ranks : sides.ranks) {
    ways = together(ways, near_one(ways_of(ranks, sides.first, unit)));
  }
  const std::int64_t mean = mean_sum(sides), found = std::abs(first_sum(sides) - mean);
  double all = 0.0, as_far = 0.0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    const auto doubled = static_cast<std::int64_t>(sum) * unit;
    if (std::abs(doubled - mean) >= found) as_far += ways[sum];
  }
  return as_far / all;
}

double drawn_chance(Dealt sides, const BootstrapOptions& options) {
  const std::int64_t mean = mean_sum(sides), found = std::abs(first_sum(sides) - mean);
  std::int64_t as_far = 0;
  for (int r = 0; r < options.replicates; ++r) {
    Random random = random_of_deal(options, r);
    for (std::vector<std::int64_t>& ranks : sides.ranks) deal(random, ranks);
    as_far += std::abs(first_sum(sides) - mean) >= found ? 1 : 0;
  }
  return static_cast<double>(as_far + 1) / static_cast<double>(options.replicates + 1);
}

int significantly_better(const Estimate& probability, const Scores& x, const Scores& y,
                         const BootstrapOptions& options) {
  if (!can_tell(x.runs, y.runs, x.tasks)) return 0;
  const int ahead = probability.low > 0.5 ? 1 : probability.high < 0.5 ? -1 : 0;
  if (ahead == 0) return 0;
  BootstrapOptions deals = options;
  deals.replicates = std::min(options.replicates, kMostDeals);
  return pair_test(x, y, deals) <= kChance ? ahead : 0;
}

}  // namespace

bool can_tell(int runs, int others, int tasks) {
  double ways = 1.0;  // C(runs + others, runs)
  for (int i = 1; i <= runs; ++i) ways *= static_cast<double>(others + i) / i;
  return 2.0 / portable::power(ways, tasks) <= kChance;
}

double pair_test(const Scores& x, const Scores& y, const BootstrapOptions& options) {
  const Dealt sides = x.runs <= y.runs ? dealt(x, y) : dealt(y, x);
  const std::int64_t unit = unit_of(sides);
  if (steps_to_count(sides, unit) <= kMostSteps) return counted_chance(sides, unit);
  return drawn_chance(sides, options);
}

int better_of(const Estimate& probability, const Scores& x, const Scores& y,
              const BootstrapOptions& options) {
  const int ahead = significantly_better(probability, x, y, options);
  return ahead != 0 && holds_for_candidates(ahead, x, y) ? ahead : 0;
}

bool hangs_on_choice(const Estimate& probability, const Scores& x, const Scores& y,
                     const BootstrapOptions& options) {
  if (x.tuned.empty() && y.tuned.empty()) return false;
  const int ahead = significantly_better(probability, x, y, options);
  return ahead != 0 && !holds_for_candidates(ahead, x, y);
}

}  // namespace broadloom
