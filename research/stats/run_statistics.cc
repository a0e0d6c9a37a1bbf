#include "research/stats/run_statistics.h"

#include <cstddef>

#include "research/stats/ranked_scores.h"

namespace broadloom {
namespace {

struct RunScratch {
  std::vector<std::uint32_t> chosen;  // [runs]; empty: each once
  std::vector<int> counts;            // [runs]
  std::vector<double> means;          // [1]
};

// The number at a place of the drawn runs in ascending order.
double drawn_at(const RankedScores& ranked, const std::vector<int>& counts, int place) {
  std::size_t rank = 0;
  for (int seen = counts[0]; seen <= place; seen += counts[rank]) ++rank;
  return ranked.sorted()[rank];
}

// out: iqm, mean, median.
void write_statistics(const RankedScores& ranked, RunScratch& scratch, double* out) {
  const int n = ranked.runs();
  ranked.count(scratch.chosen, scratch.counts);
  ranked.task_means(scratch.chosen, scratch.means);
  out[0] = ranked.iqm(scratch.counts);
  out[1] = scratch.means[0];
  out[2] = 0.5 * (drawn_at(ranked, scratch.counts, (n - 1) / 2) +
                  drawn_at(ranked, scratch.counts, n / 2));
}

}  // namespace

RunStatistics run_statistics(const std::vector<double>& values, const BootstrapOptions& options) {
  return score_statistics({static_cast<int>(values.size()), 1, values}, options);
}

RunStatistics score_statistics(const Scores& scores, const BootstrapOptions& options) {
  const RankedScores ranked(scores);
  std::vector<RunScratch> scratch(static_cast<std::size_t>(options.threads));
  std::vector<double> all(3);
  write_statistics(ranked, scratch[0], all.data());
  const auto count = static_cast<std::int64_t>(scores.runs);
  if (count < 2) {
    return {without_interval(all[0], count), without_interval(all[1], count),
            without_interval(all[2], count)};
  }
  const std::vector<Estimate> estimates = percentile_intervals(
      all, count, options, [&](std::int64_t replicate, int thread, double* out) {
        RunScratch& mine = scratch[static_cast<std::size_t>(thread)];
        draw_runs(options, 0, replicate, ranked.runs(), 1, mine.chosen);
        choose_candidates(scores, mine.chosen);
        write_statistics(ranked, mine, out);
      });
  return {estimates[0], estimates[1], estimates[2]};
}

std::vector<double> iqm_draws(const Scores& scores, const BootstrapOptions& options,
                              std::uint32_t sample) {
  const RankedScores ranked(scores);
  RunScratch scratch;
  std::vector<double> draws;
  draws.reserve(static_cast<std::size_t>(options.replicates));
  for (int r = 0; r < options.replicates; ++r) {
    draw_runs(options, sample, r, ranked.runs(), 1, scratch.chosen);
    choose_candidates(scores, scratch.chosen);
    ranked.count(scratch.chosen, scratch.counts);
    draws.push_back(ranked.iqm(scratch.counts));
  }
  return draws;
}

}  // namespace broadloom
