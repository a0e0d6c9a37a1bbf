#include "broadloom/rollout/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadloom/nn/distributions.h"

namespace broadloom {

Collector::Collector(VecEnv& envs, const ActorCritic& network, ObsNormalizer* observations,
                     ThreadPool& pool, std::uint64_t seed)
    : envs_(envs),
      network_(network),
      normalizer_(observations),
      pool_(pool),
      seed_(seed),
      plan_(envs.num_envs(), kTileRows),
      scratch_(static_cast<std::size_t>(plan_.count())) {
  const EnvSpec& spec = envs.spec();
  for (int s = 0; s < plan_.count(); ++s) {
    Scratch& scratch = scratch_[s];
    const std::size_t rows = static_cast<std::size_t>(plan_[s].size());
    scratch.work = network.make_workspace<float>();
    scratch.raw.resize(rows * spec.observation_size());
    scratch.final_raw.resize(rows * spec.observation_size());
    scratch.env_actions.resize(rows * spec.action_size());
    scratch.terms.resize(static_cast<std::size_t>(network.shape().action_outputs));
  }
}

Status Collector::collect(const float* params, std::int64_t first_step, RolloutBlock& block) {
  pool_.run(plan_.count(), [&](int shard) { collect_shard(shard, params, first_step, block); });
  for (const Scratch& scratch : scratch_) {
    if (scratch.bad_env < 0) continue;
    return {
        ErrorKind::kNumeric,
        fmt::format("{} of environment {} is not finite at its step {}; expected finite numbers. "
                    "Check the environment's dynamics and options, and the policy's outputs.",
                    scratch.bad_tensor, scratch.bad_env, scratch.bad_step)};
  }
  return {};
}

void Collector::collect_shard(int s, const float* params, std::int64_t first_step,
                              RolloutBlock& block) {
  const Shard shard = plan_[s];
  Scratch& scratch = scratch_[s];
  scratch.bad_env = -1;
  std::fill(block.truncations.begin() + shard.begin, block.truncations.begin() + shard.end, 0);
  envs_.observe(shard.begin, shard.end, scratch.raw.data());
  for (int t = 0; t < block.T; ++t) {
    const std::int64_t step = first_step + t;
    if (!check(shard, scratch, scratch.raw.data(), block.D, step, "observation")) return;
    if (normalizer_ != nullptr) normalizer_->accumulate(s, scratch.raw.data(), shard.size());
    act(shard, scratch, params, step, t, block);
    const std::size_t row = block.index(t, shard.begin);
    envs_.step(shard.begin, shard.end,
               {scratch.env_actions.data(), scratch.raw.data(), &block.rewards[row],
                &block.terminated[row], &block.truncated[row], scratch.final_raw.data()});
    if (!check(shard, scratch, &block.rewards[row], 1, step, "reward")) return;
    keep_final_observations(shard, scratch, t, block);
  }
}

// Observations into the block, actions drawn, their log-probabilities and values kept.
void Collector::act(Shard shard, Scratch& scratch, const float* params, std::int64_t step, int t,
                    RolloutBlock& block) {
  const NetworkShape& shape = network_.shape();
  const Space& space = envs_.spec().action;
  const int outputs = shape.action_outputs;
  const std::size_t first = block.index(t, shard.begin);
  float* observations = &block.observations[first * block.D];
  see(scratch.raw.data(), shard.size(), observations);
  network_.forward(params, observations, shard.size(), scratch.work);
  const float* policy = network_.policy_output(scratch.work);
  const float* values = network_.value_output(scratch.work);
  const float* log_std = params + network_.log_std_offset();
  for (int k = 0; k < shard.size(); ++k) {
    const float* output = policy + static_cast<std::size_t>(k) * outputs;
    float* action = &block.actions[(first + k) * block.A];
    float* env_action = &scratch.env_actions[static_cast<std::size_t>(k) * block.A];
    Random random(seed_, Purpose::kAction, static_cast<std::uint32_t>(shard.begin + k),
                  static_cast<std::uint64_t>(step));
    if (shape.action_kind == SpaceKind::kDiscrete) {
      const int index = categorical_sample(output, outputs, random);
      action[0] = env_action[0] = static_cast<float>(index);
      block.log_probs[first + k] =
          categorical_terms(output, outputs, index, scratch.terms.data()).log_prob;
    } else {
      gaussian_sample(output, log_std, outputs, random, action);
      block.log_probs[first + k] =
          gaussian_terms(output, log_std, outputs, action, scratch.terms.data()).log_prob;
      for (int a = 0; a < outputs; ++a) {
        env_action[a] = std::clamp(action[a], space.low[a], space.high[a]);
      }
    }
    block.values[first + k] = values[k];
  }
}

bool Collector::check(Shard shard, Scratch& scratch, const float* rows, int width,
                      std::int64_t step, const char* tensor) {
  const std::size_t count = static_cast<std::size_t>(shard.size()) * width;
  float probe = 0.0f;  // x * 0 is 0 for every finite x
  for (std::size_t i = 0; i < count; ++i) probe += rows[i] * 0.0f;
  if (probe == 0.0f) return true;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(rows[i])) continue;
    scratch.bad_env = shard.begin + static_cast<int>(i / width);
    scratch.bad_step = step;
    scratch.bad_tensor = tensor;
    return false;
  }
  return true;
}

void Collector::keep_final_observations(Shard shard, Scratch& scratch, int t, RolloutBlock& block) {
  for (int k = 0; k < shard.size(); ++k) {
    const int n = shard.begin + k;
    if (block.truncated[block.index(t, n)] == 0) continue;
    const std::size_t place = block.final_index(n, block.truncations[n]++);
    see(&scratch.final_raw[static_cast<std::size_t>(k) * block.D], 1,
        &block.final_observations[place * block.D]);
  }
}

void Collector::bootstrap_values(const float* params, RolloutBlock& block) {
  pool_.run(plan_.count(), [&](int s) {
    const Shard shard = plan_[s];
    Scratch& scratch = scratch_[s];
    envs_.observe(shard.begin, shard.end, scratch.raw.data());
    see(scratch.raw.data(), shard.size(), scratch.work.observations.data());
    network_.forward_critic(params, scratch.work.observations.data(), shard.size(), scratch.work);
    const float* values = network_.value_output(scratch.work);
    std::copy_n(values, shard.size(), &block.last_values[shard.begin]);
    for (int n = shard.begin; n < shard.end; ++n) {
      for (int begin = 0; begin < block.truncations[n]; begin += kTileRows) {
        const int rows = std::min(kTileRows, block.truncations[n] - begin);
        const std::size_t place = block.final_index(n, begin);
        network_.forward_critic(params, &block.final_observations[place * block.D], rows,
                                scratch.work);
        std::copy_n(network_.value_output(scratch.work), rows, &block.final_values[place]);
      }
    }
  });
}

void Collector::see(const float* raw, int rows, float* out) const {
  if (normalizer_ != nullptr) {
    normalizer_->normalize(raw, rows, out);
  } else {
    std::copy_n(raw, static_cast<std::size_t>(rows) * network_.shape().observation_size, out);
  }
}

}  // namespace broadloom
