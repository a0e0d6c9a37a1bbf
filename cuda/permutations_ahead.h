// The permutations of an update, which threads of their own draw while the device is at the one
// before: they follow from seed and iteration alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "broadloom/rollout/minibatches.h"

namespace broadloom::cuda {

class PermutationsAhead {
 public:
  explicit PermutationsAhead(int epochs) : epochs_(static_cast<std::size_t>(epochs)) {}
  ~PermutationsAhead() { wait(); }
  PermutationsAhead(const PermutationsAhead&) = delete;
  PermutationsAhead& operator=(const PermutationsAhead&) = delete;

  // take(span of [epochs, samples]) of an iteration; then begins with those of the next one. Costs
  // little where they were begun with, and a shuffle of each epoch where not.
  template <class Take>
  void draw(std::uint64_t seed, std::int64_t iteration, int samples, Take&& take) {
    const Key wanted{seed, iteration, samples};
    if (!(drawing_ == wanted)) begin(wanted);
    wait();
    take(std::span<const std::int32_t>(all_));
    begin({seed, iteration + 1, samples});
  }

 private:
  struct Key {
    std::uint64_t seed = 0;
    std::int64_t iteration = -1;
    int samples = 0;
    bool operator==(const Key&) const = default;
  };

  void begin(const Key& key) {
    wait();
    drawing_ = key;
    const std::size_t size = static_cast<std::size_t>(key.samples);
    all_.resize(epochs_ * size);
    for (std::size_t epoch = 0; epoch < epochs_; ++epoch) {
      under_way_.push_back(std::async(std::launch::async, [this, key, epoch, size] {
        Minibatches drawn(key.samples, 1);
        drawn.shuffle(key.seed, key.iteration, static_cast<int>(epoch));
        std::copy_n(drawn.indices(0), size, all_.data() + epoch * size);
      }));
    }
  }
  void wait() {
    for (std::future<void>& one : under_way_) one.get();
    under_way_.clear();
  }

  std::size_t epochs_;
  Key drawing_;
  std::vector<std::int32_t> all_;  // [epochs, samples]
  std::vector<std::future<void>> under_way_;
};

}  // namespace broadloom::cuda
