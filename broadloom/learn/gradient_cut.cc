#include "broadloom/learn/gradient_cut.h"

#include <algorithm>
#include <bit>

namespace broadloom {
namespace {

// These are part of the bits contract: they fix how sums are grouped.
constexpr std::size_t kNumbersOfChunk = 2048;
constexpr int kUsualPartialGradients = 16;
constexpr int kLeastTilesOfMore = 16;

// More than usual where each still has many tiles: for many threads and ranks, whose runs are
// powers of two.
int most_partial_gradients(int tiles) {
  const auto worth = static_cast<unsigned>(tiles / kLeastTilesOfMore);
  return std::clamp(static_cast<int>(std::bit_floor(worth)), kUsualPartialGradients,
                    kMostPartialGradients);
}

}  // namespace

// Clearing and adding one costs as much as a few per cent of a tile's arithmetic, and several times
// that where it does not stay in cache: so several tiles share one.
int partial_gradient_count(int samples, std::size_t parameters) {
  const int tiles = tiles_of(samples);
  const int tiles_of_one = parameters <= kCachedParameters ? 2 : 4;
  return std::min({std::max(4, tiles / tiles_of_one), tiles, most_partial_gradients(tiles)});
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
    for (std::size_t begin = range.begin; begin < range.end; begin += kNumbersOfChunk) {
      chunks.push_back({begin, std::min(begin + kNumbersOfChunk, range.end)});
    }
  }
  return chunks;
}

}  // namespace broadloom
