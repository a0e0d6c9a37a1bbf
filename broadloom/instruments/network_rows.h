// Runs a network over more rows than a tile has: any rows, or a block as training sees it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// Divides a block's rows into pieces that different threads may take. Without memory, a piece is a
// tile. With memory, it is some environments' steps of one sequence, tile after tile, from the
// states that the block keeps before it.
class BlockPieces {
 public:
  // sequence: steps between kept states; 0: num_steps.
  BlockPieces(const ActorCritic& network, int num_steps, int num_envs, int sequence)
      : states_(network.state_size()),
        rows_(static_cast<std::size_t>(num_steps) * static_cast<std::size_t>(num_envs)),
        num_envs_(num_envs),
        shards_((num_envs + kTileRows - 1) / kTileRows) {
    const int steps = sequence > 0 ? sequence : num_steps;
    count_ = states_ == 0 ? static_cast<int>((rows_ + kTileRows - 1) / kTileRows)
                          : (num_steps + steps - 1) / steps * shards_;
  }
  int count() const { return count_; }
  // Numbers in a tile's states.
  std::size_t tile_states() const { return states_ * kTileRows; }

  // Calls f(first, count) for every tile of a piece, in order: rows [first, first + count) of the
  // block. Each array of `carried`, [tile_states()], holds the states before these rows, which
  // NetworkRows::forward() replaces by those after. Several arrays serve several networks.
  template <class F>
  void over(int piece, const RolloutBlock& block,
            std::initializer_list<std::vector<float>*> carried, F&& f) const {
    if (states_ == 0) {
      const std::size_t first = static_cast<std::size_t>(piece) * kTileRows;
      return f(first, static_cast<int>(std::min<std::size_t>(kTileRows, rows_ - first)));
    }
    const int begin = piece / shards_ * block.sequence_steps();
    const int env = piece % shards_ * kTileRows, count = std::min(kTileRows, num_envs_ - env);
    const float* kept = &block.states[block.sequence_row(begin, env) * states_];
    for (std::vector<float>* states : carried) {
      std::copy_n(kept, static_cast<std::size_t>(count) * states_, states->begin());
    }
    for (int t = begin; t < std::min(block.T, begin + block.sequence_steps()); ++t) {
      for (int n = 0; n < count; ++n) {
        if (!block.begins_at(t, env + n)) continue;
        for (std::vector<float>* states : carried) {
          std::fill_n(states->begin() + static_cast<std::ptrdiff_t>(n * states_), states_, 0.0f);
        }
      }
      f(block.index(t, env), count);
    }
  }

 private:
  std::size_t states_, rows_;
  int num_envs_, shards_, count_ = 0;
};

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
  // input. Null: not normalised. states: of a network with memory, [rows, S] before these rows;
  // becomes those after. Null: every row is the first step of an episode.
  TileWorkspace<float>& forward(int thread, const float* params, const ObsNormalizer* normalizer,
                                NetworkInput<float> x, int rows,
                                NetworkSide side = NetworkSide::kBoth,
                                const ObsNormalizer* critic_normalizer = nullptr,
                                std::vector<float>* states = nullptr) {
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
    const std::size_t size = network_.state_size();
    if (size == 0) {
      network_.forward(params, x, rows, work, side);
      return work;
    }
    work.states.begin(rows);
    if (states == nullptr) {
      std::fill(work.states.before.begin(), work.states.before.end(), 0.0f);
    } else {
      std::copy_n(states->begin(), static_cast<std::size_t>(rows) * size,
                  work.states.before.begin());
    }
    network_.forward(params, x, rows, work, side);
    for (int r = 0; states != nullptr && r < rows; ++r) {
      network_.copy_state(work, r, states->data() + static_cast<std::size_t>(r) * size, side);
    }
    return work;
  }

 private:
  const ActorCritic& network_;
  std::vector<TileWorkspace<float>> work_;  // [threads]
};

}  // namespace broadloom
