#include "broadloom/algo/parameter_chunks.h"

#include <algorithm>
#include <span>

namespace broadloom {
namespace {

constexpr std::size_t kChunk = 2048;  // part of the bits contract

void append_chunks(std::span<const ParameterRange> ranges, std::vector<ParameterRange>& chunks) {
  for (const ParameterRange& range : ranges) {
    for (std::size_t begin = range.begin; begin < range.end; begin += kChunk) {
      chunks.push_back({begin, std::min(begin + kChunk, range.end)});
    }
  }
}

}  // namespace

std::vector<NetworkSide> learnt_sides(const ActorCritic& network, int threads) {
  if (threads > 1 && network.sides_are_apart()) return {NetworkSide::kPolicy, NetworkSide::kValue};
  return {NetworkSide::kBoth};
}

std::vector<ParameterRange> parameter_chunks(const ActorCritic& network) {
  std::vector<ParameterRange> chunks;
  if (!network.sides_are_apart()) {
    append_chunks(network.ranges(NetworkSide::kBoth), chunks);
    return chunks;
  }
  for (const NetworkSide side : {NetworkSide::kPolicy, NetworkSide::kValue}) {
    append_chunks(network.ranges(side), chunks);
  }
  return chunks;
}

}  // namespace broadloom
