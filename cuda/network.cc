#include "cuda/network.h"

namespace broadloom::cuda {
namespace {

DeviceLayer layer(const LinearSlice& slice) {
  return {slice.in, slice.out, static_cast<int>(slice.weight), static_cast<int>(slice.bias)};
}

DeviceBody body(const Chain& chain, const LinearSlice& head, const ParameterRange& range) {
  DeviceBody body{static_cast<int>(chain.layers().size()),
                  {},
                  layer(head),
                  static_cast<int>(range.begin),
                  static_cast<int>(range.end)};
  for (int l = 0; l < body.layers; ++l) {
    body.hidden[l] = layer(chain.layers()[static_cast<std::size_t>(l)].slice);
  }
  return body;
}

bool is_narrow(const Chain& chain) {
  if (chain.layers().size() > static_cast<std::size_t>(kMostLayers)) return false;
  for (const Layer& layer : chain.layers()) {
    const bool usual = layer.kind == LayerKind::kLinear && layer.is_activated;
    if (!usual || layer.out.size() > kWidest) return false;
  }
  return true;
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
