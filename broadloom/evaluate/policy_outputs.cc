#include "broadloom/evaluate/policy_outputs.h"

#include <algorithm>

namespace broadloom {
namespace {

// Appends [rows, count] from heads' outputs [count, kTileRows].
void append_rows(const float* columns, std::size_t count, std::size_t rows,
                 std::vector<float>& out) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < count; ++k) out.push_back(columns[k * kTileRows + r]);
  }
}

}  // namespace

PolicyOutputs policy_outputs(const Policy& policy, const Observations& observations,
                             std::size_t rows, float* states) {
  const ActorCritic& network = policy.network;
  const NetworkShape& shape = network.shape();
  const bool has_values = shape.critic_observation_size == 0;
  const auto outputs = static_cast<std::size_t>(shape.action_outputs);
  const auto values = static_cast<std::size_t>(shape.action_values ? 1 : shape.value_outputs);
  const std::size_t state_size = network.state_size();
  TileWorkspace<float> work = network.make_workspace<float>();
  std::vector<float> seen(static_cast<std::size_t>(shape.observation_size) * kTileRows);
  PolicyOutputs out;
  for (std::size_t first = 0; first < rows; first += kTileRows) {
    const std::size_t count = std::min<std::size_t>(kTileRows, rows - first);
    const int tile = static_cast<int>(count);
    const float* input = observations.view(first, count, seen.data());
    if (policy.obs_norm != nullptr) {
      policy.obs_norm->normalize(input, tile, seen.data());
      input = seen.data();
    }
    const NetworkSide side = has_values ? NetworkSide::kBoth : NetworkSide::kPolicy;
    float* const tile_states = states == nullptr ? states : states + first * state_size;
    work.states.begin(tile);
    if (states != nullptr) {
      std::copy_n(tile_states, count * state_size, work.states.before.data());
    }
    network.forward(policy.params, input, tile, work, side);
    for (int r = 0; states != nullptr && r < tile; ++r) {
      network.copy_state(work, r, tile_states + static_cast<std::size_t>(r) * state_size, side);
    }
    append_rows(work.policy.data(), outputs, count, out.outputs);
    if (has_values) append_rows(work.values.data(), values, count, out.values);
  }
  if (policy.value_norm != nullptr) {
    policy.value_norm->denormalize(out.values.data(), out.values.size());
  }
  return out;
}

}  // namespace broadloom
