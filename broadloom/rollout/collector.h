// Collects a rollout block: each group of environments runs its T steps without waiting for the
// others. A simulator that acts on all of them at once (VecEnvTraits::whole_batch) is stepped as
// one, by the caller, between acting in parallel: with the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/exchange.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/rank_cut.h"

namespace broadloom {

// The policy is frozen while a block is collected, and so are the normaliser's statistics: what raw
// observations add to them is summed per shard, for the normaliser's commit() after the update.
class Collector {
 public:
  // What is given must outlive this. normalizers: null when observations are used as they are.
  // ranks: that collect the block together. Each steps the environments of its own shards, and has
  // the rows and the normalisers' sums of all when a call returns; what the other environments are
  // in is theirs to know. They are not simulators that act on all at once.
  Collector(VecEnv& envs, const ActorCritic& network, const Actor& actor,
            ObsNormalizers normalizers, ThreadPool& pool, std::uint64_t seed,
            Ranks& ranks = Ranks::alone());

  // From the next block on the environments [0, num_envs) alone are stepped. Allocates.
  void regroup(int num_envs);

  // Fills observations to truncated, ends where there is room, truncations and final_observations
  // of the block, starting at environment step first_step of the run. Fails where an observation or
  // a reward is not finite, naming environment and step, and where the environments fail to step,
  // with their words; on all ranks alike. Nothing is allocated unless it fails, or ranks are
  // several.
  Status collect(const float* params, std::int64_t first_step, RolloutBlock& block);

  // last_values and final_values of the block: V of the observation that follows it and of the
  // final observations of truncated episodes.
  void bootstrap_values(const float* params, RolloutBlock& block);

  const ShardPlan& shards() const { return plan_; }
  const RankCut& cut() const { return cut_; }

  // What it holds, in bytes: scratch and a workspace for each thread, and rows of environments that
  // are stepped as one.
  static std::size_t bytes(int num_envs, int threads, const ActorCritic& network,
                           const VecEnv& envs);

 private:
  // As environments hand them out to one reader, the policy or the critic.
  struct Raw {
    Observations now, final;  // [k]
  };
  // What goes between the collector and k environments.
  struct EnvRows {
    EnvRows(std::size_t k, const ActorCritic& network, const EnvSpec& spec);
    static std::size_t row_bytes(const ActorCritic& network, const EnvSpec& spec);
    Raw policy, critic;            // the critic's is empty where it reads what the policy does
    AlignedVector<float> actions;  // [k, A] clipped to the bounds
  };
  // A group's part of them.
  struct GroupRows {
    EnvRows& of;
    std::size_t first;  // row of its first environment
    float* actions(int size) const { return of.actions.data() + first * size; }
  };
  struct Scratch {
    TileWorkspace<float> work;
    EnvRows envs;                    // of one group; of none where all are stepped as one
    AlignedVector<float> draws;      // [A, kTileRows] uniforms or normals
    AlignedVector<float> actions;    // [A, kTileRows] as drawn
    AlignedVector<float> log_probs;  // [kTileRows]
    AlignedVector<float> terms;      // [A, kTileRows] of the actor
  };
  // The first thing that went wrong in a group.
  struct Fault {
    int env = -1;  // none
    std::int64_t step = 0;
    FaultPlace place = FaultPlace::kObservation;
    Status told;  // by the environments
    // Of faults since first_step.
    std::uint64_t order(std::int64_t first_step) const {
      return fault_order(step - first_step, place, env);
    }
    Status status() const;
  };
  // Neighbouring shards that one task steps together. A row's results do not depend on which rows
  // it goes with, and statistics are taken shard by shard: so how many make a group is open.
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
  void begin_block(Group& group, RolloutBlock& block);
  GroupRows rows_of(const Group& group, Scratch& scratch);
  bool choose(Group& group, const GroupRows& rows, Scratch& scratch, const float* params,
              std::int64_t step, int t, RolloutBlock& block);
  Status step_envs(Shard shard, const GroupRows& rows, int t, RolloutBlock& block);
  bool take_in(Group& group, const GroupRows& rows, std::int64_t step, int t, RolloutBlock& block);
  void observe(Shard shard, const GroupRows& rows) const;
  bool take_observations(Group& group, const GroupRows& rows, std::int64_t step, int t,
                         const RolloutBlock& block);
  void mark_fillers(Shard shard, int t, RolloutBlock& block) const;
  void accumulate(const Group& group, const float* raw, int width, const std::uint8_t* fillers,
                  ObsNormalizer& normalizer);
  const Fault* first_fault(std::int64_t first_step) const;
  void act(Shard shard, const GroupRows& rows, Scratch& scratch, const float* params,
           std::int64_t step, int t, RolloutBlock& block);
  static void keep(const ObsNormalizer* normalizer, const Observations& raw, std::size_t from,
                   int rows, Observations& out, std::size_t to, const StepEnds& before = {});
  static void keep_values(const TileWorkspace<float>& work, std::size_t from, std::size_t rows,
                          std::size_t to, RolloutBlock& block);
  void value_rows(Shard shard, Scratch& scratch, const float* params, RolloutBlock& block);
  void draw_actions(Shard shard, Scratch& scratch, const float* params, std::int64_t step);
  void keep_actions(Shard shard, const GroupRows& rows, Scratch& scratch, int t,
                    RolloutBlock& block);
  void bootstrap_rows(const Group& group, Scratch& scratch, const float* params,
                      RolloutBlock& block);
  void value_final_observations(Shard shard, Scratch& scratch, const float* params,
                                RolloutBlock& block);
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
  ShardPlan plan_;
  RankCut cut_;
  EnvRows whole_;                 // of all environments, where they are stepped as one
  std::vector<Group> groups_;     // all of this rank's shards
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace broadloom
