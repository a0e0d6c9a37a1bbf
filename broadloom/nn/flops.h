// Floating-point operations of the network's matrix products, counted from its layers.
#pragma once

#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Operations for one sample; a multiply-add counts as two. Biases, activations, losses and Adam are
// left out. Their cost is of lower order in the layers' widths.
struct NetworkFlops {
  double forward = 0.0;       // all layers
  double weight_grads = 0.0;  // all layers
  double input_grads = 0.0;   // all layers but those that read the observation

  // Each step is collected once and used for learning `epochs` times.
  double per_step(double epochs) const {
    return forward + epochs * (forward + weight_grads + input_grads);
  }
};

NetworkFlops count_flops(const ActorCritic& network);

}  // namespace broadloom
