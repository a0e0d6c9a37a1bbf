// Minibatches that use every sample exactly once per epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/host_device.h"

namespace broadloom {

// Where minibatch m of `count` begins among so many samples. Part of the bits contract.
BROADLOOM_HD inline int minibatch_begin(int m, int samples, int count) {
  return static_cast<int>(static_cast<std::int64_t>(m) * samples / count);
}

// How the samples of an epoch are cut into minibatches whose sizes differ by one at most, also
// where their number does not divide.
struct MinibatchCut {
  int samples;
  int wanted;  // minibatches; there are fewer where there are fewer samples

  int count() const { return std::min(wanted, samples); }
  int max_size() const { return samples / wanted + (samples % wanted > 0 ? 1 : 0); }
  int begin(int m) const { return minibatch_begin(m, samples, count()); }
  int size(int m) const { return begin(m + 1) - begin(m); }
};

// An epoch's permutation (Fisher and Yates) of the rows [B] of a block, drawn from Random(seed,
// kShuffle, epoch, iteration), to `to` [B]. fillers: [B] rows that are no samples; empty: all are.
// Returns the number of samples, which come first.
int draw_permutation(std::uint64_t seed, std::int64_t iteration, int epoch,
                     std::span<std::int32_t> to, std::span<const std::uint8_t> fillers = {});

class Minibatches {
 public:
  // batch_size B into `count` minibatches.
  Minibatches(int batch_size, int count)
      : batch_{batch_size, count},
        epoch_(batch_),
        permutation_(static_cast<std::size_t>(batch_size)) {}

  // Draws an epoch's permutation. Where there are fillers, the same number of minibatches is
  // smaller, unless there are fewer samples than that.
  void shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
               std::span<const std::uint8_t> fillers = {}) {
    epoch_.samples = draw_permutation(seed, iteration, epoch, permutation_, fillers);
  }

  int samples() const { return epoch_.samples; }  // of an epoch: B without fillers
  int count() const { return epoch_.count(); }
  int max_size() const { return batch_.max_size(); }
  int begin(int m) const { return epoch_.begin(m); }
  int size(int m) const { return epoch_.size(m); }
  // Indices into the block [B] of minibatch m.
  const std::int32_t* indices(int m) const { return permutation_.data() + begin(m); }

 private:
  MinibatchCut batch_, epoch_;
  std::vector<std::int32_t> permutation_;
};

}  // namespace broadloom
