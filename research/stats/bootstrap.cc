#include "research/stats/bootstrap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "broadloom/core/random.h"
#include "broadloom/core/thread_pool.h"

namespace broadloom {
namespace {

constexpr int kChunk = 256;  // replicates per task of the thread pool

}  // namespace

Status check_bootstrap(const BootstrapOptions& options) {
  if (options.replicates >= 1 && options.threads >= 1) return {};
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("bootstrap with {} replicates on {} threads; expected at least 1 of "
                            "each ({} replicates are usual)",
                            options.replicates, options.threads, kPointReplicates));
}

void draw_runs(const BootstrapOptions& options, std::uint32_t sample, std::int64_t replicate,
               int runs, int tasks, std::vector<std::uint32_t>& chosen) {
  Random random(options.seed, Purpose::kBootstrap, sample, static_cast<std::uint64_t>(replicate));
  chosen.resize(static_cast<std::size_t>(runs) * static_cast<std::size_t>(tasks));
  for (std::uint32_t& run : chosen) run = random.below(static_cast<std::uint32_t>(runs));
}

std::vector<Estimate> percentile_intervals(const std::vector<double>& values, std::int64_t count,
                                           const BootstrapOptions& options,
                                           const Replicate& replicate) {
  const std::size_t width = values.size();
  const auto replicates = static_cast<std::size_t>(options.replicates);
  std::vector<std::vector<double>> drawn(width, std::vector<double>(replicates));
  const int chunks = (options.replicates + kChunk - 1) / kChunk;
  ThreadPool pool(std::min(options.threads, chunks));
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(pool.threads()),
                                        std::vector<double>(width));
  pool.run(chunks, [&](int chunk, int thread) {
    double* row = rows[static_cast<std::size_t>(thread)].data();
    const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
    for (std::size_t r = begin; r < std::min(begin + kChunk, replicates); ++r) {
      replicate(static_cast<std::int64_t>(r), thread, row);
      for (std::size_t w = 0; w < width; ++w) drawn[w][r] = row[w];
    }
  });
  std::vector<Estimate> estimates(width);
  pool.run(static_cast<int>(width), [&](int w) {
    const auto index = static_cast<std::size_t>(w);
    constexpr double kTail = (1.0 - kConfidence) / 2.0;
    estimates[index] = {values[index], quantile(drawn[index], kTail),
                        quantile(drawn[index], 1.0 - kTail), count};
  });
  return estimates;
}

double quantile(std::vector<double>& values, double share) {
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const auto low_place = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), low_place, values.end());
  const double part = position - static_cast<double>(below);
  if (part <= 0.0 || below + 1 >= values.size()) return *low_place;
  const double low = *low_place;
  const double high = *std::min_element(low_place + 1, values.end());
  return low + part * (high - low);
}

}  // namespace broadloom
