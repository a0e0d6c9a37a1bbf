// What is learnt beside a network, by a loss of its own, in the same minibatches and steps: one
// clipped length of the gradient, one optimiser. Its parameters are the learner's companion ones.
#pragma once

#include <cstdint>
#include <span>

#include "broadloom/core/status.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Allocates nothing, and has the same bits for any number of threads.
class Companion {
 public:
  virtual ~Companion() = default;

  virtual void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) = 0;

  // The gradient of its loss over a minibatch. params: its own; version: another one whenever they
  // are others. Fails where no step may be taken.
  virtual Status measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                         const float* params, std::int64_t version) = 0;

  // Of the last one that was measured: as many numbers as it has parameters, until the next.
  virtual std::span<const float> gradient() const = 0;
  virtual double norm() const = 0;

  // All its parameters, in the chunks that threads share them by.
  virtual std::span<const ParameterRange> chunks() const = 0;
};

}  // namespace broadloom
