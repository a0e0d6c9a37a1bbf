// The rollout block: T steps of N environments, time-major. All N*T rows are real transitions
// unless the simulator has filler rows (VecEnvTraits), which are marked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

// Everything that the sizes of a block's arrays depend on.
struct BlockSizes {
  int T = 0, N = 0;
  int D = 0, A = 0;             // numbers per observation and per action
  int M = 0;                    // flags of valid actions per observation; 0: no masks
  int S = 0;                    // maximum truncations per environment in T steps
  bool with_ends = false;       // whether `ends` is present
  Dtype dtype = Dtype::kF32;    // of observations
  float full_scale = 255.0f;    // divisor when networks read uint8 observations
  FrameLayout frames = {};      // of stacked observations
  ByteRuns byte_runs = {};      // of observations in groups
  ObservationType critic = {};  // critic observations; size 0: critic reads `observations`
  bool with_intrinsic = false;  // whether intrinsic rewards and values are present
  bool with_fillers = false;    // whether some rows are not transitions
  bool with_means = false;      // whether the policy's outputs are present
  int policy_outputs = 0;       // how many they are; 0: A
  bool with_labels = false;     // whether a teacher's outputs are present
  int state_size = 0;           // S of a recurrent network (ActorCritic::state_size()), or 0
  int sequence = 0;             // L, steps between kept states of a recurrent network; 0: T
  int policies = 1;             // that collect, N / policies environments each; the last one leads

  bool has_critic() const { return critic.size > 0; }
  int mean_size() const { return policy_outputs > 0 ? policy_outputs : A; }
  int envs_per_policy() const { return N / policies; }
  // The policy that acts in environment n.
  int policy_of(int n) const { return n / envs_per_policy(); }
  // The leader's first environment; 0 if there is one policy.
  int leader_begin() const { return N - envs_per_policy(); }
  // Whether the observations after the block are kept.
  bool with_last() const { return with_intrinsic || policies > 1; }
  ObservationType observation() const { return {D, dtype, full_scale, frames, byte_runs}; }
  std::size_t size() const { return static_cast<std::size_t>(T) * N; }  // B
  int sequence_steps() const { return sequence > 0 ? sequence : T; }    // L
  // Row of `states` for the sequence that begins with step t of environment n.
  std::size_t sequence_row(int t, int n) const {
    return static_cast<std::size_t>(t / sequence_steps()) * N + n;
  }
};

// The meaning of an array's rows.
enum class BlockPlaces {
  kTransitions,  // [T, N, width]
  kEnvs,         // [N, width]
  kSequences,    // [T / L, N, width]
  kTruncations,  // [N, S, width]
};

// The stage of the core loop that fills an array.
enum class BlockStage { kCollect, kBootstrap, kTargets };

// One array of a block.
struct BlockArray {
  const char* name;
  BlockPlaces places;
  int width;  // numbers per row
  BlockStage made_in = BlockStage::kCollect;
  bool is_hashed = false;     // whether hashes.bin covers it (docs/formats/hashes.md)
  bool is_present = true;     // with these sizes
  ObservationType type = {};  // used for observations only

