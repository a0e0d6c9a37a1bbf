// Critics for a block's advantages, and the block's values under each.
#pragma once

#include <functional>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "research/lab/frozen.h"

namespace broadloom {

// Values of all rows of critic observations. The objects it refers to must outlive it.
using Critic = std::function<std::vector<float>(const Observations& seen)>;

// The value side of a network, params: [P]. norm: of its values; null: it outputs them.
Critic network_critic(const ActorCritic& network, const float* params, ThreadPool& pool,
                      const ValueNormalizer* norm = nullptr);

// A table of state values, for tasks with one-hot states as observations.
Critic table_critic(std::vector<double> values);

// Overwrites values, last_values and final_values of the block with this critic's.
void value_by(const Critic& critic, FrozenBlock& block);

// Share of the variance of the targets, advantages + values, that the critic explains.
double explained_variance(const Critic& critic, const RolloutBlock& block);

}  // namespace broadloom
