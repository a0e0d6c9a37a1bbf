// The permutations of an update. A few threads of their own draw them during the update before,
// because they depend only on seed and iteration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "broadloom/core/available_cores.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom::cuda {

class PermutationsAhead {
 public:
  explicit PermutationsAhead(int epochs) : epochs_(static_cast<std::size_t>(epochs)) {}
  ~PermutationsAhead() { wait(); }
  PermutationsAhead(const PermutationsAhead&) = delete;
  PermutationsAhead& operator=(const PermutationsAhead&) = delete;

  // Calls take(span of [epochs, samples]) for an iteration, then begins to draw the next
  // iteration's. Cheap if they were begun; otherwise it costs a shuffle per epoch.
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

  // Below this many numbers, draws at once: a thread would take as long to start.
  static constexpr std::size_t kSmall = 65536;

  void begin(const Key& key) {
    wait();
    drawing_ = {};
    const std::size_t size = static_cast<std::size_t>(key.samples), threads = threads_for(size);
    all_.resize(epochs_ * size);
    try {
      for (std::size_t t = 0; t < threads; ++t) {
        under_way_.push_back(std::async(std::launch::async,
                                        [this, key, t, threads] { draw_every(key, t, threads); }));
      }
    } catch (const std::system_error&) {  // no thread available
      wait();
      draw_every(key, 0, 1);
    }
    if (threads == 0) draw_every(key, 0, 1);
    drawing_ = key;
  }
  std::size_t threads_for(std::size_t size) const {
    if (epochs_ * size < kSmall) return 0;
    const std::size_t cores = static_cast<std::size_t>(std::max(2, available_cores()));
    return std::min({epochs_, cores / 2, std::size_t{8}});
  }
  // Draws epochs first, first + apart, ...
  void draw_every(const Key& key, std::size_t first, std::size_t apart) {
    const std::size_t size = static_cast<std::size_t>(key.samples);
    for (std::size_t epoch = first; epoch < epochs_; epoch += apart) {
      draw_permutation(key.seed, key.iteration, static_cast<int>(epoch),
                       std::span(all_).subspan(epoch * size, size));
    }
  }
  void wait() {
    for (std::future<void>& one : std::exchange(under_way_, {})) one.get();
  }

  std::size_t epochs_;
  Key drawing_;
  std::vector<std::int32_t> all_;  // [epochs, samples]
  std::vector<std::future<void>> under_way_;
};

}  // namespace broadloom::cuda
