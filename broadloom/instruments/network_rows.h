// Runs a network over more rows than a tile has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// Holds one workspace per thread, made once; nothing is allocated later. The network must outlive
// this object.
class NetworkRows {
 public:
  NetworkRows(const ActorCritic& network, int threads) : network_(network) {
    for (int t = 0; t < threads; ++t) work_.push_back(network.make_workspace<float>());
  }
  static std::size_t bytes(const ActorCritic& network, int threads) {
    return static_cast<std::size_t>(threads) * network.make_workspace<float>().bytes();
  }

  static int tiles(std::size_t rows) {
    return static_cast<int>((rows + kTileRows - 1) / kTileRows);
  }
  // Calls f(tile, first, count, thread) for every tile of `rows` rows, on the pool.
  template <class F>
  static void over_tiles(std::size_t rows, ThreadPool& pool, F&& f) {
    pool.run(tiles(rows), [&](int tile, int thread) {
      const std::size_t first = static_cast<std::size_t>(tile) * kTileRows;
      f(tile, first, static_cast<int>(std::min<std::size_t>(kTileRows, rows - first)), thread);
    });
  }

  // A thread's buffer for a tile of policy inputs, for rows stored in another type.
  float* tile(int thread) { return work_[thread].observations.data(); }

  // Runs the network with these parameters on x, rows <= kTileRows, in the thread's workspace.
  // normalizer: applied to the policy's input. critic_normalizer: applied to the critic's own
  // input. Null: not normalised.
  TileWorkspace<float>& forward(int thread, const float* params, const ObsNormalizer* normalizer,
                                NetworkInput<float> x, int rows,
                                NetworkSide side = NetworkSide::kBoth,
                                const ObsNormalizer* critic_normalizer = nullptr) {
    TileWorkspace<float>& work = work_[thread];
    const bool both_read_one = x.critic == x.policy;
    if (normalizer != nullptr) {
      normalizer->normalize(x.policy, rows, work.observations.data());
      x.policy = work.observations.data();
      if (both_read_one) x.critic = x.policy;
    }
    if (critic_normalizer != nullptr && !both_read_one) {
      critic_normalizer->normalize(x.critic, rows, work.critic_observations.data());
      x.critic = work.critic_observations.data();
    }
    network_.forward(params, x, rows, work, side);
    return work;
  }

 private:
  const ActorCritic& network_;
  std::vector<TileWorkspace<float>> work_;  // [threads]
};

}  // namespace broadloom
