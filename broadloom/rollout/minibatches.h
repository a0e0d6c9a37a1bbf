// Minibatches that use every sample exactly once per epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/host_device.h"

namespace broadloom {

// The first sample of minibatch m of `count`. Part of the bits contract.
BROADLOOM_HD inline int minibatch_begin(int m, int samples, int count) {
  return static_cast<int>(static_cast<std::int64_t>(m) * samples / count);
}

// Divides an epoch's samples into minibatches whose sizes differ by at most one.
struct MinibatchCut {
  int samples;
  int wanted;  // minibatches; at most `samples` are made

  int count() const { return std::min(wanted, samples); }
  int max_size() const { return samples / wanted + (samples % wanted > 0 ? 1 : 0); }
  int begin(int m) const { return minibatch_begin(m, samples, count()); }
  int size(int m) const { return begin(m + 1) - begin(m); }
};

// The order in which minibatches take a block's samples.
enum class Shuffle {
  kEpoch,  // an order for each epoch
  kBlock,  // one order for all epochs of a block, as RSL-RL
  kOff,    // the block's own, time-major, as skrl
};

// Draws an epoch's permutation [B] of a block's rows (Fisher and Yates) from Random(seed, kShuffle,
// epoch, iteration). fillers: [B] rows that are not samples; empty: none. Returns the number of
// samples, which come first.
int draw_permutation(std::uint64_t seed, std::int64_t iteration, int epoch,
                     std::span<std::int32_t> permutation,
                     std::span<const std::uint8_t> fillers = {});

// The orders of an update of several epochs that differ.
inline int order_count(Shuffle shuffle, int epochs) {
  return shuffle == Shuffle::kEpoch ? epochs : 1;
}
// Writes an order of a block's rows, number `epoch` of order_count(). Arguments and result as
// draw_permutation()'s.
int draw_order(Shuffle shuffle, std::uint64_t seed, std::int64_t iteration, int epoch,
               std::span<std::int32_t> order, std::span<const std::uint8_t> fillers = {});

class Minibatches {
 public:
  // batch_size B into `count` minibatches. steps: L for minibatches of sequences, else 1.
  // together: sequences of a group (sequences_per_tile()).
  Minibatches(int batch_size, int count, int steps = 1, int together = 1,
              Shuffle shuffle = Shuffle::kEpoch)
      : steps_(steps),
        together_(together),
        shuffle_(shuffle),
        batch_{batch_size / steps, count},
        epoch_(batch_),
        permutation_(static_cast<std::size_t>(batch_size)),
        sequences_(steps > 1 ? static_cast<std::size_t>(batch_size / steps) : 0) {}

  // Sets an epoch's order; epochs come in turn from 0. Fillers make minibatches smaller, not fewer,
  // unless there are fewer samples than minibatches. Sequences must have none.
  //
  // A minibatch of sequences is a list of groups of them (nn/cell.h); in each group come the rows
  // of their first steps, of their second steps, and so on. This order is part of the bits
  // contract. num_envs: N; 0: sequences are whole environments.
  void shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
               std::span<const std::uint8_t> fillers = {}, int num_envs = 0);

  int samples() const { return epoch_.samples * steps_; }  // per epoch: B without fillers
  int count() const { return epoch_.count(); }
  int max_size() const { return batch_.max_size() * steps_; }
  int begin(int m) const { return epoch_.begin(m) * steps_; }
  int size(int m) const { return epoch_.size(m) * steps_; }
  // Indices into the block [B] of minibatch m.
  const std::int32_t* indices(int m) const { return permutation_.data() + begin(m); }

 private:
  int steps_, together_;
  Shuffle shuffle_;
  MinibatchCut batch_, epoch_;  // in samples, or in sequences
  std::vector<std::int32_t> permutation_;
  // [T / L, N] the epoch's permutation of the sequences, which are numbered in time; or empty
  std::vector<std::int32_t> sequences_;
};

}  // namespace broadloom
