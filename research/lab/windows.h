// The bias of backpropagation through windows, for recurrent policies.
//
// A window is a sequence of L steps (the key sequence_length): its first state is a constant.
// Blocks begin at resets. If T is no shorter than an episode, the window of T steps is
// backpropagation through whole episodes. Every length's gradient is of the same blocks, computed
// as in training, at ratio 1, so that most noise cancels in a difference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

struct WindowSettings {
  BlockShape shape{0, 0};    // of blocks; 0: the run's
  std::vector<int> lengths;  // divisors of T; empty: powers of two that divide T, and T
  int blocks = 400;          // at least 2 per group
  std::uint64_t seed = 1;
  int threads = 1;
  // May be empty. Called before each block with the share of them that is done; an error ends the
  // study.
  std::function<Status(double)> on_block = {};
};

// Results for one side of the network. NaN if a norm in a denominator is not above zero.
struct WindowResult {
  std::string side;  // "policy" or "critic"; of a network with action values, "values"
  int length = 0;    // L
  // |E G_L - E G_T| / |E G_T|, and the cosine between these means. Norms are without the upward
  // bias of squared noise.
  Estimate relative_bias, cosine;
  Estimate agreement;  // E[G_L / |G_L|] . E G_T / |E G_T|, as the laboratory's (docs/gradients.md)
  Estimate variance;   // Tr Cov(G_L) / Tr Cov(G_T)
};

// Side by side, each length in turn. kInvalidConfig if the policy has no memory, a length does not
// divide T, or there are too few blocks.
Result<std::vector<WindowResult>> study_windows(const Policy& policy,
                                                const WindowSettings& settings);

}  // namespace broadloom
