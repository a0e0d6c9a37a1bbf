// The orders of an update's samples. A few threads of their own draw them during the update before,
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
  PermutationsAhead(Shuffle shuffle, int epochs)
      : shuffle_(shuffle), orders_(static_cast<std::size_t>(order_count(shuffle, epochs))) {}
  ~PermutationsAhead() { wait(); }
  PermutationsAhead(const PermutationsAhead&) = delete;
  PermutationsAhead& operator=(const PermutationsAhead&) = delete;

  // Epochs with an order of their own; later ones take these in turn.
  std::size_t orders() const { return orders_; }

  // Calls take(span of [orders, samples]) for an iteration, then begins to draw the next
  // iteration's. Cheap if they were begun; otherwise it costs a shuffle per order.
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
    all_.resize(orders_ * size);
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
    if (orders_ * size < kSmall) return 0;
    const std::size_t cores = static_cast<std::size_t>(std::max(2, available_cores()));
    return std::min({orders_, cores / 2, std::size_t{8}});
  }
  // Draws orders first, first + apart, ...
  void draw_every(const Key& key, std::size_t first, std::size_t apart) {
    const std::size_t size = static_cast<std::size_t>(key.samples);
    for (std::size_t order = first; order < orders_; order += apart) {
      draw_order(shuffle_, key.seed, key.iteration, static_cast<int>(order),
                 std::span(all_).subspan(order * size, size));
    }
  }
  void wait() {
    for (std::future<void>& one : std::exchange(under_way_, {})) one.get();
  }

  Shuffle shuffle_;
  std::size_t orders_;
  Key drawing_;
  std::vector<std::int32_t> all_;  // [orders, samples]
  std::vector<std::future<void>> under_way_;
};

}  // namespace broadloom::cuda
