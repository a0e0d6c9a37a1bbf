#include "research/stats/statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "research/stats/ranked_scores.h"

namespace broadloom {
namespace {

struct AggregateScratch {
  std::vector<std::uint32_t> chosen;  // [tasks, runs]
  std::vector<int> counts;            // [runs * tasks]
  std::vector<double> means;          // [tasks]
};

// The mean of the two middle values if their number is even.
double median_of(std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// out: iqm, median, mean, optimality gap of the runs in scratch.chosen.
void write_aggregates(const RankedScores& ranked, AggregateScratch& scratch, double* out) {
  ranked.count(scratch.chosen, scratch.counts);
  ranked.task_means(scratch.chosen, scratch.means);
  out[0] = ranked.iqm(scratch.counts);
  out[2] = std::accumulate(scratch.means.begin(), scratch.means.end(), 0.0) / ranked.tasks();
  out[1] = median_of(scratch.means);  // after the sum, because it reorders the means
  out[3] = ranked.optimality_gap(scratch.counts);
}

// Positions of one side's pool in each task's merged order. Equal scores share a position, so the
// counts show ties.
struct Places {
  int runs = 0;
  std::vector<std::vector<std::uint32_t>> pools;  // [tasks][pool], below `size`
  std::vector<std::uint32_t> own;  // [tasks, runs]: places of the scores in the pools
};

struct Comparison {
  int tasks = 0;
  std::size_t size = 0;  // positions of a task at most: both pools
  Places x, y;
};

Places places_of(const Scores& scores) { return {scores.runs, {}, own_places(scores)}; }

void place_pool(const std::vector<double>& pool, const std::vector<double>& merged, Places& out) {
  out.pools.emplace_back();
  for (const double score : pool) {
    const auto place = std::lower_bound(merged.begin(), merged.end(), score);
    out.pools.back().push_back(static_cast<std::uint32_t>(place - merged.begin()));
  }
}

Comparison make_comparison(const Scores& x, const Scores& y) {
  Comparison comparison{x.tasks, 0, places_of(x), places_of(y)};
  for (int task = 0; task < x.tasks; ++task) {
    const std::vector<double> of_x = score_pool(x, task), of_y = score_pool(y, task);
    std::vector<double> merged = of_x;
    merged.insert(merged.end(), of_y.begin(), of_y.end());
    std::sort(merged.begin(), merged.end());
    place_pool(of_x, merged, comparison.x);
    place_pool(of_y, merged, comparison.y);
    comparison.size = std::max(comparison.size, merged.size());
  }
  return comparison;
}

struct ComparisonScratch {
  std::vector<std::uint32_t> x, y;    // places in the pools, [tasks, runs]; empty: the scores
  std::vector<int> x_count, y_count;  // [size] of one task
};

void count_places(const Places& places, const std::vector<std::uint32_t>& chosen, int task,
                  std::size_t size, std::vector<int>& counts) {
  counts.assign(size, 0);
  const std::vector<std::uint32_t>& drawn = chosen.empty() ? places.own : chosen;
  const std::vector<std::uint32_t>& positions = places.pools[static_cast<std::size_t>(task)];
  const auto runs = static_cast<std::size_t>(places.runs);
  const std::size_t first = static_cast<std::size_t>(task) * runs;
  for (std::size_t i = 0; i < runs; ++i) ++counts[positions[drawn[first + i]]];
}

double improvement(const Comparison& comparison, ComparisonScratch& scratch) {
  const double pairs = static_cast<double>(comparison.x.runs) * comparison.y.runs;
  double sum = 0.0;
  for (int task = 0; task < comparison.tasks; ++task) {
    count_places(comparison.x, scratch.x, task, comparison.size, scratch.x_count);
    count_places(comparison.y, scratch.y, task, comparison.size, scratch.y_count);
    std::int64_t twice_u = 0, below = 0;
    for (std::size_t place = 0; place < comparison.size; ++place) {
      twice_u += scratch.x_count[place] * (2 * below + scratch.y_count[place]);
      below += scratch.y_count[place];
    }
    sum += static_cast<double>(twice_u) / (2.0 * pairs);
  }
  return sum / comparison.tasks;
}

}  // namespace

Result<Aggregates> aggregate(const Scores& scores, const BootstrapOptions& options) {
  BROADLOOM_TRY(check_scores(scores));
  BROADLOOM_TRY(check_bootstrap(options));
  const RankedScores ranked(scores);
  std::vector<AggregateScratch> scratch(static_cast<std::size_t>(options.threads));
  std::vector<double> values(4);
  write_aggregates(ranked, scratch[0], values.data());
  const auto count = static_cast<std::int64_t>(scores.values.size());
  if (scores.runs < 2) {
    return Aggregates{without_interval(values[0], count), without_interval(values[1], count),
                      without_interval(values[2], count), without_interval(values[3], count)};
  }
  const std::vector<Estimate> all = percentile_intervals(
      values, count, options, [&](std::int64_t replicate, int thread, double* out) {
        AggregateScratch& mine = scratch[static_cast<std::size_t>(thread)];
        draw_runs(options, 0, replicate, scores.runs, scores.tasks, mine.chosen);
        choose_candidates(scores, mine.chosen);
        write_aggregates(ranked, mine, out);
      });
  return Aggregates{all[0], all[1], all[2], all[3]};
}

double interquartile_mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const RankedScores ranked({static_cast<int>(values.size()), 1, values});
  std::vector<int> counts;
  ranked.count({}, counts);
  return ranked.iqm(counts);
}

Result<Estimate> probability_of_improvement(const Scores& x, const Scores& y,
                                            const BootstrapOptions& options) {
  BROADLOOM_TRY(check_scores(x));
  BROADLOOM_TRY(check_scores(y));
  BROADLOOM_TRY(check_bootstrap(options));
  if (x.tasks != y.tasks) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("scores of {} tasks beside scores of {}; expected the same tasks in "
                              "the same order",
                              x.tasks, y.tasks));
  }
  const Comparison comparison = make_comparison(x, y);
  std::vector<ComparisonScratch> scratch(static_cast<std::size_t>(options.threads));
  const double value = improvement(comparison, scratch[0]);
  const std::int64_t pairs = static_cast<std::int64_t>(x.runs) * y.runs * x.tasks;
  if (x.runs < 2 || y.runs < 2) return without_interval(value, pairs);
  return percentile_intervals({value}, pairs, options,
                              [&](std::int64_t replicate, int thread, double* out) {
                                ComparisonScratch& mine = scratch[static_cast<std::size_t>(thread)];
                                draw_runs(options, 0, replicate, x.runs, x.tasks, mine.x);
                                draw_runs(options, 1, replicate, y.runs, y.tasks, mine.y);
                                choose_candidates(x, mine.x);
                                choose_candidates(y, mine.y);
                                *out = improvement(comparison, mine);
                              })[0];
}

}  // namespace broadloom
