// The product of a tile that layers and heads are made of. Included once per target, hence the
// guard.
#if defined(BROADLOOM_MATH_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_PRODUCT_INL_H_
#undef BROADLOOM_MATH_PRODUCT_INL_H_
#else
#define BROADLOOM_MATH_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of the output that stays in registers: kRows x kVectors accumulators, with room left for
// the loaded vectors of b and one broadcast of a (32 registers under AVX-512, 16 elsewhere).
constexpr int kRows = 6;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// c[m, :] = start + sum over k of a[m, k] b[k, :], or of a[k, m] b[k, :] when kColumns: then a's
// columns are read. start: one row for all (stride 0), or c itself; not read when from_zero.
template <class T, bool kColumns>
struct Product {
  const T* a;
  std::size_t a_stride;  // from one row of a to the next, whichever way it is read
  const T* b;
  std::size_t b_stride;
  const T* start;
  std::size_t start_row;
  T* c;
  std::size_t c_row;
  int depth;
  bool from_zero = false;
  // With kSums: one row of output more, sums[:] += sum over k of b[k, :].
  T* sums = nullptr;
};

// The numbers of a that step k of a block needs, and how to get to those of step k + 1. Two places
// and a stride reach six rows within the addressing modes of x86; a pointer or an offset for each
// row takes more registers than there are.
template <int R, bool kColumns, class T>
struct Factors {
  Factors(const T* a, std::size_t stride)
      : a_(a), half_(R > 3 && !kColumns ? a + 3 * stride : a), stride_(stride) {}
  HWY_INLINE T operator[](int r) const {
    if (kColumns) return a_[r];
    return r < 3 ? a_[r * stride_] : half_[(r - 3) * stride_];
  }
  HWY_INLINE void advance() {
    a_ += kColumns ? stride_ : 1;
    half_ += 1;
  }

 private:
  const T* a_;
  const T* half_;
  std::size_t stride_;
};

// The last of the V vectors has only `tail` lanes when kMasked; the last of the R rows is p.sums
// when kSums.
template <int R, int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_block(D d, const Product<T, kColumns>& p, std::size_t tail) {
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<D>;
  Vector acc[R][V];
#pragma GCC unroll 8
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
  Factors<R - kSums, kColumns, T> factors(p.a, p.a_stride);
  const T* b = p.b;
  for (int k = 0; k < p.depth; ++k) {
    Vector row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      row[v] =
          kMasked && v == V - 1 ? load_tail(d, b + v * lanes, tail) : hn::LoadU(d, b + v * lanes);
    }
#pragma GCC unroll 8
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
#pragma GCC unroll 8
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

template <int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_rows(D d, const Product<T, kColumns>& p, int rows, std::size_t tail) {
  switch (rows) {
    case 1:
      return multiply_block<1, V, kMasked, kSums>(d, p, tail);
    case 2:
      return multiply_block<2, V, kMasked, kSums>(d, p, tail);
    case 3:
      return multiply_block<3, V, kMasked, kSums>(d, p, tail);
    case 4:
      return multiply_block<4, V, kMasked, kSums>(d, p, tail);
    case 5:
      return multiply_block<5, V, kMasked, kSums>(d, p, tail);
    default:
      return multiply_block<6, V, kMasked, kSums>(d, p, tail);
  }
}

// All rows of one band of V vectors, that of the sums with them.
template <int V, bool kMasked, bool kSums, class D, class T, bool kColumns>
HWY_INLINE void multiply_band(D d, Product<T, kColumns> p, int rows, std::size_t tail) {
  for (rows += kSums; rows > 0; rows -= kRows) {
    if (kSums && rows <= kRows) {
      multiply_rows<V, kMasked, true>(d, p, rows, tail);
    } else {
      multiply_rows<V, kMasked, false>(d, p, rows, tail);
    }
    if (rows <= kRows) return;
    p.a += kRows * (kColumns ? 1 : p.a_stride);
    p.c += kRows * p.c_row;
    if (!p.from_zero) p.start += kRows * p.start_row;
  }
}

// kSums: whether there are p.sums.
template <bool kSums = false, class T, bool kColumns>
HWY_INLINE void multiply(Product<T, kColumns> p, int rows, int cols) {
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

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
