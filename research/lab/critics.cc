#include "research/lab/critics.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/rollout/explained_variance.h"

namespace broadloom {

Critic network_critic(const ActorCritic& network, const float* params, ThreadPool& pool,
                      const ValueNormalizer* norm) {
  return [&network, params, &pool, norm](const Observations& seen) {
    const std::size_t width = static_cast<std::size_t>(seen.type().size);
    const std::size_t count = width > 0 ? seen.size() / width : 0;
    std::vector<float> values(count);
    std::vector<TileWorkspace<float>> works;
    works.reserve(static_cast<std::size_t>(pool.threads()));
    for (int t = 0; t < pool.threads(); ++t) works.push_back(network.make_workspace<float>());
    pool.run(tile_count(static_cast<int>(count)), [&](int tile, int thread) {
      const std::size_t begin = static_cast<std::size_t>(tile) * kTileRows;
      const std::size_t rows = std::min<std::size_t>(kTileRows, count - begin);
      TileWorkspace<float>& work = works[static_cast<std::size_t>(thread)];
      const float* input = seen.view(begin, rows, work.critic_tile());
      network.forward(params, input, static_cast<int>(rows), work, NetworkSide::kValue);
      std::copy_n(work.values.data(), rows, &values[begin]);
    });
    if (norm != nullptr) norm->denormalize(values.data(), values.size());
    return values;
  };
}

Critic table_critic(std::vector<double> table) {
  return [table = std::move(table)](const Observations& seen) {
    const std::size_t width = static_cast<std::size_t>(seen.type().size);
    std::vector<float> values(seen.size() / width), row(width);
    for (std::size_t r = 0; r < values.size(); ++r) {
      seen.read(r, 1, row.data());
      const auto one = std::find_if(row.begin(), row.end(), [](float x) { return x > 0.5f; });
      // Unused slots of final observations are all zero.
      if (one != row.end()) values[r] = static_cast<float>(table[one - row.begin()]);
    }
    return values;
  };
}

void value_by(const Critic& critic, FrozenBlock& block) {
  block.values = critic(block.critic_inputs());
  block.last_values = critic(block.last_seen_by_critic);
  if (!block.final_values.empty()) block.final_values = critic(block.final_critic_inputs());
}

double explained_variance(const Critic& critic, const RolloutBlock& block) {
  const std::vector<float> values = critic(block.critic_inputs());
  std::vector<float> errors(values.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    errors[i] = block.advantages[i] + block.values[i] - values[i];
  }
  return explained_variance(errors, values);
}

}  // namespace broadloom