  std::size_t rows(const BlockSizes& sizes) const {
    if (!is_present) return 0;
    if (places == BlockPlaces::kTransitions) return sizes.size();
    const std::size_t n = static_cast<std::size_t>(sizes.N);
    if (places == BlockPlaces::kSequences) return sizes.sequence_row(sizes.T, 0);
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

  // Changes the sizes and reuses the memory if it suffices. The contents become meaningless.
  void reshape(const BlockSizes& sizes) {
    static_cast<BlockSizes&>(*this) = sizes;
    visit_arrays(
        sizes, [&](const BlockArray& array, auto member) { resize(this->*member, array, sizes); });
  }
  // Allocates memory so that a later reshape() to these sizes allocates nothing.
  void reserve(const BlockSizes& sizes) {
    visit_arrays(
        sizes, [&](const BlockArray& array, auto member) { reserve(this->*member, array, sizes); });
  }

  // Calls visit(BlockArray, member) for every array of a block of these sizes. This is the only
  // list of arrays. Hashed arrays come in the order in which a step computes them.
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
    visit(BlockArray{"valid_actions", kTransitions, sizes.M, kCollect, false, sizes.M > 0},
          &Block::valid_actions);
    visit(BlockArray{"values", kTransitions, 1, kCollect, true}, &Block::values);
    visit(BlockArray{"log_probs", kTransitions, 1, kCollect, true}, &Block::log_probs);
    visit(BlockArray{"actions", kTransitions, sizes.A, kCollect, true}, &Block::actions);
    visit(BlockArray{"means", kTransitions, sizes.mean_size(), kCollect, false, sizes.with_means},
          &Block::means);
    visit(BlockArray{"labels", kTransitions, sizes.mean_size(), kCollect, false, sizes.with_labels},
          &Block::labels);
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
    visit(BlockArray{"last_observations", BlockPlaces::kEnvs, sizes.D, kBootstrap, false,
                     sizes.with_last(), sizes.observation()},
          &Block::last_observations);
    visit(BlockArray{"last_critic_observations", BlockPlaces::kEnvs, sizes.critic.size, kBootstrap,
                     false, sizes.policies > 1 && sizes.has_critic(), sizes.critic},
          &Block::last_critic_observations);
    visit(BlockArray{"int_values", kTransitions, 1, kCollect, false, intrinsic},
          &Block::int_values);
    visit(BlockArray{"last_int_values", BlockPlaces::kEnvs, 1, kBootstrap, false, intrinsic},
          &Block::last_int_values);
    visit(BlockArray{"int_rewards", kTransitions, 1, kTargets, false, intrinsic},
          &Block::int_rewards);
    visit(BlockArray{"int_advantages", kTransitions, 1, kTargets, false, intrinsic},
          &Block::int_advantages);
    const int state = sizes.state_size;
    visit(BlockArray{"states", BlockPlaces::kSequences, state, kCollect, false, state > 0},
          &Block::states);
    visit(BlockArray{"next_states", BlockPlaces::kEnvs, state, kCollect, false, state > 0},
          &Block::next_states);
    visit(BlockArray{"final_states", BlockPlaces::kTruncations, state, kCollect, false, state > 0},
          &Block::final_states);
  }

  // Memory of a block of these sizes, bytes.
  static std::size_t bytes(const BlockSizes& sizes) {
    std::size_t sum = 0;
    visit_arrays(sizes, [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
      sum += array_bytes<Array>(array, sizes);
    });
    return sum;
  }
  // Memory of a block that takes each of these shapes (at least one) in turn, bytes. Each array has
  // room for its largest shape.
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
  // Memory of one array, bytes.
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
  // Whether row i is not a transition.
  bool is_filler(std::size_t i) const { return !fillers.empty() && fillers[i] != 0; }
  // Number of rows that are transitions: N*T without fillers.
  std::size_t transitions() const {
    return size() - static_cast<std::size_t>(std::count(fillers.begin(), fillers.end(), 1));
  }
  // Index of environment n's s-th truncation in final_observations and final_values.
  std::size_t final_index(int n, int s) const { return static_cast<std::size_t>(n) * S + s; }

  // Flags of valid actions of row i; null without masks.
  const std::uint8_t* valid_row(std::size_t i) const {
    return valid_actions.empty() ? nullptr : &valid_actions[i * static_cast<std::size_t>(M)];
  }
  // Copies row i's flags of valid actions to row `row` of `flags`, if there are any.
  void copy_valid(std::size_t i, std::size_t row, std::vector<std::uint8_t>& flags) const {
    if (M > 0) std::copy_n(valid_row(i), M, &flags[row * static_cast<std::size_t>(M)]);
  }

  // Whether an episode ends with row i, and whether step t of environment n follows such a row of
  // the block.
  bool ends_at(std::size_t i) const { return terminated[i] != 0 || truncated[i] != 0; }
  bool begins_at(int t, int n) const { return t > 0 && ends_at(index(t - 1, n)); }

