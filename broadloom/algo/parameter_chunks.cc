#include "broadloom/algo/parameter_chunks.h"

#include <algorithm>

namespace broadloom {
namespace {

constexpr std::size_t kChunk = 2048;  // part of the bits contract

}  // namespace

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
    for (std::size_t begin = range.begin; begin < range.end; begin += kChunk) {
      chunks.push_back({begin, std::min(begin + kChunk, range.end)});
    }
  }
  return chunks;
}

}  // namespace broadloom
