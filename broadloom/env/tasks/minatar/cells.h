// A set of the 10 x 10 cells as bits. One operation moves all of them by a row or column.
#pragma once

#include <array>
#include <cstdint>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom::minatar {

// Rows 0 to 4 and 5 to 9, bit 10 * (row within the word) + column. Bits above are 0.
using Cells = std::array<std::uint64_t, 2>;

inline constexpr int kRowsOfWord = 5;
inline constexpr std::uint64_t kRowBits = (1u << kSide) - 1u;
inline constexpr std::uint64_t kWordBits = (std::uint64_t{1} << kRowsOfWord * kSide) - 1u;
inline constexpr int kLastRowAt = (kRowsOfWord - 1) * kSide;  // bit of a word's last row
// The cells of column 0 in a word.
inline constexpr std::uint64_t kColumnBits = (std::uint64_t{1} << 0) | (std::uint64_t{1} << 10) |
                                             (std::uint64_t{1} << 20) | (std::uint64_t{1} << 30) |
                                             (std::uint64_t{1} << 40);

BROADLOOM_HD inline std::uint64_t row_of(const Cells& cells, int row) {
  return cells[row / kRowsOfWord] >> (row % kRowsOfWord * kSide) & kRowBits;
}
BROADLOOM_HD inline bool has(const Cells& cells, int row, int column) {
  return (row_of(cells, row) >> column & 1u) != 0;
}
BROADLOOM_HD inline void put(Cells& cells, int row, int column) {
  cells[row / kRowsOfWord] |= std::uint64_t{1} << (row % kRowsOfWord * kSide + column);
}
BROADLOOM_HD inline bool any(const Cells& cells) { return (cells[0] | cells[1]) != 0; }
BROADLOOM_HD inline bool any_in_column(const Cells& cells, int column) {
  return ((cells[0] | cells[1]) & (kColumnBits << column)) != 0;
}

BROADLOOM_HD inline Cells both(const Cells& a, const Cells& b) {
  return {a[0] & b[0], a[1] & b[1]};
}
BROADLOOM_HD inline void take(Cells& cells, const Cells& gone) {
  cells[0] &= ~gone[0];
  cells[1] &= ~gone[1];
}

BROADLOOM_HD inline int count(const Cells& cells) {
  int sum = 0;
  for (std::uint64_t word : cells) {
    for (; word != 0; word &= word - 1) ++sum;
  }
  return sum;
}

// Moves all cells down a row. Cells on the last row disappear.
BROADLOOM_HD inline Cells down(const Cells& cells) {
  return {cells[0] << kSide & kWordBits, (cells[1] << kSide & kWordBits) | cells[0] >> kLastRowAt};
}
// Moves all cells up a row. Cells on row 0 disappear.
BROADLOOM_HD inline Cells up(const Cells& cells) {
  return {cells[0] >> kSide | (cells[1] & kRowBits) << kLastRowAt, cells[1] >> kSide};
}
// Move all cells by a column. No cell may be at the edge ahead.
BROADLOOM_HD inline Cells right(const Cells& cells) { return {cells[0] << 1, cells[1] << 1}; }
BROADLOOM_HD inline Cells left(const Cells& cells) { return {cells[0] >> 1, cells[1] >> 1}; }

// Writes the cells to a plane of a picture.
template <int kPlanes>
BROADLOOM_HD void draw(const Cells& cells, std::uint8_t* out, int plane) {
  for (int row = 0; row < kSide; ++row) {
    const std::uint64_t bits = row_of(cells, row);
    if (bits == 0) continue;
    for (int column = 0; column < kSide; ++column) {
      out[(row * kSide + column) * kPlanes + plane] =
          static_cast<std::uint8_t>(bits >> column & 1u);
    }
  }
}

}  // namespace broadloom::minatar
