#include "cuda/network.h"

namespace broadloom::cuda {
namespace {

DeviceLayer layer(const LinearSlice& slice) {
  return {slice.in, slice.out, static_cast<int>(slice.weight), static_cast<int>(slice.bias)};
}

DeviceBody body(const Chain& chain, const LinearSlice& head, const ParameterRange& range) {
  DeviceBody body{
      0, {}, {}, layer(head), static_cast<int>(range.begin), static_cast<int>(range.end)};
  for (const Layer& one : chain.layers()) {
    if (one.kind == LayerKind::kLayerNorm) {
      body.norms[body.layers - 1] = {static_cast<int>(one.slice.weight),
                                     static_cast<int>(one.slice.bias)};
    } else {
      body.hidden[body.layers++] = layer(one.slice);
    }
  }
  return body;
}

// Linear layers that end in an activation, or in a normalisation that does.
bool is_narrow(const Chain& chain) {
  int layers = 0;
  bool is_open = false;  // the last one does not end yet
  for (const Layer& layer : chain.layers()) {
    const bool goes_on = layer.kind == LayerKind::kLayerNorm && is_open;
    const bool begins = layer.kind == LayerKind::kLinear && !is_open;
    if ((!goes_on && !begins) || layer.out.size() > kWidest) return false;
    layers += begins ? 1 : 0;
    is_open = !layer.is_activated;
  }
  return !is_open && layers <= kMostLayers;
}

}  // namespace

bool fits_kernels(const ActorCritic& network) {
  const NetworkShape& shape = network.shape();
  return (network.sides_are_apart() || shape.action_values) &&
         shape.precision == Precision::kFp32 && shape.critic_observation_size == 0 &&
         shape.value_outputs == 1 && is_narrow(network.actor()) && is_narrow(network.critic());
}

DeviceNetwork device_network(const ActorCritic& network) {
  const NetworkShape& shape = network.shape();
  const bool alone = shape.action_values;
  return {
      body(network.actor(), network.policy_head(), network.ranges(NetworkSide::kPolicy)[0]),
      alone ? DeviceBody{}
            : body(network.critic(), network.value_head(), network.ranges(NetworkSide::kValue)[0]),
      shape.observation_size,
      shape.action_outputs,
      static_cast<int>(network.parameter_count()),
      shape.action_kind == SpaceKind::kDiscrete,
      alone,
      static_cast<int>(network.log_std_offset()),
      shape.activation};
}

}  // namespace broadloom::cuda
