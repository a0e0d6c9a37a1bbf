// Critics that a block's advantages can be made with, and the block's values under each.
#pragma once

#include <functional>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "research/lab/frozen.h"

namespace broadloom {

// Values of all rows of what a critic reads. What it is made of must outlive it.
using Critic = std::function<std::vector<float>(const Observations& seen)>;

// The value side of a network, params: [P].
Critic network_critic(const ActorCritic& network, const float* params, ThreadPool& pool);

// Of a task whose observations are states, one-hot: the values of those.
Critic table_critic(std::vector<double> values);

// values, last_values and final_values of the block, as this critic has them.
void value_by(const Critic& critic, FrozenBlock& block);

// Share of the variance of what values shall be, advantages + values, that the critic explains.
double explained_variance(const Critic& critic, const RolloutBlock& block);

}  // namespace broadloom
