// Processes (ranks) that train one run together, each with a part of the work, and their
// communication. All ranks make the same calls in the same order. A call returns once this rank has
// the data that it needs from the others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Traffic so far, as this rank sees it.
struct RankTraffic {
  std::int64_t received_bytes = 0;  // from others
  std::int64_t exchanges = 0;       // calls in which data passed
  double seconds = 0.0;             // in those calls, including the wait for slower ranks
};

// Each transport is a class of its own: bridges/mpi has one. After a call has failed, no data
// passes any more, received data is undefined, and status() has the error. Check status() before
// you use received data.
class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // A single process: no data passes, and no call costs anything.
  static Ranks& alone();

  int rank() const { return rank_; }  // index of this process, from 0
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  // Number of ranks on this machine, which share its memory; includes this one.
  int here() const { return here_; }
  // Index of this process among those, from 0.
  int place_here() const { return place_here_; }
  const Status& status() const { return status_; }
  const RankTraffic& traffic() const { return traffic_; }

  // Gathers everywhere: rank r provides bytes [offsets[r], offsets[r + 1]) of the buffer, and
  // afterwards every rank has all. offsets: [size() + 1], ascending, the same on every rank.
  void share(std::byte* buffer, std::span<const std::size_t> offsets);
  // All-to-all: part r of `out` goes to rank r, and part r of `in` comes from it. Offsets as above,
  // but each rank has its own.
  void deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
            std::span<const std::size_t> in_offsets);

  // Every rank's value, [size()]. T: trivially copyable.
  template <class T>
  std::vector<T> all_of(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_), mine);
    share_equal(reinterpret_cast<std::byte*>(all.data()), sizeof(T));
    return all;
  }
  // The first rank's text.
  std::string of_first(std::string text);

  // Agrees on an error: if any rank failed, all ranks return the same error. The message of lowest
  // order wins, and among equals the first rank's. No rank then waits for one that has given up.
  //
  // fingerprint: a hash of data that must be equal on all ranks. If none has failed and the
  // fingerprints differ, the result is kMismatch.
  Status agree(const Status& mine, std::uint64_t order = 0, std::uint64_t fingerprint = 0);
  // Whether any rank passes true.
  bool any(bool mine);

 protected:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  void set_here(int count, int place) {
    here_ = count;
    place_here_ = place;
  }
  virtual Status do_share(std::byte* buffer, std::span<const std::size_t> offsets) = 0;
  virtual Status do_deal(const std::byte* out, std::span<const std::size_t> out_offsets,
                         std::byte* in, std::span<const std::size_t> in_offsets) = 0;

 private:
  void share_equal(std::byte* all, std::size_t bytes);
  // Updates traffic_ after an exchange that began at `begin`.
  void count(std::span<const std::size_t> offsets, std::chrono::steady_clock::time_point begin);

  int rank_, size_, here_ = 1, place_here_ = 0;
  Status status_;
  RankTraffic traffic_;
};

// Options of ranks that are separate processes.
struct RankOptions {
  double timeout = 0.0;  // seconds that a rank waits for another; 0: forever
  // Both may be empty. interrupted: whether the process was told to stop. tell: shows a person,
  // once, that this rank waits for others.
  std::function<bool()> interrupted;
  std::function<void(const std::string&)> tell;
};

}  // namespace broadloom
