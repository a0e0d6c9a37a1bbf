// Minibatches that use every sample exactly once per epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadloom {

class Minibatches {
 public:
  // batch_size B into `count` minibatches whose sizes differ by one at most, also where B does not
  // divide.
  Minibatches(int batch_size, int count);

  // Draws the epoch's permutation (Fisher and Yates) from Random(seed, kShuffle, epoch, iteration).
  void shuffle(std::uint64_t seed, std::int64_t iteration, int epoch);

  int count() const { return count_; }
  int max_size() const { return (batch_size_ + count_ - 1) / count_; }
  int begin(int m) const {
    return static_cast<int>(static_cast<std::int64_t>(m) * batch_size_ / count_);
  }
  int size(int m) const { return begin(m + 1) - begin(m); }
  // Indices into the block [B] of minibatch m.
  const std::int32_t* indices(int m) const { return permutation_.data() + begin(m); }

 private:
  int batch_size_;
  int count_;
  std::vector<std::int32_t> permutation_;
};

}  // namespace broadloom
