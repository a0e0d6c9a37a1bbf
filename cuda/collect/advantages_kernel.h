// Generalised advantages on the device, with the bits of compute_advantages() and
// compute_intrinsic_advantages() (rollout/advantages.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/learn/ppo_formulas.h"
#include "broadloom/rollout/advantage_formula.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// Steps that a thread reads before it works on any of them, so that the reads overlap.
inline constexpr int kAdvantageReads = 8;

// One thread per environment, from the last step to the first. Arrays are as in RolloutBlock.
struct AdvantagesKernel {
  int T, N, S;
  const float *rewards, *values;               // [T, N]
  const std::uint8_t *terminated, *truncated;  // [T, N]
  const float* last_values;                    // [N]
  const int* truncations;                      // [N] used slots
  const float* final_values;                   // [N, S]
  Discounts discounts;
  TruncationMode mode;
  float* advantages;  // [T, N]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= N) return;
    float next_value = last_values[n], next_advantage = 0.0f, sum = 0.0f;
    Discounts own = discounts;
    std::size_t slot = static_cast<std::size_t>(n) * S + truncations[n];
    for (int end = T; end > 0; end -= kAdvantageReads) {
      Step steps[kAdvantageReads];  // end - 1, end - 2, ...; all reads come before the work
      for (int k = 0; k < kAdvantageReads; ++k) {
        if (end - 1 - k >= 0) steps[k] = read(end - 1 - k, n);
      }
      for (int k = 0; k < kAdvantageReads && end - 1 - k >= 0; ++k) {
        const Step& step = steps[k];
        float advantage;
        if (step.truncated) {
          advantage =
              truncated_delta(mode, step.reward, discounts.gamma, step.value, final_values[--slot]);
          sum = 1.0f;
        } else if (step.terminated) {
          advantage = step.reward - step.value;
          sum = 1.0f;
        } else {
          if (own.weights == GaeWeights::kNormalised) {
            own.gamma_lambda = normalised_trace(own, sum);
          }
          advantage =
              continuing_advantage(own, step.reward, step.value, next_value, next_advantage);
        }
        advantages[static_cast<std::size_t>(end - 1 - k) * N + n] = advantage;
        next_advantage = advantage;
        next_value = step.value;
      }
    }
  }

 private:
  struct Step {
    float reward, value;
    bool terminated, truncated;
  };
  BROADLOOM_HD Step read(int t, int n) const {
    const std::size_t i = static_cast<std::size_t>(t) * N + n;
    return {rewards[i], values[i], terminated[i] != 0, truncated[i] != 0};
  }
};

// The same for intrinsic rewards, which no episode end cuts. Also joins both advantages for the
// policy.
struct IntrinsicAdvantagesKernel {
  int T, N;
  const float* rewards;  // [T, N]
  float scale;
  const float *values, *last_values;  // [T, N], [N]
  Discounts discounts;
  const float* ext_advantages;  // [T, N]
  double ext_coef, int_coef;
  float *advantages, *learnt;  // [T, N]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= N) return;
    float next_value = last_values[n], next_advantage = 0.0f;
    const auto place = [&](int t) { return static_cast<std::size_t>(t) * N + n; };
    for (int end = T; end > 0; end -= kAdvantageReads) {
      Step steps[kAdvantageReads];  // end - 1, end - 2, ...; all reads come before the work
      for (int k = 0; k < kAdvantageReads && end - 1 - k >= 0; ++k) {
        const std::size_t i = place(end - 1 - k);
        steps[k] = {rewards[i] * scale, values[i], ext_advantages[i]};
      }
      for (int k = 0; k < kAdvantageReads && end - 1 - k >= 0; ++k) {
        const Step& step = steps[k];
        const std::size_t i = place(end - 1 - k);
        next_advantage =
            continuing_advantage(discounts, step.reward, step.value, next_value, next_advantage);
        next_value = step.value;
        advantages[i] = next_advantage;
        learnt[i] = learnt_advantage(ext_coef, int_coef, step.ext_advantage, next_advantage);
      }
    }
  }

 private:
  struct Step {
    float reward, value, ext_advantage;
  };
};

}  // namespace broadloom::cuda
