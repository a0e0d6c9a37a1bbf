// Minibatches that use every sample exactly once per epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace broadloom {

class Minibatches {
 public:
  // batch_size B into `count` minibatches whose sizes differ by one at most, also where B does not
  // divide.
  Minibatches(int batch_size, int count);

  // Draws the epoch's permutation (Fisher and Yates) from Random(seed, kShuffle, epoch, iteration).
  // fillers: [B] rows of the block that are no samples; empty: all are. Where there are some, the
  // same number of minibatches is smaller, unless there are fewer samples than that.
  void shuffle(std::uint64_t seed, std::int64_t iteration, int epoch,
               std::span<const std::uint8_t> fillers = {});

  int samples() const { return samples_; }  // of an epoch: B without fillers
  int count() const { return std::min(count_, samples_); }
  int max_size() const { return (batch_size_ + count_ - 1) / count_; }
  int begin(int m) const {
    return static_cast<int>(static_cast<std::int64_t>(m) * samples_ / count());
  }
  int size(int m) const { return begin(m + 1) - begin(m); }
  // Indices into the block [B] of minibatch m.
  const std::int32_t* indices(int m) const { return permutation_.data() + begin(m); }

 private:
  int batch_size_;
  int count_;
  int samples_;
  std::vector<std::int32_t> permutation_;
};

}  // namespace broadloom
