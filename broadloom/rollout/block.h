// The rollout block: T steps of N environments, time-major, exactly N*T real transitions; but where
// the simulator has filler rows (VecEnvTraits), which are marked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

// What a block is made for; all that its arrays' sizes depend on.
struct BlockSizes {
  int T = 0, N = 0;
  int D = 0, A = 0;             // numbers of an observation and of an action
  int S = 0;                    // most truncations of one environment within T steps
  bool with_ends = false;       // whether there is room for how episodes ended
  Dtype dtype = Dtype::kF32;    // of observations
  float full_scale = 255.0f;    // of uint8 ones, as networks read them
  FrameLayout frames = {};      // of uint8 ones that are stacks
  ObservationType critic = {};  // what only the critic reads; of size 0: it reads what acts
  bool with_intrinsic = false;  // whether there are intrinsic rewards, and their values
  bool with_fillers = false;    // whether rows may be no transitions

  bool has_critic() const { return critic.size > 0; }
  ObservationType observation() const { return {D, dtype, full_scale, frames}; }
  std::size_t size() const { return static_cast<std::size_t>(T) * N; }  // B
};

// What an array of a block has rows for.
enum class BlockPlaces {
  kTransitions,  // [T, N, width]
  kEnvs,         // [N, width]
  kTruncations,  // [N, S, width]
};

// Which stage of the core loop makes an array.
enum class BlockStage { kCollect, kBootstrap, kTargets };

// One array of a block.
struct BlockArray {
  const char* name;
  BlockPlaces places;
  int width;  // numbers of a row
  BlockStage made_in = BlockStage::kCollect;
  bool is_hashed = false;     // instruments/hashes: of what happened, not of what was made of it
  bool is_present = true;     // whether these sizes have it
  ObservationType type = {};  // of observations; other arrays have one type for all sizes

  std::size_t rows(const BlockSizes& sizes) const {
    if (!is_present) return 0;
    if (places == BlockPlaces::kTransitions) return sizes.size();
    const std::size_t n = static_cast<std::size_t>(sizes.N);
    return places == BlockPlaces::kEnvs ? n : n * sizes.S;
  }
  std::size_t count(const BlockSizes& sizes) const {
    return rows(sizes) * static_cast<std::size_t>(width);
  }
};

struct RolloutBlock : BlockSizes {
  explicit RolloutBlock(const BlockSizes& sizes) { reshape(sizes); }
  RolloutBlock(int num_steps, int num_envs, int observation_size, int action_size,
               int max_truncations)
      : RolloutBlock(BlockSizes{.T = num_steps,
                                .N = num_envs,
                                .D = observation_size,
                                .A = action_size,
                                .S = max_truncations}) {}

  // Another block in the same memory, as far as that goes: what the arrays hold has no meaning
  // then.
  void reshape(const BlockSizes& sizes) {
    static_cast<BlockSizes&>(*this) = sizes;
    visit_arrays(
        sizes, [&](const BlockArray& array, auto member) { resize(this->*member, array, sizes); });
  }
  // Memory to be reshaped to these sizes without taking any.
  void reserve(const BlockSizes& sizes) {
    visit_arrays(
        sizes, [&](const BlockArray& array, auto member) { reserve(this->*member, array, sizes); });
  }

