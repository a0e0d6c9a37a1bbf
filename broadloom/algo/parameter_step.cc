#include "broadloom/algo/parameter_step.h"

#include <algorithm>

namespace broadloom {
namespace {

constexpr std::size_t kChunk = 2048;  // part of the bits contract

}  // namespace

std::vector<NetworkSide> learnt_sides(const ActorCritic& network, int threads) {
  if (threads > 1 && network.sides_are_apart()) return {NetworkSide::kPolicy, NetworkSide::kValue};
  return {NetworkSide::kBoth};
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

ParameterStep::ParameterStep(const ActorCritic& network, int threads)
    : network_(network), sides_(learnt_sides(network, threads).size()) {
  const std::vector<NetworkSide> sides = learnt_sides(network, threads);
  for (std::size_t s = 0; s < sides.size(); ++s) {
    sides_[s].which = sides[s];
    sides_[s].chunks = parameter_chunks(network, sides[s]);
  }
}

void ParameterStep::set(const AdamStep& adam, const float* gradient, Learner& learner) {
  adam_ = adam;
  gradient_ = gradient;
  learner_ = &learner;
  for (Side& side : sides_) {
    side.adam.reset(static_cast<int>(side.chunks.size()));
    side.bf16.reset(network_.bf16_size() == 0 ? 0 : kBf16Parts);
  }
}

void ParameterStep::take(int s) {
  Side& side = sides_[static_cast<std::size_t>(s)];
  side.adam.finish([&](int chunk) {
    const ParameterRange& range = side.chunks[static_cast<std::size_t>(chunk)];
    const std::size_t begin = range.begin;
    adam_update(&learner_->params[begin], &learner_->adam_m[begin], &learner_->adam_v[begin],
                gradient_ + begin, range.size(), adam_);
  });
  side.bf16.finish([&](int part) {
    network_.refresh_bf16(learner_->params.data(), learner_->bf16_weights.data(), part, kBf16Parts,
                          side.which);
  });
}

}  // namespace broadloom
