// Everything that learning changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/averages.h"
#include "broadloom/math/adam.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Parameters, Adam moments and learning rate. Each array is flat, [P]; the parameters of a
// companion (companion.h), if any, follow the network's.
struct Learner {
  explicit Learner(std::size_t parameter_count);

  // Memory for the network's parameters only, bytes.
  static std::size_t bytes(const ActorCritic& network);

  // Takes one Adam step with `gradient` [P] on the network's parameters. Threads share `chunks`.
  void take_step(const AdamStep& adam, const float* gradient,
                 std::span<const ParameterRange> chunks, ThreadPool& pool);

  // Appends parameters for a companion. Allocates.
  void add_companion(std::size_t parameter_count);
  float* companion() { return params.data() + network_size; }
  const float* companion() const { return params.data() + network_size; }
  // Takes the step on the companion's parameters. gradient and chunks begin at its first one.
  void take_companion_step(const AdamStep& adam, const float* gradient,
                           std::span<const ParameterRange> chunks, ThreadPool& pool);

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

  AlignedVector<float> params, adam_m, adam_v;
  std::int64_t adam_steps = 0;
  double learning_rate = 0.0;
  std::size_t network_size;  // P of the network
  // PPO's averages of the network's parameters (proximal policy), and of advantages.
  ParameterAverage proximal;
  RunningMoments advantages;
  bool has_advantages = false;

 private:
  void step_range(std::size_t first, const AdamStep& adam, const float* gradient,
                  std::span<const ParameterRange> chunks, ThreadPool& pool);
};

}  // namespace broadloom
