// Ranks that are threads of one process, to test exchanges without processes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "broadloom/core/ranks.h"

namespace broadloom {

class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : sent_(static_cast<std::size_t>(size)) {
    for (int r = 0; r < size; ++r) ranks_.push_back(std::make_unique<Rank>(*this, r, size));
  }

  // body(Ranks&) on a thread for each rank; one that returns is gone for those that still wait.
  template <class Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    for (const auto& rank : ranks_) {
      threads.emplace_back([&] {
        body(static_cast<Ranks&>(*rank));
        leave();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Sent {
    const std::byte* bytes;
    std::vector<std::size_t> offsets;
  };

  class Rank final : public Ranks {
   public:
    Rank(ThreadWorld& world, int rank, int size) : Ranks(rank, size), world_(world) {}

   private:
    Status do_share(std::byte* buffer, std::span<const std::size_t> offsets) override {
      return pass(buffer, offsets, [&](std::size_t r, const Sent& sent) {
        std::copy(sent.bytes + offsets[r], sent.bytes + offsets[r + 1], buffer + offsets[r]);
        return std::equal(offsets.begin(), offsets.end(), sent.offsets.begin());
      });
    }
    Status do_deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
                   std::span<const std::size_t> in_offsets) override {
      const auto own = static_cast<std::size_t>(rank());
      std::copy(out + out_offsets[own], out + out_offsets[own + 1], in + in_offsets[own]);
      return pass(out, out_offsets, [&](std::size_t r, const Sent& sent) {
        std::copy(sent.bytes + sent.offsets[own], sent.bytes + sent.offsets[own + 1],
                  in + in_offsets[r]);
        return sent.offsets[own + 1] - sent.offsets[own] == in_offsets[r + 1] - in_offsets[r];
      });
    }
    // take(r, data of rank r): false if the two ranks disagree on the exchange.
    template <class Take>
    Status pass(const std::byte* bytes, std::span<const std::size_t> offsets, Take&& take) {
      world_.sent_[static_cast<std::size_t>(rank())] = {bytes, {offsets.begin(), offsets.end()}};
      bool agreed = world_.meet();
      for (std::size_t r = 0; agreed && r < world_.sent_.size(); ++r) {
        if (static_cast<int>(r) != rank()) agreed = take(r, world_.sent_[r]);
      }
      if (agreed && world_.meet()) return {};
      return {ErrorKind::kIo, "a rank is gone, or passes something else"};
    }

    ThreadWorld& world_;
  };

  // False if a rank does not come.
  bool meet() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++waiting_ == static_cast<int>(ranks_.size())) {
      waiting_ = 0;
      ++round_;
      all_there_.notify_all();
      return true;
    }
    all_there_.wait(lock, [&] { return round_ != round || someone_left_; });
    return round_ != round;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    someone_left_ = true;
    all_there_.notify_all();
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Sent> sent_;
  std::mutex mutex_;
  std::condition_variable all_there_;
  int waiting_ = 0, round_ = 0;
  bool someone_left_ = false;
};

}  // namespace broadloom
