#include "broadloom/nn/flops.h"

namespace broadloom {
namespace {

void add_flops(const Mlp& mlp, bool reads_observation, NetworkFlops& flops) {
  bool has_input_grad = !reads_observation;
  for (const LinearSlice& layer : mlp.layers()) {
    const double product = 2.0 * layer.in * layer.out;
    flops.forward += product;
    flops.weight_grads += product;
    if (has_input_grad) flops.input_grads += product;
    has_input_grad = true;
  }
}

}  // namespace

NetworkFlops count_flops(const ActorCritic& network) {
  const bool shared = !network.encoder().empty();
  NetworkFlops flops;
  add_flops(network.encoder(), true, flops);
  add_flops(network.actor(), !shared, flops);
  add_flops(network.critic(), !shared, flops);
  return flops;
}

}  // namespace broadloom
