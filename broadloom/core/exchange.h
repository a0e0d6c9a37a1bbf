// Broadcasts pieces of memory that one rank has and all need. Pieces travel in few large messages,
// and one message's size bounds the extra memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/ranks.h"

namespace broadloom {

// Every rank adds the same pieces in the same order. Nothing is allocated once the largest exchange
// has been seen.
class Exchange {
 public:
  explicit Exchange(Ranks& ranks);

  // Limit of the buffer's memory, in addition to the data that it sends.
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  // Rank `owner` has these bytes. They must stay in place until finish().
  void add(void* data, std::size_t bytes, int owner);
  // `lines` lines of unit_bytes * units, one behind the other. Rank r owns units [bounds[r],
  // bounds[r + 1]) of each line. Units past the last bound have no owner.
  void add_lines(void* data, std::size_t lines, std::size_t units, std::size_t unit_bytes,
                 std::span<const int> bounds);
  // Afterwards every rank has all pieces, unless ranks.status() reports an error.
  void finish();

 private:
  struct Piece {
    std::byte* data;
    std::size_t bytes;
    int owner;
  };

  void copy(bool to_buffer);

  Ranks& ranks_;
  std::vector<Piece> pieces_;
  std::size_t pending_ = 0;           // bytes in pieces_
  std::vector<std::size_t> offsets_;  // [ranks + 1]
  std::vector<std::size_t> next_;     // [ranks]
  AlignedVector<std::byte> buffer_;
};

}  // namespace broadloom
