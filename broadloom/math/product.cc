#include "broadloom/math/product.h"

#include <cstddef>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/product.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of the output that stays in registers: rows x vectors accumulators. Registers remain for
// the loaded vectors of b and one broadcast of a (32 registers under AVX-512, 16 elsewhere).
//
// SSE4 adds apart from multiplying, so half as many rows hold as many operations. Emulation gains
// nothing from blocks, and only tests and exact policies use double precision. Small blocks there
// save compile time.
constexpr bool kIsEmulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;
template <class T>
constexpr bool kHasBlocks = sizeof(T) == sizeof(float) && !kIsEmulated;
template <class T>
constexpr int kRows = kHasBlocks<T> ? (HWY_TARGET == HWY_SSE4 ? 3 : 6) : 1;
template <class T>
constexpr int kVectors = kHasBlocks<T> ? (HWY_TARGET <= HWY_AVX3 ? 4 : 2) : 1;
// Rows of a block. Blocks of one vector need more chains to keep the multipliers busy.
template <class T, int V>
constexpr int kMostRows = kIsEmulated ? 1 : (V == 1 ? 2 * kRows<T> : kRows<T>);

// The numbers of a that step k of a block needs, and the way to those of step k + 1. One pointer
// per three rows and a stride reach them within x86's addressing modes. A pointer or an offset per
// row would take more registers than there are.
template <int R, bool kColumns, class T>
struct Factors {
  Factors(const T* a, std::size_t stride) : stride_(stride) {
    for (int i = 0; i < kPlaces; ++i) places_[i] = a + 3 * i * stride;
  }
  HWY_INLINE T operator[](int r) const {
    return kColumns ? places_[0][r] : places_[r / 3][(r % 3) * stride_];
  }
  HWY_INLINE void advance() {
#pragma GCC unroll 4
    for (int i = 0; i < kPlaces; ++i) places_[i] += kColumns ? stride_ : 1;
  }

 private:
  static constexpr int kPlaces = kColumns || R < 1 ? 1 : (R + 2) / 3;
  const T* places_[kPlaces];
  std::size_t stride_;
};

// If kMasked, the last of the V vectors has only `tail` lanes. If kSums, the last of the R rows is
// p.sums.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void compute_block(D d, const Product<T, kColumns>& p, std::size_t tail) {
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<D>;
  Vector acc[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const T* start = kSums && r == R - 1 ? p.sums : p.start + r * p.start_row;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if (p.from_zero) {
        acc[r][v] = hn::Zero(d);
      } else if (kMasked && v == V - 1) {
        acc[r][v] = load_tail(d, start + v * lanes, tail);
      } else {
        acc[r][v] = hn::LoadU(d, start + v * lanes);
      }
    }
  }
  const T* b = p.b;
  for (int run = 0; run < p.runs; ++run) {
    Factors<R - kSums, kColumns, T> factors(p.a + run * p.a_run, p.a_stride);
    for (int k = 0; k < p.depth; ++k) {
      Vector row[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        row[v] =
            kMasked && v == V - 1 ? load_tail(d, b + v * lanes, tail) : hn::LoadU(d, b + v * lanes);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R - kSums; ++r) {
        const Vector factor = hn::Set(d, factors[r]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = mul_add(factor, row[v], acc[r][v]);
      }
      if constexpr (kSums) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[R - 1][v] = hn::Add(acc[R - 1][v], row[v]);
      }
      factors.advance();
      b += p.b_stride;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    T* target = kSums && r == R - 1 ? p.sums : p.c + r * p.c_row;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if (kMasked && v == V - 1) {
        store_tail(d, acc[r][v], target + v * lanes, tail);
      } else {
        hn::StoreU(acc[r][v], d, target + v * lanes);
      }
    }
  }
}

// A function of its own: a single function for all shapes takes four times as long to compile.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_NOINLINE void call_block(D d, const Product<T, kColumns>& p, std::size_t tail) {
  compute_block<R, V, kMasked, kSums>(d, p, tail);
}

