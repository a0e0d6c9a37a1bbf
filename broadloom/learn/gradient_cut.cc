#include "broadloom/learn/gradient_cut.h"

#include <algorithm>
#include <bit>

namespace broadloom {
namespace {

// Part of the bits contract: these constants fix how sums are grouped.
constexpr std::size_t kChunkNumbers = 2048;
constexpr int kUsualPartialGradients = 16;
constexpr int kMinTilesPerExtraPartial = 16;

// Allows more partial gradients than usual, for many threads and ranks, if each still has many
// tiles. A power of two, as are the runs of ranks.
int most_partial_gradients(int tiles) {
  const auto affordable = static_cast<unsigned>(tiles / kMinTilesPerExtraPartial);
  return std::clamp(static_cast<int>(std::bit_floor(affordable)), kUsualPartialGradients,
                    kMostPartialGradients);
}

}  // namespace

// Several tiles share a partial gradient, because clearing and adding it costs a few per cent of a
// tile's arithmetic, and several times that outside the cache.
int partial_gradient_count(int samples, std::size_t parameters) {
  const int tiles = tile_count(samples);
  const int tiles_per_partial = parameters <= kCachedParameters ? 2 : 4;
  return std::min({std::max(4, tiles / tiles_per_partial), tiles, most_partial_gradients(tiles)});
}

std::span<const NetworkSide> learnt_sides(const ActorCritic& network, int threads) {
  static constexpr NetworkSide kTogether[] = {NetworkSide::kBoth};
  static constexpr NetworkSide kApart[] = {NetworkSide::kPolicy, NetworkSide::kValue};
  if (threads > 1 && network.sides_are_apart()) return kApart;
  return kTogether;
}

std::vector<ParameterRange> parameter_chunks(const ActorCritic& network, NetworkSide side) {
  std::vector<ParameterRange> chunks;
  if (side == NetworkSide::kBoth && network.sides_are_apart()) {
    chunks = parameter_chunks(network, NetworkSide::kPolicy);
    const std::vector<ParameterRange> values = parameter_chunks(network, NetworkSide::kValue);
    chunks.insert(chunks.end(), values.begin(), values.end());
    return chunks;
  }
  for (const ParameterRange& range : network.ranges(side)) {
    for (std::size_t begin = range.begin; begin < range.end; begin += kChunkNumbers) {
      chunks.push_back({begin, std::min(begin + kChunkNumbers, range.end)});
    }
  }
  return chunks;
}

}  // namespace broadloom
