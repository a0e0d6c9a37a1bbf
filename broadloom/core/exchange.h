// Pieces of memory that one rank has and all need, sent together: few large messages, and no more
// memory than one of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/ranks.h"

namespace broadloom {

// Everybody adds the same pieces in the same order. Once it has seen the most that it is given,
// nothing is allocated.
class Exchange {
 public:
  explicit Exchange(Ranks& ranks);

  // Memory that it takes at most, beside what it sends.
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  // Rank `owner` has these bytes. They must stay where they are until finish().
  void add(void* data, std::size_t bytes, int owner);
  // `lines` of unit_bytes * units, one behind the other: of each, rank r has units
  // [bounds[r], bounds[r + 1]), and what lies past the last bound is nobody's.
  void add_lines(void* data, std::size_t lines, std::size_t units, std::size_t unit_bytes,
                 std::span<const int> bounds);
  // Afterwards everybody has all that was added, unless ranks.status() says otherwise.
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
  std::size_t pending_ = 0;           // bytes of them
  std::vector<std::size_t> offsets_;  // [ranks + 1]
  std::vector<std::size_t> next_;     // [ranks]
  AlignedVector<std::byte> buffer_;
};

}  // namespace broadloom
