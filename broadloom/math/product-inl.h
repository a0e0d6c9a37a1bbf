// The kernel of the products of product.h, which are parted into files that compile side by side:
// every shape of a block for every instruction set takes a compiler long. Included once per target,
// hence the guard.
#if defined(BROADLOOM_MATH_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_PRODUCT_INL_H_
#undef BROADLOOM_MATH_PRODUCT_INL_H_
#else
#define BROADLOOM_MATH_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/product.h"
#include "broadloom/math/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of the output that stays in registers: kRows x kVectors accumulators, with room left for
// the loaded vectors of b and one broadcast of a (32 registers under AVX-512, 16 elsewhere).
// SSE4 adds apart from multiplying, so half as many rows hold as many operations; emulation gains
// nothing from blocks. Both cost the compiler less so.
constexpr bool kIsEmulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;
constexpr int kRows = kIsEmulated ? 1 : (HWY_TARGET == HWY_SSE4 ? 3 : 6);
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : (kIsEmulated ? 1 : 2);
// Of one vector: as many chains as keep the multipliers busy while a sum is on its way.
constexpr int kTallRows = 2 * kRows;
template <int V>
constexpr int kMostRows = V == 1 ? kTallRows : kRows;

// The numbers of a that step k of a block needs, and how to get to those of step k + 1. A place for
// three rows and a stride reach them within the addressing modes of x86; a pointer or an offset for
// each row takes more registers than there are.
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

// Inlined, it takes a sanitizer's build six times as long, and nobody times what that makes.
#undef BROADLOOM_INLINE
#ifdef BROADLOOM_FEWER_TARGETS
#define BROADLOOM_INLINE HWY_NOINLINE
#else
#define BROADLOOM_INLINE HWY_INLINE
#endif

// The last of the V vectors has only `tail` lanes when kMasked; the last of the R rows is p.sums
// when kSums.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
BROADLOOM_INLINE void multiply_block(D d, const Product<T, kColumns>& p, std::size_t tail) {
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
    T* to = kSums && r == R - 1 ? p.sums : p.c + r * p.c_row;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if (kMasked && v == V - 1) {
        store_tail(d, acc[r][v], to + v * lanes, tail);
      } else {
        hn::StoreU(acc[r][v], d, to + v * lanes);
      }
    }
  }
}

// A block of `rows` rows, at most R.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_rows(D d, const Product<T, kColumns>& p, int rows, std::size_t tail) {
  if constexpr (R > 1) {
    if (rows < R) return multiply_rows<R - 1, V, kMasked, kSums>(d, p, rows, tail);
  }
  multiply_block<R, V, kMasked, kSums>(d, p, tail);
}

// All rows of one band of V vectors, that of the sums with them.
template <int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_band(D d, Product<T, kColumns> p, int rows, std::size_t tail) {
  rows += kSums;
  if (rows <= 0) return;
  const int blocks = (rows + kMostRows<V> - 1) / kMostRows<V>;
  const int block = (rows + blocks - 1) / blocks;  // of one height, but for the last
  for (; rows > block; rows -= block) {
    multiply_rows<kMostRows<V>, V, kMasked, false>(d, p, block, tail);
    p.a += block * (kColumns ? 1 : p.a_stride);
    p.c += block * p.c_row;
    if (!p.from_zero) p.start += block * p.start_row;
  }
  multiply_rows<kMostRows<V>, V, kMasked, kSums>(d, p, rows, tail);
}

// kSums: whether there are p.sums.
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
  for (; cols >= kVectors * lanes; cols -= kVectors * lanes) {
    multiply_band<kVectors, false, kSums>(d, p, rows, 0);
    advance(kVectors * lanes);
  }
  if (kVectors > 2 && cols >= 2 * lanes) {
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

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // BROADLOOM_MATH_PRODUCT_INL_H_
