// How the parameters of a network are shared out among threads.
#pragma once

#include <span>
#include <vector>

#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// The sides of a network that several threads learn side by side; otherwise both as one.
std::span<const NetworkSide> learnt_sides(const ActorCritic& network, int threads);

// Runs of parameters that make up a side, short enough to be shared among threads; of both, the
// policy's before the value's, and none spans the two. Part of the bits contract: squares of a
// gradient are summed run by run.
std::vector<ParameterRange> parameter_chunks(const ActorCritic& network, NetworkSide side);

}  // namespace broadloom
