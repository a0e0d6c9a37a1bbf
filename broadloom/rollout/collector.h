// Collects a rollout block: each group of environments runs its T steps without waiting for the
// others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/normalizer.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// The policy is frozen while a block is collected, and so are the normaliser's statistics: what raw
// observations add to them is summed per shard, for the normaliser's commit() after the update.
class Collector {
 public:
  // What is given must outlive this. normalizers: null when observations are used as they are.
  // bf16_weights: of the network, fresh for the params of every call; null in fp32.
  Collector(VecEnv& envs, const ActorCritic& network, const Actor& actor,
            ObsNormalizers normalizers, ThreadPool& pool, std::uint64_t seed,
            const Bf16Pair* bf16_weights = nullptr);

  // Fills observations to truncated, ends where there is room, truncations and final observations
  // of the block, starting at environment step first_step of the run. Fails where an observation or
  // a reward is not finite, naming environment and step. Nothing is allocated unless it fails.
  Status collect(const float* params, std::int64_t first_step, RolloutBlock& block);

  // last_values and final_values of the block: V of the observation that follows it and of the
  // final observations of truncated episodes.
  void bootstrap_values(const float* params, RolloutBlock& block);

  const ShardPlan& shards() const { return plan_; }

  // Scratch of one of `threads` threads without its network workspace, in bytes.
  static std::size_t scratch_bytes(int num_envs, int threads, const EnvSpec& spec);

 private:
  // As environments hand them out to one reader, the policy or the critic.
  struct Raw {
    Observations now, final;  // [k]
  };
  struct Scratch {
    TileWorkspace<float> work;
    Raw raw, critic_raw;
    AlignedVector<float> env_actions;  // [k, A] clipped to the bounds
    AlignedVector<float> draws;        // [A, kTileRows] uniforms or normals
    AlignedVector<float> actions;      // [A, kTileRows] as drawn
    AlignedVector<float> log_probs;    // [kTileRows]
    AlignedVector<float> terms;        // [A, kTileRows] of the actor
  };
  // What is looked at, in this order.
  enum class Value { kObservation, kCriticObservation, kReward };
  // The first value of a group that is not finite.
  struct Fault {
    int env = -1;  // none
    std::int64_t step = 0;
    Value value = Value::kObservation;
    bool is_before(const Fault& other) const;
  };
  // Neighbouring shards that one task steps together. A row's results do not depend on which rows
  // it goes with, and statistics are taken shard by shard: so how many make a group is open.
  struct alignas(kCacheLine) Group {
    int first_shard, last_shard;  // one past the last
    Shard rows;
    Fault fault;
  };

  static int shards_per_group(const ShardPlan& plan, int threads);
  void collect_group(Group& group, Scratch& scratch, const float* params, std::int64_t first_step,
                     RolloutBlock& block);
  void observe(Shard shard, Scratch& scratch) const;
  bool take_observations(Group& group, Scratch& scratch, std::int64_t step);
  void accumulate(const Group& group, const Observations& raw, ObsNormalizer* normalizer);
  Status failure() const;
  void act(Shard shard, Scratch& scratch, const float* params, std::int64_t step, int t,
           RolloutBlock& block);
  void value_rows(Shard shard, Scratch& scratch, const float* params, RolloutBlock& block);
  void draw_actions(Shard shard, Scratch& scratch, const float* params, std::int64_t step);
  void keep_actions(Shard shard, Scratch& scratch, int t, RolloutBlock& block);
  void bootstrap_rows(Shard shard, Scratch& scratch, const float* params, RolloutBlock& block);
  void value_final_observations(Shard shard, Scratch& scratch, const float* params,
                                RolloutBlock& block);
  bool check(Group& group, std::span<const float> rows, int width, std::int64_t step, Value value);
  void keep_final_observations(Shard shard, Scratch& scratch, int t, RolloutBlock& block);

  VecEnv& envs_;
  const ActorCritic& network_;
  const Actor& actor_;
  ObsNormalizers normalizers_;
  ThreadPool& pool_;
  std::uint64_t seed_;
  ShardPlan plan_;
  std::vector<Group> groups_;     // all shards
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace broadloom