  // visit(BlockArray, member) for every array that a block of these sizes may have: the one list of
  // them. Those that are hashed stand in the order of cause within a step.
  template <class Visitor>
  static constexpr void visit_arrays(const BlockSizes& sizes, Visitor&& visit) {
    using Block = RolloutBlock;
    constexpr BlockPlaces kTransitions = BlockPlaces::kTransitions;
    constexpr BlockStage kCollect = BlockStage::kCollect, kBootstrap = BlockStage::kBootstrap;
    constexpr BlockStage kTargets = BlockStage::kTargets;
    visit(BlockArray{"observations", kTransitions, sizes.D, kCollect, true, true,
                     sizes.observation()},
          &Block::observations);
    visit(BlockArray{"critic_observations", kTransitions, sizes.critic.size, kCollect, true,
                     sizes.has_critic(), sizes.critic},
          &Block::critic_observations);
    visit(BlockArray{"values", kTransitions, 1, kCollect, true}, &Block::values);
    visit(BlockArray{"log_probs", kTransitions, 1, kCollect, true}, &Block::log_probs);
    visit(BlockArray{"actions", kTransitions, sizes.A, kCollect, true}, &Block::actions);
    visit(BlockArray{"rewards", kTransitions, 1, kCollect, true}, &Block::rewards);
    visit(BlockArray{"terminated", kTransitions, 1, kCollect, true}, &Block::terminated);
    visit(BlockArray{"truncated", kTransitions, 1, kCollect, true}, &Block::truncated);
    visit(BlockArray{"ends", kTransitions, 1, kCollect, false, sizes.with_ends}, &Block::ends);
    visit(BlockArray{"fillers", kTransitions, 1, kCollect, false, sizes.with_fillers},
          &Block::fillers);
    visit(BlockArray{"last_values", BlockPlaces::kEnvs, 1, kBootstrap}, &Block::last_values);
    visit(BlockArray{"truncations", BlockPlaces::kEnvs, 1, kCollect}, &Block::truncations);
    visit(BlockArray{"final_observations", BlockPlaces::kTruncations, sizes.D, kCollect, false,
                     true, sizes.observation()},
          &Block::final_observations);
    visit(BlockArray{"final_critic_observations", BlockPlaces::kTruncations, sizes.critic.size,
                     kCollect, false, sizes.has_critic(), sizes.critic},
          &Block::final_critic_observations);
    visit(BlockArray{"final_values", BlockPlaces::kTruncations, 1, kBootstrap},
          &Block::final_values);
    visit(BlockArray{"advantages", kTransitions, 1, kTargets}, &Block::advantages);
    const bool intrinsic = sizes.with_intrinsic;
    visit(BlockArray{"last_observations", BlockPlaces::kEnvs, sizes.D, kBootstrap, false, intrinsic,
                     sizes.observation()},
          &Block::last_observations);
    visit(BlockArray{"int_values", kTransitions, 1, kCollect, false, intrinsic},
          &Block::int_values);
    visit(BlockArray{"last_int_values", BlockPlaces::kEnvs, 1, kBootstrap, false, intrinsic},
          &Block::last_int_values);
    visit(BlockArray{"int_rewards", kTransitions, 1, kTargets, false, intrinsic},
          &Block::int_rewards);
    visit(BlockArray{"int_advantages", kTransitions, 1, kTargets, false, intrinsic},
          &Block::int_advantages);
  }

  // What a block of these sizes takes, in bytes.
  static std::size_t bytes(const BlockSizes& sizes) {
    std::size_t sum = 0;
    visit_arrays(sizes, [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
      sum += array_bytes<Array>(array, sizes);
    });
    return sum;
  }
  // Of a block that becomes each of these, at least one, in turn: each array has room for its
  // largest.
  static std::size_t bytes(const std::vector<BlockSizes>& shapes) {
    std::size_t sum = 0;
    visit_arrays(shapes[0], [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
      std::size_t most = 0;
      for (const BlockSizes& sizes : shapes) {
        most = std::max(most, array_bytes<Array>(array, sizes));
      }
      sum += most;
    });
    return sum;
  }
  // Of one array.
  template <class Array>
  static std::size_t array_bytes(const BlockArray& array, const BlockSizes& sizes) {
    if constexpr (!std::is_same_v<Array, Observations>) {
      return array.count(sizes) * sizeof(typename Array::value_type);
    } else if (array.is_present && array.places == BlockPlaces::kTransitions) {
      return Observations::block_bytes(array.type, sizes.T, sizes.N);
    } else {
      return array.rows(sizes) * array.type.row_bytes();
    }
  }

  std::size_t index(int t, int n) const { return static_cast<std::size_t>(t) * N + n; }
  // Whether row i is no transition.
  bool is_filler(std::size_t i) const { return !fillers.empty() && fillers[i] != 0; }
  // Rows that are transitions: N*T where there are no fillers.
  std::size_t transitions() const {
    return size() - static_cast<std::size_t>(std::count(fillers.begin(), fillers.end(), 1));
  }
  // Place of environment n's s-th truncation in final_observations and final_values.
  std::size_t final_index(int n, int s) const { return static_cast<std::size_t>(n) * S + s; }

