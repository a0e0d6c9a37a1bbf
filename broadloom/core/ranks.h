// Processes that train one run together, each with a part of its work, and what passes between
// them. All of them make the same calls in the same order; a call returns once this one has what it
// needs from the others.
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

// What has passed so far, as one of them sees it.
struct RankTraffic {
  std::int64_t received_bytes = 0;  // from others
  std::int64_t exchanges = 0;       // calls in which something passed
  double seconds = 0.0;  // in those calls: waiting for others who were not there yet, too
};

// How they reach each other is a class of its own for each way: bridges/mpi has one. Once a call
// has failed nothing passes any more, what was to be received has no meaning, and status() says
// why: who acts on what was received asks first.
class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // One process by itself: nothing passes, and no call costs anything.
  static Ranks& alone();

  int rank() const { return rank_; }  // of this process, from 0
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  // Of them, how many share this one's machine, and its memory; itself among them.
  int here() const { return here_; }
  const Status& status() const { return status_; }
  const RankTraffic& traffic() const { return traffic_; }

  // Of the buffer, rank r has bytes [offsets[r], offsets[r + 1]); afterwards everybody has all.
  // offsets: [size() + 1], ascending, the same everywhere.
  void share(std::byte* buffer, std::span<const std::size_t> offsets);
  // Part r of `out` goes to rank r, and part r of `in` comes from it. Offsets as above, each
  // process's own.
  void deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
            std::span<const std::size_t> in_offsets);

  // What each of them says, [size()]. T: plain data.
  template <class T>
  std::vector<T> all_of(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_), mine);
    share_equal(reinterpret_cast<std::byte*>(all.data()), sizeof(T));
    return all;
  }
  // What the first one says.
  std::string of_first(std::string text);

  // Fails everywhere alike where it has failed anywhere: with the message of lowest order, and of
  // those the first rank's. fingerprint: of what must be the same everywhere; kMismatch where none
  // has failed and it is not. Other errors are thus no rank's own, and none waits for one that has
  // given up.
  Status agree(const Status& mine, std::uint64_t order = 0, std::uint64_t fingerprint = 0);
  // Whether any says so.
  bool any(bool mine);

 protected:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  void set_here(int count) { here_ = count; }
  virtual Status do_share(std::byte* buffer, std::span<const std::size_t> offsets) = 0;
  virtual Status do_deal(const std::byte* out, std::span<const std::size_t> out_offsets,
                         std::byte* in, std::span<const std::size_t> in_offsets) = 0;

 private:
  void share_equal(std::byte* all, std::size_t bytes);
  // Of an exchange that is over and began then.
  void count(std::span<const std::size_t> offsets, std::chrono::steady_clock::time_point begin);

  int rank_, size_, here_ = 1;
  Status status_;
  RankTraffic traffic_;
};

// What ranks are made with that are other processes.
struct RankOptions {
  double timeout = 0.0;  // seconds that a rank waits for another; 0: for ever
  // Both may be empty. Whether the process was told to stop; and what is told a person then, once,
  // where it waits for others.
  std::function<bool()> interrupted;
  std::function<void(const std::string&)> tell;
};

}  // namespace broadloom
