// Collects a rollout block. Each group of environments runs its T steps without waiting for the
// others. A whole-batch simulator (VecEnvTraits::whole_batch) is stepped by the caller's thread, or
// plays the block (BlockPlayer), and only the policy runs in parallel. The bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/exchange.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/kept_noise.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/rank_cut.h"
#include "broadloom/rollout/teacher.h"

namespace broadloom {

// The policy and the normaliser's statistics are frozen during collection. Sums of raw observations
// are kept per shard until the normaliser's commit() after the update.
class Collector {
 public:
  // All arguments must outlive this. normalizers: null if observations are not normalised. ranks:
  // the processes that collect the block together. Each rank steps the environments of its own
  // shards. When a call returns, it has the rows and normaliser sums of all ranks, but not the
  // states of their environments. Whole-batch simulators cannot be divided among ranks. teacher:
  // labels every observation (RolloutBlock::labels); null: none.
  Collector(VecEnv& envs, const ActorCritic& network, const Actor& actor,
            ObsNormalizers normalizers, ThreadPool& pool, std::uint64_t seed,
            Ranks& ranks = Ranks::alone(), const Teacher* teacher = nullptr);

  // Steps only environments [0, num_envs) from the next block on. Allocates.
  void regroup(int num_envs);

  // Fills the arrays of BlockStage::kCollect, starting at environment step first_step of the run.
  // The states of a recurrent network go on from block.next_states.
  // Fails if an observation or reward is not finite; the message names environment and step. If the
  // environments fail, the message includes their message. All ranks fail alike. Allocates only
  // when it fails, with several ranks, or for environments that play the block (block_player.h).
  Status collect(const float* params, std::int64_t first_step, RolloutBlock& block);

  // Fills last_values and final_values of the block: V of the next observation, and of the final
  // observations of truncated episodes. Both read a recurrent network's states and leave them.
  void bootstrap_values(const float* params, RolloutBlock& block);

  const ShardPlan& shards() const { return plan_; }
  const RankCut& cut() const { return cut_; }

  // Memory of a collector, bytes: scratch and a workspace per thread, and the rows of a whole-batch
  // simulator.
  static std::size_t bytes(int num_envs, int threads, const ActorCritic& network,
                           const VecEnv& envs);

 private:
  // Raw observations for one reader, the policy or the critic.
  struct Raw {
    Observations now, final;  // [k]
  };
  // Inputs and outputs of k environments.
  struct EnvRows {
    EnvRows(std::size_t k, const ActorCritic& network, const EnvSpec& spec);
    static std::size_t row_bytes(const ActorCritic& network, const EnvSpec& spec);
    Raw policy, critic;            // critic: empty if it reads the policy's observations
    AlignedVector<float> actions;  // [k, A] within the bounds
    MaskRows masks;                // [k, M] of the observations
  };
  // The rows of one group.
  struct GroupRows {
    EnvRows& envs;
    std::size_t first;  // row of its first environment
    float* actions(int size) const { return envs.actions.data() + first * size; }
  };
  struct alignas(kCacheLine) Scratch {
    TileWorkspace<float> work;
    EnvRows envs;                    // of one group; empty for a whole-batch simulator
    AlignedVector<float> draws;      // [A, kTileRows] uniforms or normals
    AlignedVector<float> actions;    // [A, kTileRows] as drawn
    AlignedVector<float> log_probs;  // [kTileRows]
    AlignedVector<float> terms;      // [A, kTileRows] scratch of the actor
    std::array<std::int32_t, kTileRows> policies{};  // of the rows, with several policies
    TeacherScratch teacher;                          // empty without a teacher
  };
  // The first fault of a group.
  struct Fault {
    int env = -1;  // none
    std::int64_t step = 0;
    FaultPlace place = FaultPlace::kObservation;
    Status error;         // of the environments, or more exact than the place
    std::string group{};  // of an observation that is not finite; "": it has none
    // Sort key within the block that begins at first_step.
    std::uint64_t order(std::int64_t first_step) const {
      return fault_order(step - first_step, place, env);
    }
    Status status() const;
  };
  // Neighbouring shards that one task steps together. The group size does not change results: rows
  // are independent, and statistics are summed per shard.
  struct alignas(kCacheLine) Group {
    int first_shard, last_shard;  // one past the last
    Shard rows;
    Fault fault;
  };

