#include "broadloom/learn/rank_sums.h"

#include <cstring>

#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// Largest size of all nodes together that is sent whole, bytes. Above it, slices save more traffic
// than their second message costs. (Not part of the bits contract: the order of additions is the
// same.)
constexpr std::size_t kSentWhole = 256 * 1024;

bool is_sent_whole(std::size_t parameters, int nodes) {
  return static_cast<std::size_t>(nodes) * parameters * sizeof(float) <= kSentWhole;
}

// First number of a rank's slice.
std::size_t slice_begin(std::size_t parameters, int rank, int ranks) {
  return parameters * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
}

// The same order of additions as in PartialGradients.
void add_tree(float* nodes, int count, std::size_t numbers) {
  for (int stride = 1; stride < count; stride *= 2) {
    for (int n = 0; n + stride < count; n += 2 * stride) {
      add_into(nodes + static_cast<std::size_t>(n) * numbers,
               nodes + static_cast<std::size_t>(n + stride) * numbers, numbers);
    }
  }
}

}  // namespace

RankRuns::RankRuns(int partial_count, int ranks) : partials(partial_count) {
  while ((partials + length - 1) / length > ranks) length *= 2;
  nodes = (partials + length - 1) / length;
}

RankSums::RankSums(Ranks& ranks, std::size_t parameters)
    : ranks_(ranks), exchange_(ranks), parameters_(parameters) {
  if (ranks.size() == 1) return;
  nodes_.resize(bytes(parameters, ranks.size()) / sizeof(float));
  for (int r = 0; r <= ranks.size(); ++r) {
    slices_.push_back(slice_begin(parameters, r, ranks.size()) * sizeof(float));
  }
  node_offsets_.resize(slices_.size());
  empty_slices_.resize(slices_.size());
}

std::size_t RankSums::bytes(std::size_t parameters, int ranks) {
  if (ranks == 1 || parameters == 0) return 0;
  const std::size_t slice = parameters / static_cast<std::size_t>(ranks) + 1;
  return std::max(kSentWhole / sizeof(float), slice * static_cast<std::size_t>(ranks)) *
         sizeof(float);
}

std::size_t RankSums::received_bytes(std::size_t parameters, int nodes, int ranks) {
  const auto others = static_cast<std::size_t>(nodes - 1);
  if (is_sent_whole(parameters, nodes)) return others * parameters * sizeof(float);
  const std::size_t slice = slice_begin(parameters, 1, ranks);
  return (others * slice + parameters - slice) * sizeof(float);
}

void RankSums::add(const RankRuns& runs, float* grads, std::byte* notes, std::size_t note_bytes) {
  for (int r = 0; r < runs.nodes; ++r) {
    const auto begin = static_cast<std::size_t>(runs.begin(r));
    const auto end = static_cast<std::size_t>(runs.end(r));
    exchange_.add(notes + begin * note_bytes, (end - begin) * note_bytes, r);
  }
  if (is_sent_whole(parameters_, runs.nodes)) {
    add_whole(runs.nodes, grads);
  } else {
    exchange_.finish();
    add_slices(runs.nodes, grads);
  }
}

// One message holds the nodes and the notes.
void RankSums::add_whole(int nodes, float* grads) {
  const std::size_t bytes = parameters_ * sizeof(float);
  const auto node = [&](int n) { return &nodes_[static_cast<std::size_t>(n) * parameters_]; };
  if (ranks_.rank() < nodes) std::memcpy(node(ranks_.rank()), grads, bytes);
  for (int n = 0; n < nodes; ++n) exchange_.add(node(n), bytes, n);
  exchange_.finish();
  add_tree(node(0), nodes, parameters_);
  std::memcpy(grads, node(0), bytes);
}

void RankSums::add_slices(int nodes, float* grads) {
  const auto rank = static_cast<std::size_t>(ranks_.rank());
  const std::size_t bytes = slices_[rank + 1] - slices_[rank];
  for (std::size_t r = 0; r < node_offsets_.size(); ++r) {
    node_offsets_[r] = std::min(r, static_cast<std::size_t>(nodes)) * bytes;
  }
  std::byte* const whole = reinterpret_cast<std::byte*>(grads);
  ranks_.deal(whole, ranks_.rank() < nodes ? slices_ : empty_slices_,
              reinterpret_cast<std::byte*>(nodes_.data()), node_offsets_);
  add_tree(nodes_.data(), nodes, bytes / sizeof(float));
  std::memcpy(whole + slices_[rank], nodes_.data(), bytes);
  ranks_.share(whole, slices_);
}

}  // namespace broadloom
