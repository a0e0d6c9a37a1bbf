// Products of a tile's rows with a layer's weights, by a team of threads: a block, or several
// blocks. A team has thread() and threads().
//
// Each number is one chain over the depth, in the host's order. A thread computes 16 numbers at a
// time, so eight reads of four numbers feed 64 multiplications.
#pragma once

#include <cstdint>
#include <type_traits>

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// Four numbers, aligned to 16 bytes.
struct Four {
  float values[4];
};
BROADLOOM_HD inline bool holds_fours(const float* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Four) == 0;
}
BROADLOOM_HD inline Four load_four(const float* source) {
#ifdef __CUDA_ARCH__
  const float4 four = *reinterpret_cast<const float4*>(source);
  return {{four.x, four.y, four.z, four.w}};
#else
  Four four;
  memcpy(&four, __builtin_assume_aligned(source, sizeof(Four)), sizeof(four));
  return four;
#endif
}

BROADLOOM_HD inline void store_four(const Four& four, float* target) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<float4*>(target) =
      make_float4(four.values[0], four.values[1], four.values[2], four.values[3]);
#else
  memcpy(__builtin_assume_aligned(target, sizeof(Four)), &four, sizeof(four));
#endif
}

// The rows and columns of a thread: kRows rows first, first + apart, ..., and four neighbouring
// columns. Neighbours in a warp thus read rows from different banks.
template <int kOf>
struct Square {
  static constexpr int kRows = kOf;
  int row, apart, column;
};

// Calls f(square) for all of rows x columns, by a team. columns is a multiple of four. A warp has
// up to eight squares across and at least four down.
template <int kRows, class Team, class F>
BROADLOOM_HD void over_squares_of(const Team& team, int rows, int columns, F&& f) {
  const int across = columns / 4, apart = (rows + kRows - 1) / kRows;
  const int wide = across < 8 ? across : 8, strips = (across + wide - 1) / wide;
  for (int e = team.thread(); e < strips * apart * wide; e += team.threads()) {
    const int column = e / (apart * wide) * wide + e % wide;
    if (column >= across) continue;
    f(Square<kRows>{e / wide % apart, apart, column * 4});
  }
}

// Squares of four rows, or of one row if the team would be idle.
template <class Team, class F>
BROADLOOM_HD void over_squares(const Team& team, int rows, int columns, F&& f) {
  if (rows / 4 * (columns / 4) >= team.threads() / 2) {
    over_squares_of<4>(team, rows, columns, f);
  } else {
    over_squares_of<1>(team, rows, columns, f);
  }
}

// Four steps of a run: numbers of each row of x, and of four columns of w.
template <int kRows>
struct RunPart {
  Four x[kRows], w[4];

  BROADLOOM_HD void read(const float* const (&sources)[kRows], const float* weights, int w_row,
                         int i) {
    for (int k = 0; k < kRows; ++k) x[k] = load_four(sources[k] + i);
    for (int k = 0; k < 4; ++k) w[k] = load_four(weights + (i + k) * w_row);
  }
  BROADLOOM_HD void add_to(float (&sums)[kRows][4]) const {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < kRows; ++k) {
        for (int c = 0; c < 4; ++c) {
          sums[k][c] = element::mul_add(x[k].values[j], w[j].values[c], sums[k][c]);
        }
      }
    }
  }
};

// add_run() for few rows: reads kParts parts ahead, because there is too little work to hide the
// waits.
template <int kParts, int kRows>
BROADLOOM_HD inline void add_run_ahead(const float* const (&x)[kRows], const float* w, int w_row,
                                       int depth, float (&sums)[kRows][4]) {
  constexpr int kAtOnce = 4 * kParts;
  int i = 0;
  if (depth >= kAtOnce) {
    RunPart<kRows> parts[kParts];
    for (int p = 0; p < kParts; ++p) parts[p].read(x, w, w_row, 4 * p);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (i = kAtOnce; i + kAtOnce <= depth; i += kAtOnce) {
      for (int p = 0; p < kParts; ++p) {
        parts[p].add_to(sums);
        parts[p].read(x, w, w_row, i + 4 * p);
      }
    }
    for (int p = 0; p < kParts; ++p) parts[p].add_to(sums);
  }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (; i < depth; i += 4) {
    RunPart<kRows> part;
    part.read(x, w, w_row, i);
    part.add_to(sums);
  }
}

// sums[k][c] += x of row k times w of column c, for a run of `depth` numbers, a multiple of four.
// They are adjacent in x, and w_row apart in w. kParts: parts read ahead if there is one row.
template <int kParts = 2, int kRows>
BROADLOOM_HD inline void add_run(const float* const (&x)[kRows], const float* w, int w_row,
                                 int depth, float (&sums)[kRows][4]) {
  if constexpr (kRows == 1) {
    add_run_ahead<kParts>(x, w, w_row, depth, sums);
  } else {
#ifdef __CUDA_ARCH__
#pragma unroll 2  // so that many reads are in flight
#endif
    for (int i = 0; i < depth; i += 4) {
      RunPart<kRows> part;
      part.read(x, w, w_row, i);
      part.add_to(sums);
    }
  }
}

// Calls f(std::integral_constant of the activation), so that code for many numbers branches once.
template <class F>
BROADLOOM_HD void with_known(Activation activation, F&& f) {
  switch (activation) {
    case Activation::kTanh:
      return f(std::integral_constant<Activation, Activation::kTanh>());
    case Activation::kRelu:
      return f(std::integral_constant<Activation, Activation::kRelu>());
    case Activation::kElu:
      return f(std::integral_constant<Activation, Activation::kElu>());
  }
}

// Converts a layer's sums to its outputs, or leaves them for the normalisation.
struct Finish {
  Activation activation;
  bool is_open;  // normalised first

  BROADLOOM_HD float operator()(float sum) const {
    return is_open ? sum : element::activate(activation, sum);
  }
  template <int kRows>
  BROADLOOM_HD void operator()(float (&sums)[kRows][4]) const {
    if (is_open) return;
    with_known(activation, [&](auto known) {
      constexpr Activation kKnown = decltype(known)::value;
      for (int k = 0; k < kRows; ++k) {
        for (int c = 0; c < 4; ++c) sums[k][c] = element::activate(kKnown, sums[k][c]);
      }
    });
  }
};

// activation'(y) times sums, for four numbers.
BROADLOOM_HD inline Four derivatives(Activation activation, const Four& y, const float (&sums)[4]) {
  Four made;
  with_known(activation, [&](auto known) {
    constexpr Activation kKnown = decltype(known)::value;
    for (int c = 0; c < 4; ++c)
      made.values[c] = element::activate_backward(kKnown, y.values[c], sums[c]);
  });
  return made;
}

// Rounds numbers to TF32. Their count is a multiple of four, and they are aligned to 16 bytes.
BROADLOOM_HD inline Four rounded(const Four& four) {
  return {{to_tf32(four.values[0]), to_tf32(four.values[1]), to_tf32(four.values[2]),
           to_tf32(four.values[3])}};
}
template <class Team>
BROADLOOM_HD void round_fours(const Team& team, float* numbers, int count) {
  for (int i = 4 * team.thread(); i < count; i += 4 * team.threads()) {
    store_four(rounded(load_four(numbers + i)), numbers + i);
  }
}

// Copies numbers with the same alignment.
template <class Team>
BROADLOOM_HD void copy_fours(const Team& team, const float* source, int count, float* target) {
  for (int i = 4 * team.thread(); i < count; i += 4 * team.threads()) {
    store_four(load_four(source + i), target + i);
  }
}

}  // namespace broadloom::cuda
