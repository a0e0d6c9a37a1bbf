// Adds the partial gradients of several ranks in the same tree that a single rank uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/exchange.h"
#include "broadloom/core/ranks.h"

namespace broadloom {

// Divides the partial gradients among ranks into aligned runs whose length is a power of two. The
// sum of a run is then a node of the tree, and adding nodes continues the tree with longer strides.
struct RankRuns {
  RankRuns(int partial_count, int ranks);
  int begin(int rank) const { return std::min(rank * length, partials); }
  int end(int rank) const { return std::min((rank + 1) * length, partials); }

  int partials;
  int length = 1;
  int nodes;  // number of ranks with a run; these come first
};

// Adds the nodes, [parameters] each. Small nodes are sent whole, and every rank adds them. For
// large nodes, each rank adds one slice and sends the result, so no rank receives much more than
// two gradients, whatever the number of ranks.
class RankSums {
 public:
  RankSums(Ranks& ranks, std::size_t parameters);
  // Memory of one, bytes.
  static std::size_t bytes(std::size_t parameters, int ranks);
  // Bytes that rank 0 receives for one gradient of `nodes` nodes, without notes.
  static std::size_t received_bytes(std::size_t parameters, int nodes, int ranks);

  // grads [P]: in, this rank's node if it has a run; out, the sum of all nodes. notes: `note_bytes`
  // for each partial gradient; in, those of this rank's run; out, all.
  void add(const RankRuns& runs, float* grads, std::byte* notes, std::size_t note_bytes);

 private:
  void add_whole(int nodes, float* grads);
  void add_slices(int nodes, float* grads);

  Ranks& ranks_;
  Exchange exchange_;
  std::size_t parameters_;
  AlignedVector<float> nodes_;             // [nodes, P], or [nodes, this rank's slice]
  std::vector<std::size_t> slices_;        // [ranks + 1] byte offsets in a gradient
  std::vector<std::size_t> node_offsets_;  // [ranks + 1] byte offsets in nodes_
  std::vector<std::size_t> empty_slices_;  // [ranks + 1] zeros, for ranks without a node
};

}  // namespace broadloom