  // End flags of step t - 1 from environment n on; null for the first step.
  StepEnds ends_before(int t, int n) const {
    if (t == 0) return {};
    return {&terminated[index(t - 1, n)], &truncated[index(t - 1, n)]};
  }

  // The critic's inputs: of the transitions, of final observations, and of those after the block.
  const Observations& critic_inputs() const {
    return has_critic() ? critic_observations : observations;
  }
  const Observations& final_critic_inputs() const {
    return has_critic() ? final_critic_observations : final_observations;
  }
  const Observations& last_critic_inputs() const {
    return has_critic() ? last_critic_observations : last_observations;
  }

  Observations observations;                // [T, N, D] policy inputs (normalised if that is on)
  Observations critic_observations;         // [T, N, critic.size] critic inputs, or empty
  std::vector<std::uint8_t> valid_actions;  // [T, N, M] flags (env/action_masks.h), or empty
  std::vector<float> actions;               // [T, N, A] as drawn (PolicyDistribution::played)
  std::vector<float> means;                 // [T, N, mean_size()] that drew them, or empty
  std::vector<float> labels;                // [T, N, mean_size()] a teacher's outputs, or empty
  std::vector<float> log_probs;             // [T, N] of the policy that collected
  std::vector<float> values;                // [T, N] V(s_t) at collection time
  std::vector<float> rewards;               // [T, N] raw after collect; scaled if norm_reward is on
  std::vector<std::uint8_t> terminated;     // [T, N] the environment ended the episode
  std::vector<std::uint8_t> truncated;      // [T, N] the time limit ended the episode
  std::vector<EpisodeEnd> ends;             // [T, N] valid where an episode ended; or empty
  std::vector<std::uint8_t> fillers;  // [T, N] 1: this row is a reset, not a transition; or empty
  std::vector<float> last_values;     // [N] V of the observation that follows the block
  std::vector<int> truncations;       // [N] used slots of the environment's S slots
  Observations final_observations;    // [N, S, D] of truncated episodes, in order of time
  Observations final_critic_observations;  // [N, S, critic.size], or empty
  std::vector<float> final_values;         // [N, S] V of final observations
  std::vector<float> advantages;           // [T, N]
  // After the block, as in `observations`; or empty.
  Observations last_observations;         // [N, D] with with_last()
  Observations last_critic_observations;  // [N, critic.size] with several policies
  // For intrinsic rewards, or empty. Intrinsic returns continue across the ends of episodes.
  std::vector<float> int_values;       // [T, N] the critic's intrinsic value of s_t
  std::vector<float> last_int_values;  // [N] of the observation that follows the block
  std::vector<float> int_rewards;      // [T, N] of the next observation, before scaling
  std::vector<float> int_advantages;   // [T, N]
  // For recurrent networks, or empty. A state is 0 before an episode's first step.
  std::vector<float> states;        // [T / L, N, state_size] before sequences' first steps
  std::vector<float> next_states;   // [N, state_size] after its last step; the next block's first
  std::vector<float> final_states;  // [N, S, state_size] of the critic, before final observations

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

// Block sizes that suit an environment.
inline BlockSizes block_sizes(const VecEnv& envs, int num_steps, int num_envs) {
  const EnvSpec& spec = envs.spec();
  return {.T = num_steps,
          .N = num_envs,
          .D = spec.observation_size(),
          .A = spec.action_size(),
          .M = spec.action.mask_size(),
          .S = envs.max_truncations(num_steps),
          .with_ends = spec.names_success,
          .dtype = spec.observation.dtype,
          .full_scale = spec.observation.full_scale(),
          .frames = spec.observation.frame_layout(),
          .byte_runs = byte_runs(spec.observation),
          .critic = observation_type(spec.critic_observation),
          .with_fillers = envs.traits().filler_rows};
}

// Consecutive environments [begin, end).
struct Shard {
  int begin, end;
  int size() const { return end - begin; }
};

// Divides the environments into shards. Statistics are summed shard by shard. The division depends
// on N only, never on threads.
class ShardPlan {
 public:
  // Aims at 16 shards of 16 to max_size rows. Up to 16 environments make two shards, so that two
  // threads have work.
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
