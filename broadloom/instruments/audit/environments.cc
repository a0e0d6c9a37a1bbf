#include "broadloom/instruments/audit/environments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/core/hash.h"
#include "broadloom/instruments/audit/learning_signal.h"

namespace broadloom {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// One multiplication and one shift per word, as in SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_of(const float* row, int width) {
  return hash64(std::as_bytes(std::span(row, static_cast<std::size_t>(width))));
}

// Counts the environments of a run of equal fingerprints, sorted by family.
void count_run(std::span<const Fingerprint> run, double& across, double& same_family) {
  const bool families = run.front().family != run.back().family;
  if (families) across += static_cast<double>(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) {
    const bool before = i > 0 && run[i - 1].family == run[i].family;
    const bool after = i + 1 < run.size() && run[i + 1].family == run[i].family;
    same_family += before || after ? 1.0 : 0.0;
  }
}

// Share of the pairs of numbers that are equal. Needs at least two numbers, each equal to itself
// (no NaN). Sorts them in place.
template <class Number>
double equal_pairs(std::span<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const double count = static_cast<double>(numbers.size());
  double pairs = 0.0;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[begin]) ++end;
    const double alike = static_cast<double>(end - begin);
    pairs += alike * (alike - 1.0);
  }
  return pairs / (count * (count - 1.0));
}

}  // namespace

double phase_concentration(std::span<std::int64_t> ages, std::int64_t steps) {
  const std::size_t envs = ages.size();
  const auto ended =
      std::count_if(ages.begin(), ages.end(), [steps](std::int64_t age) { return age < steps; });
  if (envs < 2 || 4 * ended < 3 * static_cast<std::ptrdiff_t>(envs)) return kNone;
  return equal_pairs(ages);
}

void column_fingerprints(const RolloutBlock& block, int families, std::span<Fingerprint> prints) {
  for (int n = 0; n < block.N; ++n) prints[n] = {0, n % families};
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::uint64_t& hash = prints[i % static_cast<std::size_t>(block.N)].hash;
    hash = mixed(hash, hash64(block.observations.row_bytes(i)));
    hash = mixed(hash, hash_of(&block.actions[i * block.A], block.A));
    hash = mixed(hash, hash_of(&block.rewards[i], 1));
  }
}

Copies count_copies(std::span<Fingerprint> prints) {
  std::sort(prints.begin(), prints.end(), [](const Fingerprint& a, const Fingerprint& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.family < b.family;
  });
  Copies copies;
  for (std::size_t begin = 0, end = 0; begin < prints.size(); begin = end) {
    while (end < prints.size() && prints[end].hash == prints[begin].hash) ++end;
    count_run(prints.subspan(begin, end - begin), copies.across, copies.same_family);
  }
  copies.across /= static_cast<double>(prints.size());
  copies.same_family /= static_cast<double>(prints.size());
  return copies;
}

double share_seen(std::span<const Fingerprint> evaluation, std::span<Fingerprint> training) {
  const auto less = [](const Fingerprint& a, const Fingerprint& b) { return a.hash < b.hash; };
  std::sort(training.begin(), training.end(), less);
  const auto seen = std::count_if(evaluation.begin(), evaluation.end(), [&](const Fingerprint& e) {
    return std::binary_search(training.begin(), training.end(), e, less);
  });
  return static_cast<double>(seen) / static_cast<double>(evaluation.size());
}

double effective_share(const RolloutBlock& block, double gamma, TruncationMode mode) {
  if (block.T < 8 || block.N < 2) return kNone;
  const double envs = block.N;
  double sum = 0.0, means_squared = 0.0, within = 0.0;  // over steps
  for (int t = 0; t < block.T; ++t) {
    double row = 0.0, squares = 0.0;
    for (int n = 0; n < block.N; ++n) {
      const double error = td_error(block, t, n, gamma, mode);
      row += error;
      squares += error * error;
    }
    const double mean = row / envs;
    sum += mean;
    means_squared += mean * mean;
    within += std::max(0.0, squares - row * mean);
  }
  const double between = std::max(0.0, means_squared - sum * sum / block.T);
  const double msb = envs * between / (block.T - 1.0);
  const double msw = within / (block.T * (envs - 1.0));
  if (!(msb + msw > 0.0)) return kNone;
  // N_eff / N = MSW / MSB if MSB is the larger, because 1 + (N - 1) rho = N MSB / (MSB + (N - 1)
  // MSW).
  return std::min(1.0, (msb + (envs - 1.0) * msw) / (envs * msb));
}

Draws compare_draws(const RolloutBlock& block, std::span<const std::uint64_t> before,
                    std::span<const std::uint64_t> now, std::span<Fingerprint> scratch) {
  const std::size_t families = scratch.size();
  for (std::size_t f = 0; f < families; ++f) scratch[f] = {now[f], static_cast<int>(f)};
  Draws draws;
  draws.distinct = families > 1 ? 1.0 - count_copies(scratch).across : kNone;
  double began = 0.0, kept = 0.0;
  for (int n = 0; n < block.N; ++n) {
    bool ended = false;
    for (int t = 0; t < block.T && !ended; ++t) {
      const std::size_t i = block.index(t, n);
      ended = (block.terminated[i] | block.truncated[i]) != 0;
    }
    if (!ended) continue;
    began += 1.0;
    kept += now[n] == before[n] ? 1.0 : 0.0;
  }
  draws.kept = began > 0.0 ? kept / began : kNone;
  return draws;
}

SharedContext shared_context(const EnvSpec& spec, std::span<double> values) {
  SharedContext worst{kNone, 0};
  const std::vector<ContextRange>& ranges = spec.context;
  const std::size_t envs = ranges.empty() ? 0 : values.size() / ranges.size();
  if (envs < 2) return worst;
  const auto varies = [](const auto& range) { return range.low < range.high; };
  const bool commanded = std::any_of(spec.commands.begin(), spec.commands.end(), varies);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool command = std::any_of(spec.commands.begin(), spec.commands.end(),
                                     [&](const auto& one) { return one.name == ranges[i].name; });
    if (!varies(ranges[i]) && (commanded || !command)) continue;
    const std::span<double> given = values.subspan(i * envs, envs);
    if (!std::all_of(given.begin(), given.end(), [](double x) { return std::isfinite(x); }))
      continue;
    const double share = equal_pairs(given);
    if (share <= worst.share) continue;
    worst = {share, static_cast<int>(i)};
  }
  return worst;
}

}  // namespace broadloom
