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
                             std::size_t rows) {
  const ActorCritic& network = policy.network;
  const NetworkShape& shape = network.shape();
  const bool has_values = shape.critic_observation_size == 0;
  const auto outputs = static_cast<std::size_t>(shape.action_outputs);
  const auto values = static_cast<std::size_t>(shape.action_values ? 1 : shape.value_outputs);
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
    network.forward(policy.params, input, tile, work,
                    has_values ? NetworkSide::kBoth : NetworkSide::kPolicy);
    append_rows(work.policy.data(), outputs, count, out.outputs);
    if (has_values) append_rows(work.values.data(), values, count, out.values);
  }
  return out;
}

}  // namespace broadloom
