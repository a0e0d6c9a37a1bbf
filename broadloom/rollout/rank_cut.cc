#include "broadloom/rollout/rank_cut.h"

namespace broadloom {

RankCut::RankCut(const ShardPlan& plan, const Ranks& ranks)
    : rank_(static_cast<std::size_t>(ranks.rank())) {
  for (int r = 0; r <= ranks.size(); ++r) {
    const int shard = static_cast<int>(std::int64_t{plan.count()} * r / ranks.size());
    shards_.push_back(shard);
    envs_.push_back(shard < plan.count() ? plan[shard].begin : plan[plan.count() - 1].end);
  }
}

}  // namespace broadloom
