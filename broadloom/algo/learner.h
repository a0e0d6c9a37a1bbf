// All that learning changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/math/adam.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Parts that the refreshing of bfloat16 copies is shared out in.
inline constexpr int kBf16Parts = 8;

// Parameters with their Adam moments and the learning rate. Flat, [P] each.
struct Learner {
  // bf16_size: that of the network; 0 in fp32.
  explicit Learner(std::size_t parameter_count, std::size_t bf16_size = 0);

  // One step of Adam with `gradient` [P] on all parameters, which are shared out as `chunks`; their
  // copies in bfloat16 follow.
  void take_step(const AdamStep& adam, const float* gradient, const ActorCritic& network,
                 std::span<const ParameterRange> chunks, ThreadPool& pool);

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

  // Brings bf16_weights up to date with params; nothing to do in fp32.
  void refresh_bf16(const ActorCritic& network, ThreadPool& pool);

  AlignedVector<float> params, adam_m, adam_v;
  AlignedVector<Bf16Pair> bf16_weights;  // follow from params, so they are no state
  std::int64_t adam_steps = 0;
  double learning_rate = 0.0;
};

}  // namespace broadloom
