#include "broadloom/math/head.h"

#include <cstddef>

#include "broadloom/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "broadloom/math/head.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The vector whose lane r is the sum of the lanes of v[r], for as many r as there are lanes.
// Neighbours are added pairwise, level by level.
template <int kCount, class D, class Vector>
HWY_INLINE Vector sum_each([[maybe_unused]] D d, const Vector* v) {
#if HWY_TARGET != HWY_SCALAR  // one lane: nothing to add
  if constexpr (kCount > 1) {
    const Vector left = sum_each<kCount / 2>(d, v);
    const Vector right = sum_each<kCount / 2>(d, v + kCount / 2);
    return hn::Add(hn::ConcatEven(d, right, left), hn::ConcatOdd(d, right, left));
  }
#endif
  return v[0];
}

// One lane a row: as many rows as there are lanes are reduced together. Rows past the last repeat
// it.
template <class T>
void head_forward_as(const T* x, const T* w, const T* b, T* y, int rows, int in, int out,
                     std::size_t stride) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  const int whole = in - in % kLanes;
  const std::size_t tail = static_cast<std::size_t>(in - whole);
  for (int first = 0; first < rows; first += kLanes) {
    const T* row[kLanes];
    for (int r = 0; r < kLanes; ++r) {
      row[r] = x + static_cast<std::size_t>(first + r < rows ? first + r : rows - 1) * in;
    }
    for (int o = 0; o < out; ++o) {
      const T* weights = w + static_cast<std::size_t>(o) * in;
      hn::Vec<decltype(d)> sums[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) sums[r] = hn::Zero(d);
      for (int i = 0; i < whole; i += kLanes) {
        const auto factor = hn::LoadU(d, weights + i);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          sums[r] = hn::MulAdd(hn::LoadU(d, row[r] + i), factor, sums[r]);
        }
      }
      if (tail > 0) {
        const auto factor = load_tail(d, weights + whole, tail);
        for (int r = 0; r < kLanes; ++r) {
          sums[r] = hn::MulAdd(load_tail(d, row[r] + whole, tail), factor, sums[r]);
        }
      }
      hn::StoreU(sum_each<kLanes>(d, sums) + hn::Set(d, b[o]), d, y + o * stride + first);
    }
  }
}

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

void HeadForwardF32(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out, std::size_t stride) {
  head_forward_as(x, w, b, y, rows, in, out, stride);
}
void HeadBackwardF32(const float* x, const float* dy, float* dw, float* db, int rows, int in,
                     int out, std::size_t stride) {
  head_backward_as(x, dy, dw, db, rows, in, out, stride);
}
void HeadInputF32(const float* dy, const float* w, float* dx, int rows, int in, int out,
                  std::size_t stride) {
  head_input_as(dy, w, dx, rows, in, out, stride);
}
void HeadForwardF64(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out, std::size_t stride) {
  head_forward_as(x, w, b, y, rows, in, out, stride);
}
void HeadBackwardF64(const double* x, const double* dy, double* dw, double* db, int rows, int in,
                     int out, std::size_t stride) {
  head_backward_as(x, dy, dw, db, rows, in, out, stride);
}
void HeadInputF64(const double* dy, const double* w, double* dx, int rows, int in, int out,
                  std::size_t stride) {
  head_input_as(dy, w, dx, rows, in, out, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(HeadForwardF32);
HWY_EXPORT(HeadForwardF64);
HWY_EXPORT(HeadBackwardF32);
HWY_EXPORT(HeadBackwardF64);
HWY_EXPORT(HeadInputF32);
HWY_EXPORT(HeadInputF64);

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
  HWY_DYNAMIC_DISPATCH(HeadBackwardF32)(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                           int in, int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadBackwardF64)(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_input(const float* dy, const float* w, float* dx, int rows, int in, int out,
                         std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadInputF32)(dy, w, dx, rows, in, out, stride);
}
void head_backward_input(const double* dy, const double* w, double* dx, int rows, int in, int out,
                         std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadInputF64)(dy, w, dx, rows, in, out, stride);
}

}  // namespace broadloom
#endif  // HWY_ONCE
