// Divides the work of a gradient: samples into partial gradients, parameters into chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/host_device.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Largest number of parameters of which a partial gradient stays in cache. Part of the bits
// contract.
inline constexpr std::size_t kCachedParameters = 32768;

// Largest number of partial gradients. Part of the bits contract.
inline constexpr int kMostPartialGradients = 64;

// Number of partial gradients of `samples` samples, which may be computed in parallel. Part of the
// bits contract.
int partial_gradient_count(int samples, std::size_t parameters);

// Number of tiles of kTileRows rows.
inline int tile_count(int samples) { return (samples + kTileRows - 1) / kTileRows; }

// The first tile of partial gradient p; `tiles` for p = partials. Part of the bits contract.
BROADLOOM_HD inline int first_tile(int p, int tiles, int partials) {
  return static_cast<int>(static_cast<std::int64_t>(p) * tiles / partials);
}

// The sides of a network that separate tasks learn: policy and value with several threads and
// separate sides, else both as one.
std::span<const NetworkSide> learnt_sides(const ActorCritic& network, int threads);

// Divides the parameters of a side into chunks for threads. With both sides, the policy's come
// first and no chunk spans both. Part of the bits contract: squares of a gradient are summed chunk
// by chunk.
std::vector<ParameterRange> parameter_chunks(const ActorCritic& network, NetworkSide side);

}  // namespace broadloom
