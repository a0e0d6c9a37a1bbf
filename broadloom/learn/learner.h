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

// Parameters with their Adam moments and the learning rate. Flat, [P] each; behind the network's
// are those of what is learnt beside it (companion.h), where there is such.
struct Learner {
  // bf16_size: that of the network; 0 in fp32.
  explicit Learner(std::size_t parameter_count, std::size_t bf16_size = 0);

  // What it holds for that network alone, in bytes.
  static std::size_t bytes(const ActorCritic& network);

  // One step of Adam with `gradient` [P] on all parameters, which are shared out as `chunks`; their
  // copies in bfloat16 follow.
  void take_step(const AdamStep& adam, const float* gradient, const ActorCritic& network,
                 std::span<const ParameterRange> chunks, ThreadPool& pool);

  // Room for so many parameters more, behind the network's. Allocates.
  void add_companion(std::size_t parameter_count);
  float* companion() { return params.data() + network_size; }
  const float* companion() const { return params.data() + network_size; }
  // The step on those; gradient and chunks begin with the first of them.
  void take_companion_step(const AdamStep& adam, const float* gradient,
                           std::span<const ParameterRange> chunks, ThreadPool& pool);

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

  // Brings bf16_weights up to date with params; nothing to do in fp32.
  void refresh_bf16(const ActorCritic& network, ThreadPool& pool);

  AlignedVector<float> params, adam_m, adam_v;
  AlignedVector<Bf16Pair> bf16_weights;  // follow from params, so they are no state
  std::int64_t adam_steps = 0;
  double learning_rate = 0.0;
  std::size_t network_size;  // P of the network

 private:
  void take_step_from(std::size_t first, const AdamStep& adam, const float* gradient,
                      std::span<const ParameterRange> chunks, ThreadPool& pool);
};

}  // namespace broadloom