// A block of `rows` <= R rows. Whole blocks are most of the work, and a call costs them 1 to 2 %.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_rows(D d, const Product<T, kColumns>& p, int rows, std::size_t tail) {
  if constexpr (R > 1) {
    if (rows < R) return multiply_rows<R - 1, V, kMasked, kSums>(d, p, rows, tail);
  }
  if constexpr (R == kMostRows<T, V> && V == kVectors<T> && kHasBlocks<T> && !kSums) {
    compute_block<R, V, kMasked, kSums>(d, p, tail);
  } else {
    call_block<R, V, kMasked, kSums>(d, p, tail);
  }
}

// All rows of one band of V vectors, including the row of sums.
template <int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_NOINLINE void multiply_band(D d, Product<T, kColumns> p, int rows, std::size_t tail) {
  rows += kSums;
  if (rows <= 0) return;
  const int blocks = (rows + kMostRows<T, V> - 1) / kMostRows<T, V>;
  const int block = (rows + blocks - 1) / blocks;  // all of one height, except the last
  for (; rows > block; rows -= block) {
    multiply_rows<kMostRows<T, V>, V, kMasked, false>(d, p, block, tail);
    p.a += block * (kColumns ? 1 : p.a_stride);
    p.c += block * p.c_row;
    if (!p.from_zero) p.start += block * p.start_row;
  }
  multiply_rows<kMostRows<T, V>, V, kMasked, kSums>(d, p, rows, tail);
}

// kSums: whether p.sums is set.
template <bool kSums, class T, bool kColumns>
HWY_INLINE void multiply_one(Product<T, kColumns> p, int rows, int cols) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto advance = [&p](int columns) {
    p.b += columns;
    p.c += columns;
    if (!p.from_zero) p.start += columns;
    if (kSums) p.sums += columns;
  };
  for (; cols >= kVectors<T> * lanes; cols -= kVectors<T> * lanes) {
    multiply_band<kVectors<T>, false, kSums>(d, p, rows, 0);
    advance(kVectors<T> * lanes);
  }
  if (kVectors < T >> 2 && cols >= 2 * lanes) {
    multiply_band<2, false, kSums>(d, p, rows, 0);
    advance(2 * lanes);
    cols -= 2 * lanes;
  }
  for (; cols >= lanes; cols -= lanes) {
    multiply_band<1, false, kSums>(d, p, rows, 0);
    advance(lanes);
  }
  if (cols > 0) multiply_band<1, true, kSums>(d, p, rows, static_cast<std::size_t>(cols));
}

template <bool kSums, class T, bool kColumns>
HWY_INLINE void multiply_all(Product<T, kColumns> p, int rows, int cols) {
  for (int group = 0; group < p.groups; ++group) {
    multiply_one<kSums>(p, rows, cols);
    p.a += p.a_group;
    p.c += p.c_group;
  }
}

void RowsF32(const Product<float, false>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void RowsF64(const Product<double, false>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void ColumnsF32(const Product<float, true>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void ColumnsF64(const Product<double, true>& p, int rows, int cols) {
  multiply_all<false>(p, rows, cols);
}
void ColumnsAndSumsF32(const Product<float, true>& p, int rows, int cols) {
  multiply_all<true>(p, rows, cols);
}
void ColumnsAndSumsF64(const Product<double, true>& p, int rows, int cols) {
  multiply_all<true>(p, rows, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(RowsF32);
HWY_EXPORT(RowsF64);
HWY_EXPORT(ColumnsF32);
HWY_EXPORT(ColumnsF64);
HWY_EXPORT(ColumnsAndSumsF32);
HWY_EXPORT(ColumnsAndSumsF64);

void multiply(const Product<float, false>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(RowsF32)(p, rows, cols);
}
void multiply(const Product<double, false>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(RowsF64)(p, rows, cols);
}
void multiply(const Product<float, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsF32)(p, rows, cols);
}
void multiply(const Product<double, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsF64)(p, rows, cols);
}
void multiply_and_add_up(const Product<float, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsAndSumsF32)(p, rows, cols);
}
void multiply_and_add_up(const Product<double, true>& p, int rows, int cols) {
  HWY_DYNAMIC_DISPATCH(ColumnsAndSumsF64)(p, rows, cols);
}

}  // namespace broadloom
#endif  // HWY_ONCE
