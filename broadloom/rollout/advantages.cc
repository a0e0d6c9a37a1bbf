#include "broadloom/rollout/advantages.h"

namespace broadloom {
namespace {

// TD error of a transition that met the time limit.
float truncated_delta(TruncationMode mode, float reward, float gamma, float value,
                      float final_value) {
  switch (mode) {
    case TruncationMode::kBootstrap:
      return reward + gamma * final_value - value;
    case TruncationMode::kAsTermination:
      return reward - value;
    case TruncationMode::kStateValue:
      return reward + gamma * value - value;
    case TruncationMode::kZero:
      return 0.0f;
  }
  return 0.0f;
}

}  // namespace

void compute_advantages(RolloutBlock& block, int begin, int end, double gamma, double gae_lambda,
                        TruncationMode mode) {
  const float discount = static_cast<float>(gamma);
  const float decay = static_cast<float>(gamma * gae_lambda);
  for (int n = begin; n < end; ++n) {
    float next_value = block.last_values[n];
    float next_advantage = 0.0f;
    int slot = block.truncations[n];
    for (int t = block.T - 1; t >= 0; --t) {
      const std::size_t i = block.index(t, n);
      const float value = block.values[i];
      const float reward = block.rewards[i];
      float advantage;
      if (block.truncated[i] != 0) {
        --slot;
        advantage = truncated_delta(mode, reward, discount, value,
                                    block.final_values[block.final_index(n, slot)]);
      } else if (block.terminated[i] != 0) {
        advantage = reward - value;
      } else {
        advantage = reward + discount * next_value - value + decay * next_advantage;
      }
      block.advantages[i] = advantage;
      next_advantage = advantage;
      next_value = value;
    }
  }
}

}  // namespace broadloom
