#include "research/lab/block_rows.h"

#include <algorithm>
#include <cmath>

namespace broadloom {
namespace {

// PPO's normalisation: mean and 1 / (sample standard deviation + 1e-8). A single sample stays as it
// is.
void normalise(std::vector<float>& values) {
  if (values.size() < 2) return;
  double sum = 0.0, squares = 0.0;
  for (const float v : values) sum += v;
  const double mean = sum / static_cast<double>(values.size());
  for (const float v : values) squares += (v - mean) * (v - mean);
  const double scale = 1.0 / (std::sqrt(squares / static_cast<double>(values.size() - 1)) + 1e-8);
  for (float& v : values) v = static_cast<float>((v - mean) * scale);
}

}  // namespace

std::vector<std::vector<float>> advantages_by_lambda(FrozenBlock& block, double gamma,
                                                     const std::vector<double>& lambdas,
                                                     TruncationMode mode, GaeWeights weights) {
  std::vector<std::vector<float>> out;
  for (const double lambda : lambdas) {
    compute_advantages(block, 0, block.N, gamma, lambda, mode, weights);
    out.push_back(block.advantages);
    for (std::size_t i = 0; i < block.size(); ++i) out.back()[i] += block.value_gap(i);
  }
  return out;
}

BlockReader::BlockReader(const Policy& policy, const EstimatorSettings& settings)
    : settings_(settings),
      maker_(policy.network, settings.terms),
      parameter_count_(policy.network.parameter_count()) {
  maker_.set_params(policy.params);
}

void BlockReader::read(const RolloutBlock& block, const std::vector<std::vector<float>>& advantages,
                       BlockShape shape, int copy, BlockRows& rows) {
  rows.shape = shape;
  rows.parameter_count = parameter_count_;
  const std::size_t count = static_cast<std::size_t>(shape.batch());
  const std::size_t D = static_cast<std::size_t>(block.D), A = static_cast<std::size_t>(block.A);
  observations_.resize(count * D);
  const std::size_t E = static_cast<std::size_t>(block.critic.size);
  critic_observations_.resize(count * E);
  actions_.resize(count * A);
  valid_.resize(count * static_cast<std::size_t>(block.M));
  const std::size_t S = static_cast<std::size_t>(block.state_size);
  const int window =
      settings_.window > 0 ? std::min(settings_.window, shape.num_steps) : shape.num_steps;
  states_.clear();
  begins_.resize(count);
  rows.trajectory.resize(count);
  rows.weights.resize(advantages.size());
  for (std::vector<float>& weights : rows.weights) weights.resize(count);
  int trajectory = 0;
  std::size_t row = 0;
  for (int n = copy * shape.num_envs; n < (copy + 1) * shape.num_envs; ++n, ++trajectory) {
    for (int t = 0; t < shape.num_steps; ++t, ++row) {
      const std::size_t i = block.index(t, n);
      block.observations.read(i, 1, &observations_[row * D]);
      if (E > 0) block.critic_observations.read(i, 1, &critic_observations_[row * E]);
      std::copy_n(&block.actions[i * A], A, &actions_[row * A]);
      block.copy_valid(i, row, valid_);
      begins_[row] = block.begins_at(t, n) ? 1 : 0;
      if (S > 0 && t % window == 0) {
        const float* state = &block.states[block.sequence_row(t, n) * S];
        states_.insert(states_.end(), state, state + S);
      }
      rows.trajectory[row] = trajectory;
      if (block.terminated[i] != 0 || block.truncated[i] != 0) ++trajectory;
      for (std::size_t l = 0; l < advantages.size(); ++l) rows.weights[l][row] = advantages[l][i];
    }
  }
  const float* seen = observations_.data();
  NetworkInput<float> input(seen, E > 0 ? critic_observations_.data() : seen);
  if (block.M > 0) input.valid = valid_.data();
  const bool scores = !settings_.terms.value && !settings_.terms.entropy;
  rows.factors.resize(scores ? 1 : advantages.size());
  for (std::size_t l = 0; l < advantages.size(); ++l) {
    raw_ = rows.weights[l];
    if (settings_.norm_adv) normalise(rows.weights[l]);
    if (scores && l > 0) continue;
    maker_.make(input, actions_.data(), scores ? nullptr : rows.weights[l].data(), raw_.data(),
                static_cast<int>(count), rows.factors[scores ? 0 : l],
                {shape.num_steps, window, states_.data(), begins_.data()});
    if (!scores) std::fill(rows.weights[l].begin(), rows.weights[l].end(), 1.0f);
  }
}

}  // namespace broadloom