  static int shards_per_group(int shard_size, int shards, int threads);
  Status share_rows(std::int64_t first_step, RolloutBlock& block);
  void collect_group(Group& group, Scratch& scratch, const float* params, std::int64_t first_step,
                     RolloutBlock& block);
  Status collect_lockstep(const float* params, std::int64_t first_step, RolloutBlock& block);
  bool take_turn(const float* params, std::int64_t first_step, int t, RolloutBlock& block);
  void begin_block(Group& group, RolloutBlock& block);
  GroupRows rows_of(const Group& group, Scratch& scratch);
  bool choose(Group& group, const GroupRows& rows, Scratch& scratch, const float* params,
              std::int64_t step, int t, RolloutBlock& block);
  StepRows step_rows(Shard shard, const GroupRows& rows, int t, RolloutBlock& block) const;
  Status step_envs(Shard shard, const GroupRows& rows, int t, RolloutBlock& block);
  bool check_step(Group& group, const GroupRows& rows, std::int64_t step, int t,
                  RolloutBlock& block);
  void observe(Shard shard, const GroupRows& rows) const;
  bool keep_masks(Group& group, const GroupRows& rows, std::int64_t step, int t,
                  RolloutBlock& block);
  bool take_observations(Group& group, const GroupRows& rows, std::int64_t step, int t,
                         const RolloutBlock& block);
  void mark_fillers(Shard shard, int t, RolloutBlock& block) const;
  void accumulate(const Group& group, const float* raw, int width, const std::uint8_t* fillers,
                  ObsNormalizer& normalizer);
  const Fault* first_fault(std::int64_t first_step) const;
  void act(Shard shard, const GroupRows& rows, Scratch& scratch, const float* params,
           std::int64_t step, int t, RolloutBlock& block);
  static const std::int32_t* policies_of(Shard shard, int steps, Scratch& scratch,
                                         const RolloutBlock& block);
  bool values_wait() const { return network_.sides_are_apart() || network_.is_recurrent(); }
  void begin_sequence(Shard shard, int t, RolloutBlock& block) const;
  void read_states(const float* states, int rows, TileWorkspace<float>& work) const;
  void keep_policy_states(Shard shard, const TileWorkspace<float>& work, RolloutBlock& block) const;
  void forget_ended(Shard shard, int t, RolloutBlock& block) const;
  void read_value_states(Shard shard, int t, int steps, TileWorkspace<float>& work,
                         const RolloutBlock& block) const;
  void keep_value_states(Shard shard, int t, int steps, const TileWorkspace<float>& work,
                         std::array<int, kTileRows>& slots, RolloutBlock& block) const;
  static void keep(const ObsNormalizer* normalizer, const Observations& raw, std::size_t raw_row,
                   int rows, Observations& out, std::size_t out_row,
                   const StepEnds& previous_ends = {});
  static void keep_values(const TileWorkspace<float>& work, std::size_t tile_row, std::size_t rows,
                          std::size_t block_row, RolloutBlock& block);
  void value_rows(Shard shard, Scratch& scratch, const float* params, RolloutBlock& block);
  void draw_actions(Shard shard, Scratch& scratch, std::int64_t step, int t);
  void keep_actions(Shard shard, const GroupRows& rows, Scratch& scratch, int t,
                    RolloutBlock& block);
  bool keep_labels(Group& group, const GroupRows& rows, Scratch& scratch, std::int64_t step, int t,
                   RolloutBlock& block) const;
  void bootstrap_rows(const Group& group, Scratch& scratch, const float* params,
                      RolloutBlock& block);
  void value_final_observations(Shard shard, Scratch& scratch, const float* params,
                                RolloutBlock& block);
  bool check_bytes(Group& group, std::span<const float> rows, std::int64_t step) const;
  bool check(Group& group, std::span<const float> rows, int width, std::int64_t step,
             FaultPlace place);
  bool keep_final_observations(Group& group, const GroupRows& rows, std::int64_t step, int t,
                               RolloutBlock& block);

  VecEnv& envs_;
  VecEnvTraits simulator_;
  const ActorCritic& network_;
  const Actor& actor_;
  ObsNormalizers normalizers_;
  ThreadPool& pool_;
  Ranks& ranks_;
  Exchange exchange_;
  std::uint64_t seed_;
  const Teacher* teacher_;
  ShardPlan plan_;
  RankCut cut_;
  EnvRows whole_;                 // all environments of a whole-batch simulator; else empty
  std::vector<Group> groups_;     // all of this rank's shards
  std::vector<Scratch> scratch_;  // [threads]
  KeptNoise noise_;               // of all environments
};

}  // namespace broadloom
