// The rollout block: T steps of N environments, time-major, exactly N*T real transitions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/env/vec_env.h"

namespace broadloom {

struct RolloutBlock {
  // with_ends: whether there is room for how episodes ended.
  RolloutBlock(int num_steps, int num_envs, int observation_size, int action_size,
               int max_truncations, bool with_ends = false)
      : T(num_steps),
        N(num_envs),
        D(observation_size),
        A(action_size),
        S(max_truncations),
        observations(size() * D),
        actions(size() * A),
        log_probs(size()),
        values(size()),
        rewards(size()),
        terminated(size()),
        truncated(size()),
        ends(with_ends ? size() : 0),
        last_values(N),
        truncations(N),
        final_observations(static_cast<std::size_t>(N) * S * D),
        final_values(static_cast<std::size_t>(N) * S),
        advantages(size()) {}

  // What a block of this shape takes, in bytes.
  static std::size_t bytes(int num_steps, int num_envs, int observation_size, int action_size,
                           int max_truncations, bool with_ends = false) {
    const std::size_t numbers = static_cast<std::size_t>(observation_size) + action_size + 4;
    const std::size_t final_numbers = static_cast<std::size_t>(max_truncations) *
                                      (static_cast<std::size_t>(observation_size) + 1);
    const std::size_t flags = 2 + (with_ends ? sizeof(EpisodeEnd) : 0);
    return static_cast<std::size_t>(num_envs) * (num_steps * (numbers * sizeof(float) + flags) +
                                                 (final_numbers + 1) * sizeof(float) + sizeof(int));
  }

  std::size_t size() const { return static_cast<std::size_t>(T) * N; }  // B
  std::size_t index(int t, int n) const { return static_cast<std::size_t>(t) * N + n; }
  // Place of environment n's s-th truncation in final_observations and final_values.
  std::size_t final_index(int n, int s) const { return static_cast<std::size_t>(n) * S + s; }

  int T, N, D, A;
  int S;  // most truncations of one environment within T steps

  std::vector<float> observations;  // [T, N, D] as the policy saw them (normalised if that is on)
  std::vector<float> actions;       // [T, N, A] as drawn, before clipping to the action bounds
  std::vector<float> log_probs;     // [T, N] of the policy that acted
  std::vector<float> values;        // [T, N] V(s_t) of the critic at that time
  std::vector<float> rewards;       // [T, N] raw after collect; scaled if norm_reward is on
  std::vector<std::uint8_t> terminated;  // [T, N] transition t ended the episode by itself
  std::vector<std::uint8_t> truncated;   // [T, N] transition t met the time limit
  std::vector<EpisodeEnd> ends;    // [T, N] of what ended; other places hold older ends. Or empty
  std::vector<float> last_values;  // [N] V of the observation after the block
  std::vector<int> truncations;    // [N] how many of this environment's S slots are in use
  std::vector<float> final_observations;  // [N, S, D] of the truncated episodes, in order of time
  std::vector<float> final_values;        // [N, S] V of those
  std::vector<float> advantages;          // [T, N]
};

// A run of consecutive environments.
struct Shard {
  int begin, end;
  int size() const { return end - begin; }
};

// The cut into shards whose statistics are each summed by themselves. It depends on N only, never
// on threads.
class ShardPlan {
 public:
  // Aims at 16 shards, none wider than max_size rows nor narrower than 16; up to 16 environments
  // are halved, so that two threads have work.
  ShardPlan(int num_envs, int max_size) : num_envs_(num_envs) {
    const int narrowest = num_envs <= 16 ? (num_envs + 1) / 2 : 16;
    size_ = std::min(std::max((num_envs + 15) / 16, narrowest), max_size);
  }
  int count() const { return (num_envs_ + size_ - 1) / size_; }
  Shard operator[](int i) const {
    const int begin = i * size_;
    return {begin, begin + size_ < num_envs_ ? begin + size_ : num_envs_};
  }

 private:
  int num_envs_;
  int size_;
};

}  // namespace broadloom
