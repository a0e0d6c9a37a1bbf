// Products of a tile's rows with a layer's weights, by a team of threads: each number is one chain
// over the depth, in the host's order, and a thread works on 16 at a time, so that eight reads of
// four numbers feed 64 multiplications.
#pragma once

#include <cstdint>

#include "broadloom/math/element_functions.h"
#include "cuda/kernel.h"
#include "cuda/network.h"

namespace broadloom::cuda {

// Some of a block's threads, that work on one thing while others work on another. They exchange
// nothing.
struct Team {
  int number, count;
  BROADLOOM_HD int thread() const { return number; }
  BROADLOOM_HD int threads() const { return count; }
};

// One of two halves, or all of them.
template <class Block>
BROADLOOM_HD Team whole_team(Block& block) {
  return {block.thread(), block.threads()};
}

// Four numbers from a multiple of 16 bytes on.
struct Four {
  float of[4];
};
BROADLOOM_HD inline bool holds_fours(const float* from) {
  return reinterpret_cast<std::uintptr_t>(from) % sizeof(Four) == 0;
}
BROADLOOM_HD inline Four load_four(const float* from) {
#ifdef __CUDA_ARCH__
  const float4 four = *reinterpret_cast<const float4*>(from);
  return {{four.x, four.y, four.z, four.w}};
#else
  Four four;
  memcpy(&four, __builtin_assume_aligned(from, sizeof(Four)), sizeof(four));
  return four;
#endif
}

// Which rows and columns a thread has: rows first, first + apart, ..., which neighbours in a warp
// read from other banks, and four neighbouring columns.
struct Square {
  static constexpr int kSide = 4;
  int row, apart, column;
};

// f(square) for all of rows x columns, of which there is a multiple of four, by a team: a warp has
// up to eight squares across and at least four down.
template <class Team, class F>
BROADLOOM_HD void over_squares(const Team& team, int rows, int columns, F&& f) {
  const int across = columns / Square::kSide, apart = (rows + Square::kSide - 1) / Square::kSide;
  const int wide = across < 8 ? across : 8, strips = (across + wide - 1) / wide;
  for (int e = team.thread(); e < strips * apart * wide; e += team.threads()) {
    const int column = e / (apart * wide) * wide + e % wide;
    if (column >= across) continue;
    f(Square{e / wide % apart, apart, column * Square::kSide});
  }
}

// sums[k][c] += x of row k times w of column c for a run of `depth` numbers, a multiple of four,
// which lie together in x and w_row apart in w.
BROADLOOM_HD inline void add_run(const float* const (&x)[4], const float* w, int w_row, int depth,
                                 float (&sums)[4][4]) {
  for (int i = 0; i < depth; i += 4) {
    Four of_x[4], of_w[4];
    for (int k = 0; k < 4; ++k) of_x[k] = load_four(x[k] + i);
    for (int k = 0; k < 4; ++k) of_w[k] = load_four(w + (i + k) * w_row);
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 4; ++k) {
        for (int c = 0; c < 4; ++c) {
          sums[k][c] = element::mul_add(of_x[k].of[j], of_w[j].of[c], sums[k][c]);
        }
      }
    }
  }
}

// sums [4][4] of dW at (i, o) += x[r][i] delta[r][o] over rows.
BROADLOOM_HD inline void add_outer(const float* x, int x_row, const float* delta, int d_row,
                                   int rows, float (&sums)[4][4]) {
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
  for (int r = 0; r < rows; ++r) {
    const Four of_x = load_four(x + r * x_row), of_d = load_four(delta + r * d_row);
    for (int i = 0; i < 4; ++i) {
      for (int o = 0; o < 4; ++o) {
        sums[i][o] = element::mul_add(of_x.of[i], of_d.of[o], sums[i][o]);
      }
    }
  }
}

}  // namespace broadloom::cuda
