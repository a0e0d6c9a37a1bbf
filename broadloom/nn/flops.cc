#include "broadloom/nn/flops.h"

#include <utility>

namespace broadloom {
namespace {

// places: image positions at which one sample uses the weights.
void add_layer(const LinearSlice& layer, int places, bool reads_observation, NetworkFlops& flops) {
  const double product = 2.0 * layer.in * layer.out * places;
  flops.forward += product;
  flops.weight_grads += product;
  if (!reads_observation) flops.input_grads += product;
}

void add_body(const Chain& body, bool reads_observation, NetworkFlops& flops) {
  for (std::size_t l = 0; l < body.layers().size(); ++l) {
    const Layer& layer = body.layers()[l];
    if (layer.kind != LayerKind::kLinear && layer.kind != LayerKind::kConvolution) continue;
    const bool first = l == 0 ? reads_observation : body.layers()[l - 1].kind == LayerKind::kPart;
    add_layer(layer.slice, layer.out.height * layer.out.width, first, flops);
  }
}

}  // namespace

NetworkFlops count_flops(const ActorCritic& network) {
  const bool linear =
      network.encoder().empty() && network.actor().empty() && network.actor_cell().empty();
  NetworkFlops flops;
  for (const Chain* body : {&network.encoder(), &network.actor(), &network.critic()}) {
    add_body(*body, true, flops);
  }
  for (const Chain* body : {&network.actor_top(), &network.critic_top()}) {
    add_body(*body, false, flops);
  }
  for (const auto& [body, cell] : {std::pair(&network.encoder(), &network.encoder_cell()),
                                   {&network.actor(), &network.actor_cell()},
                                   {&network.critic(), &network.critic_cell()}}) {
    add_layer(cell->slice(), 1, body->empty(), flops);
    add_layer(cell->state_slice(), 1, false, flops);
  }
  add_layer(network.policy_head(), 1, linear, flops);
  add_layer(network.value_head(), 1, linear, flops);
  return flops;
}

}  // namespace broadloom
