#include "broadloom/math/head.h"

#include <algorithm>
#include <cstddef>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/head.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/product.h"
#include "broadloom/math/tail-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds neighbouring lanes of a and b pairwise: a's sums, then b's.
template <class D, class Vector>
HWY_INLINE Vector add_neighbours([[maybe_unused]] D d, Vector a, Vector b) {
#if HWY_TARGET == HWY_SCALAR  // one lane: a and b are neighbours
  return hn::Add(a, b);
#else
  return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
#endif
}

// Sums the kCount vectors v, seen as one sequence of lanes. Lane j of the result is the sum of
// lanes [j kCount, (j + 1) kCount), added pairwise, level by level.
template <int kCount, class D, class Vector>
HWY_INLINE Vector sum_each(D d, const Vector* v) {
  if constexpr (kCount > 1) {
    const Vector left = sum_each<kCount / 2>(d, v);
    const Vector right = sum_each<kCount / 2>(d, v + kCount / 2);
    return add_neighbours(d, left, right);
  } else {
    return v[0];
  }
}

// Dot products x[r, :] . weights of kRows rows, in the virtual lanes of virtual_lanes-inl.h. The
// upper half of the virtual lanes is then added to the lower half.
//
// halves: kParts / 2 vectors per row. If one vector holds all virtual lanes, one vector per pair of
// rows.
template <class T, int kRows>
HWY_INLINE void products_of_rows(const T* const* row, const T* weights, int in,
                                 hn::Vec<Lanes<T>>* halves) {
  const Lanes<T> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVirtual = static_cast<int>(kVirtualLanes<T>);
  constexpr int kCount = static_cast<int>(kParts<T>);
  LaneSums<T> sums[kRows];
  int i = 0;
  for (; i + kVirtual <= in; i += kVirtual) {
#pragma GCC unroll 16
    for (int p = 0; p < kCount; ++p) {
      const auto factor = hn::LoadU(d, weights + i + p * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        sums[r].part[p] = mul_add(hn::LoadU(d, row[r] + i + p * kLanes), factor, sums[r].part[p]);
      }
    }
  }
  if (i < in) {
#pragma GCC unroll 16
    for (int p = 0; p < kCount; ++p, i += kLanes) {
      // Lanes without an element also add 0 * 0, so that a sum of -0 becomes 0 on every processor.
      const std::size_t tail = i < in ? static_cast<std::size_t>(std::min(in - i, kLanes)) : 0;
      const auto factor = tail > 0 ? load_tail(d, weights + i, tail) : hn::Zero(d);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const auto value = tail > 0 ? load_tail(d, row[r] + i, tail) : hn::Zero(d);
        sums[r].part[p] = mul_add(value, factor, sums[r].part[p]);
      }
    }
  }
#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no halves
  if constexpr (kCount == 1) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; r += 2) {
      const auto a = sums[r].part[0], b = sums[r + 1].part[0];
      halves[r / 2] = hn::Add(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
    }
    return;
  }
#endif
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < kCount / 2; ++p) {
      halves[r * (kCount / 2) + p] = hn::Add(sums[r].part[p], sums[r].part[p + kCount / 2]);
    }
  }
}

// One lane per row: as many rows as there are lanes are reduced together. Missing rows past the end
// repeat the last row.
template <class T>
void head_forward_as(const T* x, const T* w, const T* b, T* y, int rows, int in, int out,
                     std::size_t stride) {
  const Lanes<T> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kCount = static_cast<int>(kParts<T>);
  // Rows at once, limited so that registers remain for the loaded vectors.
  constexpr int kAtOnce = kCount == 1 ? kLanes : std::min(kLanes, 4);
  constexpr int kHalves = kLanes * kCount / 2;  // vectors of all rows
  for (int first = 0; first < rows; first += kLanes) {
    const T* row[kLanes];
    for (int r = 0; r < kLanes; ++r) {
      row[r] = x + static_cast<std::size_t>(first + r < rows ? first + r : rows - 1) * in;
    }
    for (int o = 0; o < out; ++o) {
      const T* weights = w + static_cast<std::size_t>(o) * in;
      hn::Vec<decltype(d)> halves[kHalves];
#pragma GCC unroll 4
      for (int r = 0; r < kLanes; r += kAtOnce) {
        products_of_rows<T, kAtOnce>(row + r, weights, in, halves + r * kCount / 2);
      }
      hn::StoreU(sum_each<kHalves>(d, halves) + hn::Set(d, b[o]), d, y + o * stride + first);
    }
  }
}

void HeadForwardF32(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out, std::size_t stride) {
  head_forward_as(x, w, b, y, rows, in, out, stride);
}
void HeadForwardF64(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out, std::size_t stride) {
  head_forward_as(x, w, b, y, rows, in, out, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(HeadForwardF32);
HWY_EXPORT(HeadForwardF64);

namespace {

template <class T>
void head_backward_as(const T* x, const T* dy, T* dw, T* db, int rows, int in, int out,
                      std::size_t stride) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  multiply(Product<T, false>{dy, stride, x, n_in, dw, n_in, dw, n_in, rows}, out, in);
  for (int o = 0; o < out; ++o) {
    for (int r = 0; r < rows; ++r) db[o] += dy[o * stride + r];
  }
}

template <class T>
void head_input_as(const T* dy, const T* w, T* dx, int rows, int in, int out, std::size_t stride) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  multiply(Product<T, true>{dy, stride, w, n_in, nullptr, 0, dx, n_in, out, true}, rows, in);
}

}  // namespace

void head_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                  int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadForwardF32)(x, w, b, y, rows, in, out, stride);
}
void head_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                  int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadForwardF64)(x, w, b, y, rows, in, out, stride);
}
void head_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows, int in,
                           int out, std::size_t stride) {
  head_backward_as(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                           int in, int out, std::size_t stride) {
  head_backward_as(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_input(const float* dy, const float* w, float* dx, int rows, int in, int out,
                         std::size_t stride) {
  head_input_as(dy, w, dx, rows, in, out, stride);
}
void head_backward_input(const double* dy, const double* w, double* dx, int rows, int in, int out,
                         std::size_t stride) {
  head_input_as(dy, w, dx, rows, in, out, stride);
}

}  // namespace broadloom
#endif  // HWY_ONCE