  // How step t - 1 ended for environment n and those after it; of the first step, nothing is known.
  StepEnds ends_before(int t, int n) const {
    if (t == 0) return {};
    return {&terminated[index(t - 1, n)], &truncated[index(t - 1, n)]};
  }

  // What the critic reads of the transitions, and of final observations.
  const Observations& seen_by_critic() const {
    return has_critic() ? critic_observations : observations;
  }
  const Observations& final_seen_by_critic() const {
    return has_critic() ? final_critic_observations : final_observations;
  }

  Observations observations;         // [T, N, D] as the policy saw them (normalised if that is on)
  Observations critic_observations;  // [T, N, critic.size] as the critic did. Or empty
  std::vector<float> actions;        // [T, N, A] as drawn, before clipping to the action bounds
  std::vector<float> log_probs;      // [T, N] of the policy that acted
  std::vector<float> values;         // [T, N] V(s_t) of the critic at that time
  std::vector<float> rewards;        // [T, N] raw after collect; scaled if norm_reward is on
  std::vector<std::uint8_t> terminated;  // [T, N] transition t ended the episode by itself
  std::vector<std::uint8_t> truncated;   // [T, N] transition t met the time limit
  std::vector<EpisodeEnd> ends;  // [T, N] of what ended; other places hold older ends. Or empty
  std::vector<std::uint8_t>
      fillers;                      // [T, N] 1: an episode begins anew, and nothing else. Or empty
  std::vector<float> last_values;   // [N] V of the observation after the block
  std::vector<int> truncations;     // [N] how many of this environment's S slots are in use
  Observations final_observations;  // [N, S, D] of the truncated episodes, in order of time
  Observations final_critic_observations;  // [N, S, critic.size] likewise. Or empty
  std::vector<float> final_values;         // [N, S] V of those
  std::vector<float> advantages;           // [T, N]
  // Of intrinsic rewards, or empty. Episodes are one stream to them.
  Observations last_observations;      // [N, D] what follows the block, as observations
  std::vector<float> int_values;       // [T, N] the critic's second value of s_t
  std::vector<float> last_int_values;  // [N] likewise of the observation after the block
  std::vector<float> int_rewards;      // [T, N] of what t led to, before it is scaled
  std::vector<float> int_advantages;   // [T, N]

 private:
  template <class Number>
  static void resize(std::vector<Number>& numbers, const BlockArray& array,
                     const BlockSizes& sizes) {
    numbers.resize(array.count(sizes));
  }
  static void resize(Observations& rows, const BlockArray& array, const BlockSizes& sizes) {
    if (rows.type() != array.type) rows = Observations(array.type, 0);
    if (array.is_present && array.places == BlockPlaces::kTransitions) {
      rows.resize_block(sizes.T, sizes.N);
    } else {
      rows.resize(array.rows(sizes));
    }
  }
  template <class Number>
  static void reserve(std::vector<Number>& numbers, const BlockArray& array,
                      const BlockSizes& sizes) {
    numbers.reserve(array.count(sizes));
  }
  static void reserve(Observations& rows, const BlockArray& array, const BlockSizes& sizes) {
    if (array.is_present && array.places == BlockPlaces::kTransitions) {
      rows.reserve_block(sizes.T, sizes.N);
    } else {
      rows.reserve(array.rows(sizes));
    }
  }
};

// The sizes of a block for environments.
inline BlockSizes block_sizes(const VecEnv& envs, int num_steps, int num_envs) {
  const EnvSpec& spec = envs.spec();
  return {.T = num_steps,
          .N = num_envs,
          .D = spec.observation_size(),
          .A = spec.action_size(),
          .S = envs.max_truncations(num_steps),
          .with_ends = spec.names_success,
          .dtype = spec.observation.dtype,
          .full_scale = spec.observation.full_scale(),
          .frames = spec.observation.frame_layout(),
          .critic = observation_type(spec.critic_observation),
          .with_fillers = envs.traits().filler_rows};
}

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
