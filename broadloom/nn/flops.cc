#include "broadloom/nn/flops.h"

namespace broadloom {
namespace {

void add_layer(const LinearSlice& layer, bool reads_observation, NetworkFlops& flops) {
  const double product = 2.0 * layer.in * layer.out;
  flops.forward += product;
  flops.weight_grads += product;
  if (!reads_observation) flops.input_grads += product;
}

void add_body(const Mlp& body, NetworkFlops& flops) {
  for (std::size_t l = 0; l < body.layers().size(); ++l) add_layer(body.layers()[l], l == 0, flops);
}

}  // namespace

NetworkFlops count_flops(const ActorCritic& network) {
  const bool linear = network.shape().hidden_sizes.empty();
  NetworkFlops flops;
  add_body(network.encoder(), flops);
  add_body(network.actor(), flops);
  add_body(network.critic(), flops);
  add_layer(network.policy_head(), linear, flops);
  add_layer(network.value_head(), linear, flops);
  return flops;
}

}  // namespace broadloom
