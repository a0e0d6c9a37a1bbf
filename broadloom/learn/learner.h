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

// Parameters with their Adam moments and the learning rate. Flat, [P] each; behind the network's
// are those of what is learnt beside it (companion.h), where there is such.
struct Learner {
  explicit Learner(std::size_t parameter_count);

  // Bytes that it holds for that network alone.
  static std::size_t bytes(const ActorCritic& network);

  // One step of Adam with `gradient` [P] on all parameters, which are shared out as `chunks`.
  void take_step(const AdamStep& adam, const float* gradient,
                 std::span<const ParameterRange> chunks, ThreadPool& pool);

  // Room for so many parameters more, behind the network's. Allocates.
  void add_companion(std::size_t parameter_count);
  float* companion() { return params.data() + network_size; }
  const float* companion() const { return params.data() + network_size; }
  // The step on those; gradient and chunks begin with the first of them.
  void take_companion_step(const AdamStep& adam, const float* gradient,
                           std::span<const ParameterRange> chunks, ThreadPool& pool);

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

  AlignedVector<float> params, adam_m, adam_v;
  std::int64_t adam_steps = 0;
  double learning_rate = 0.0;
  std::size_t network_size;  // P of the network

 private:
  void take_step_from(std::size_t first, const AdamStep& adam, const float* gradient,
                      std::span<const ParameterRange> chunks, ThreadPool& pool);
};

}  // namespace broadloom
