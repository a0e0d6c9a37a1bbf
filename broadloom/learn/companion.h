// A second model that learns beside the network with its own loss, in the same minibatches and
// steps. Both gradients are clipped by their joint norm and share the optimiser. The learner holds
// the companion's parameters.
#pragma once

#include <cstdint>
#include <span>

#include "broadloom/core/status.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Calls allocate nothing and give the same bits for any number of threads.
class Companion {
 public:
  virtual ~Companion() = default;

  virtual void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) = 0;

  // Computes the gradient of its loss over a minibatch. params: its own parameters. version:
  // changes whenever params change. Fails if no step may be taken.
  virtual Status measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                         const float* params, std::int64_t version) = 0;

  // The last gradient and its norm, valid until the next measure().
  virtual std::span<const float> gradient() const = 0;
  virtual double norm() const = 0;

  // All its parameters, divided into chunks for threads.
  virtual std::span<const ParameterRange> chunks() const = 0;
};

}  // namespace broadloom
