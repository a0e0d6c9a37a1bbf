// Partial gradients that several ranks work out, added in the tree that one alone would add them
// in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/exchange.h"
#include "broadloom/core/ranks.h"

namespace broadloom {

// Aligned runs whose length is a power of two: what a rank's run adds up to is a node of the tree,
// and the nodes are added as the partial gradients themselves would be, with longer strides.
struct RankRuns {
  RankRuns(int partial_count, int ranks);
  int begin(int rank) const { return std::min(rank * length, partials); }
  int end(int rank) const { return std::min((rank + 1) * length, partials); }

  int partials;
  int length = 1;
  int nodes;  // ranks that have a run, the first ones
};

// Adds the nodes of `parameters` numbers each. Small ones are sent whole, and everybody adds them;
// of large ones each rank adds a slice, which it then sends: then no rank takes in much more than
// twice a gradient, however many they are.
class RankSums {
 public:
  RankSums(Ranks& ranks, std::size_t parameters);
  // What it takes, in bytes.
  static std::size_t bytes(std::size_t parameters, int ranks);
  // Bytes that rank 0 takes in for one gradient of `nodes` nodes, without its notes.
  static std::size_t received_bytes(std::size_t parameters, int nodes, int ranks);

  // grads [P]: in, this rank's node, if it is one of the first `nodes`; out, their sum. notes: what
  // goes with them, `note_bytes` for each of the runs' partial gradients, of which each rank has
  // its own run's.
  void add(const RankRuns& runs, float* grads, std::byte* notes, std::size_t note_bytes);

 private:
  void add_whole(int nodes, float* grads);
  void add_slices(int nodes, float* grads);

  Ranks& ranks_;
  Exchange exchange_;
  std::size_t parameters_;
  AlignedVector<float> nodes_;       // [nodes, P], or [nodes, the slice of this rank]
  std::vector<std::size_t> slices_;  // [ranks + 1] bytes of a gradient
  std::vector<std::size_t> from_;    // [ranks + 1] bytes of nodes_
  std::vector<std::size_t> none_;    // [ranks + 1] of who has no node
};

}  // namespace broadloom
