// The stratified bootstrap (Efron 1979; Agarwal et al. 2021): the runs of each replicate, and
// intervals from many replicates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"

namespace broadloom {

// For single numbers, and for bands that are drawn but seldom read off. Both are rliable's
// defaults.
inline constexpr int kPointReplicates = 50000;
inline constexpr int kBandReplicates = 2000;

struct BootstrapOptions {
  int replicates = kPointReplicates;
  std::uint64_t seed = 1;
  int threads = 1;  // results do not depend on it
};

// kInvalidConfig for fewer than one replicate or thread.
Status check_bootstrap(const BootstrapOptions& options);

// The runs that replicate `replicate` draws: chosen[task * runs + i] in [0, runs). Draws are
// uniform, with replacement, and independent for each task (the strata). The result depends only on
// the arguments.
//
// sample: 0, 1, ... for samples that are drawn independently. chosen: [tasks, runs]. Cost: one
// random word per run and task.
void draw_runs(const BootstrapOptions& options, std::uint32_t sample, std::int64_t replicate,
               int runs, int tasks, std::vector<std::uint32_t>& chosen);

// Computes replicate `replicate`: writes `width` numbers to out. Called on several threads at once;
// `thread` is 0 to options.threads - 1, for scratch memory.
using Replicate = std::function<void(std::int64_t replicate, int thread, double* out)>;

// values[w] with the percentile interval of `width` statistics, each over all replicates; width is
// that of values. Cost: the replicates, two selections from each of the `width` lists, and width *
// replicates doubles of memory.
std::vector<Estimate> percentile_intervals(const std::vector<double>& values, std::int64_t count,
                                           const BootstrapOptions& options,
                                           const Replicate& replicate);

// The quantile at `share` in [0, 1], with linear interpolation between order statistics (definition
// 7 of Hyndman and Fan 1996, NumPy's default). Reorders values, which must not be empty.
double quantile(std::vector<double>& values, double share);

}  // namespace broadloom
