// How the work of a gradient is cut: its samples into partial gradients, its parameters into
// chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/host_device.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Parameters up to which a partial gradient stays in cache. Part of the bits contract.
inline constexpr std::size_t kCachedParameters = 32768;

// The most of them. Part of the bits contract.
inline constexpr int kMostPartialGradients = 64;

// Partial gradients that so many samples are summed in: what may run at the same time. Part of the
// bits contract.
int partial_gradient_count(int samples, std::size_t parameters);

// Tiles of kTileRows that so many samples make.
inline int tiles_of(int samples) { return (samples + kTileRows - 1) / kTileRows; }

// The first of those tiles of partial gradient p of so many; that of p = partials is the end. Part
// of the bits contract.
BROADLOOM_HD inline int first_tile(int p, int tiles, int partials) {
  return static_cast<int>(static_cast<std::int64_t>(p) * tiles / partials);
}

// The sides of a network that several threads learn side by side; otherwise both as one.
std::span<const NetworkSide> learnt_sides(const ActorCritic& network, int threads);

// Runs of parameters that make up a side, short enough to be shared among threads; of both, the
// policy's before the value's, and none spans the two. Part of the bits contract: squares of a
// gradient are summed run by run.
std::vector<ParameterRange> parameter_chunks(const ActorCritic& network, NetworkSide side);

}  // namespace broadloom
