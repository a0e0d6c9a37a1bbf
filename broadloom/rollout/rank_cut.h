// Divides the environments among ranks by whole shards, because statistics are summed per shard.
#pragma once

#include <span>
#include <vector>

#include "broadloom/core/ranks.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// With more ranks than shards, some ranks have none.
class RankCut {
 public:
  RankCut(const ShardPlan& plan, const Ranks& ranks);

  // This rank's part.
  int first_shard() const { return shards_[rank_]; }
  int last_shard() const { return shards_[rank_ + 1]; }  // one past
  Shard envs() const { return {envs_[rank_], envs_[rank_ + 1]}; }
  // Rank r has shards, or environments, [bounds[r], bounds[r + 1]).
  std::span<const int> shard_bounds() const { return shards_; }
  std::span<const int> env_bounds() const { return envs_; }

 private:
  std::size_t rank_;
  std::vector<int> shards_, envs_;  // [ranks + 1]
};

}  // namespace broadloom
