#include "research/lab/reference_gradient.h"

#include <algorithm>

#include "research/lab/step_scores.h"

namespace broadloom {
namespace {

constexpr int kReferenceGroups = CompleteEpisodes::kGroups;

// Adds the samples of environments [begin, end) to sums [P], and returns their number.
std::int64_t add_environments(const Policy& policy, Score score, const CompleteEpisodes& episodes,
                              const FrozenBlock& block, int begin, int end, double gamma,
                              float* sums) {
  StepScores scores(policy, score);
  std::vector<double> returns;
  std::vector<float> weights;
  std::int64_t samples = 0;
  for (int n = begin; n < end; ++n) {
    const std::vector<int> steps = episodes.steps_of(block, n);
    returns_to_end(block, n, gamma, returns);
    weights.clear();
    for (const int t : steps) {
      const std::size_t i = block.index(t, n);
      const float value = block.values[i] - block.value_gap(i);
      weights.push_back(static_cast<float>(returns[static_cast<std::size_t>(t)] - value));
    }
    scores.read(block, n, steps);
    scores.add(weights, {}, sums);
    samples += static_cast<std::int64_t>(steps.size());
  }
  return samples;
}

}  // namespace

Result<ReferenceGradient> measure_reference(const Policy& policy, CompleteEpisodes& episodes,
                                            double gamma, const Critic& baseline, ThreadPool& pool,
                                            const std::function<Status(double)>& on_round,
                                            Score score) {
  const std::size_t P = policy.network.parameter_count();
  const int envs = episodes.envs_of_a_group();
  std::vector<std::vector<float>> sums(kReferenceGroups);
  std::vector<std::int64_t> samples(kReferenceGroups);
  ReferenceGradient out{std::vector<std::vector<double>>(kReferenceGroups, std::vector<double>(P)),
                        0};
  for (std::int64_t round = 0; round < episodes.rounds(); ++round) {
    if (on_round) {
      BROADLOOM_TRY(on_round(static_cast<double>(round) / static_cast<double>(episodes.rounds())));
    }
    Result<std::unique_ptr<FrozenBlock>> block = episodes.collect(round);
    if (!block.ok()) return block.status();
    if (baseline) block.value()->values = baseline(block.value()->critic_inputs());
    pool.run(kReferenceGroups, [&](int group) {
      sums[group].assign(P, 0.0f);
      samples[group] += add_environments(policy, score, episodes, *block.value(), group * envs,
                                         (group + 1) * envs, gamma, sums[group].data());
      for (std::size_t p = 0; p < P; ++p) out.groups[group][p] += sums[group][p];
    });
  }
  for (const std::int64_t count : samples) out.samples += count;
  // Groups have equally many episodes but slightly different numbers of samples. All are divided by
  // the common number, so that a group of long episodes keeps its weight.
  const double scale = static_cast<double>(kReferenceGroups) / static_cast<double>(out.samples);
  for (std::vector<double>& group : out.groups) {
    for (double& x : group) x *= scale;
  }
  return out;
}

}  // namespace broadloom
