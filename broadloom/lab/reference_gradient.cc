#include "broadloom/lab/reference_gradient.h"

#include <algorithm>
#include <utility>

#include "broadloom/lab/block_rows.h"

namespace broadloom {
namespace {

constexpr std::int64_t kRowsPerRound = 400000;
constexpr std::int64_t kFewestRounds = 4;  // where the budget has room for them
constexpr int kGroups = CompleteEpisodes::kGroups;

// Returns minus values of the first `used` steps, 0 behind them: [1][T * N].
std::vector<std::vector<float>> weights_of(const RolloutBlock& block, int used, double gamma) {
  std::vector<std::vector<float>> weights(1, std::vector<float>(block.size()));
  std::vector<double> returns;
  for (int n = 0; n < block.N; ++n) {
    returns_to_end(block, n, gamma, returns);
    for (int t = 0; t < used; ++t) {
      const std::size_t i = block.index(t, n);
      weights[0][i] = static_cast<float>(returns[static_cast<std::size_t>(t)] - block.values[i]);
    }
  }
  return weights;
}

}  // namespace

void returns_to_end(const RolloutBlock& block, int n, double gamma, std::vector<double>& out) {
  out.assign(static_cast<std::size_t>(block.T), 0.0);
  double next = 0.0;
  bool ends = false;
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, n);
    const bool end = block.terminated[i] != 0 || block.truncated[i] != 0;
    ends = ends || end;
    next = block.rewards[i] + (end ? 0.0 : gamma * next);
    if (ends) out[static_cast<std::size_t>(t)] = next;
  }
}

CompleteEpisodes::CompleteEpisodes(const Policy& policy, const StartPool& starts, int limit,
                                   std::int64_t budget, std::uint64_t seed, ThreadPool& pool)
    : source_(policy, &starts, seed, pool), limit_(limit) {
  const std::int64_t rows = std::min(kRowsPerRound, budget / kFewestRounds);
  envs_ = static_cast<int>(std::max<std::int64_t>(1, rows / (2 * limit) / kGroups));
  rounds_ = std::max<std::int64_t>(1, budget / shape().batch());
}

Result<std::unique_ptr<RolloutBlock>> CompleteEpisodes::collect(std::int64_t round) {
  return source_.collect(shape(), 1, static_cast<std::uint64_t>(round));
}

Result<ReferenceGradient> measure_reference(const Policy& policy, CompleteEpisodes& episodes,
                                            double gamma, ThreadPool& pool,
                                            const std::function<void(double)>& on_round) {
  const std::size_t P = policy.network.parameter_count();
  const int envs = episodes.envs_of_a_group(), steps = episodes.shape().num_steps;
  const EstimatorSettings scores{gamma, {0.0}, false, {}};
  std::vector<std::vector<float>> sums(kGroups, std::vector<float>(P));
  ReferenceGradient out{std::vector<std::vector<double>>(kGroups, std::vector<double>(P)),
                        episodes.rounds() * kGroups * envs * episodes.used_steps()};
  for (std::int64_t round = 0; round < episodes.rounds(); ++round) {
    if (on_round) on_round(static_cast<double>(round) / static_cast<double>(episodes.rounds()));
    Result<std::unique_ptr<RolloutBlock>> block = episodes.collect(round);
    if (!block.ok()) return block.status();
    const std::vector<std::vector<float>> weights =
        weights_of(*block.value(), episodes.used_steps(), gamma);
    pool.run(kGroups, [&](int group) {
      BlockReader reader(policy, scores);
      BlockRows one;
      for (int n = group * envs; n < (group + 1) * envs; ++n) {
        reader.read(*block.value(), weights, {1, steps}, n, one);
        add_weighted_sum(one.factors[0], one.weights[0].data(), sums[group].data());
      }
      for (std::size_t p = 0; p < P; ++p) {
        out.groups[group][p] += std::exchange(sums[group][p], 0.0f);
      }
    });
  }
  const double scale = static_cast<double>(kGroups) / static_cast<double>(out.samples);
  for (std::vector<double>& group : out.groups) {
    for (double& x : group) x *= scale;
  }
  return out;
}

}  // namespace broadloom
