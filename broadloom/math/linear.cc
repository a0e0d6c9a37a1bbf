#include "broadloom/math/linear.h"

#include <cstddef>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/linear.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/product.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Transposes w[0..4, 0..4] into wt[0..4, 0..4]. Rows are w_row and wt_row apart.
HWY_INLINE void transpose_4x4(const float* w, std::size_t w_row, float* wt, std::size_t wt_row) {
  const hn::Full128<float> d;
  const auto a = hn::LoadU(d, w);
  const auto b = hn::LoadU(d, w + w_row);
  const auto c = hn::LoadU(d, w + 2 * w_row);
  const auto e = hn::LoadU(d, w + 3 * w_row);
  const auto ac_low = hn::InterleaveLower(d, a, c);
  const auto be_low = hn::InterleaveLower(d, b, e);
  const auto ac_high = hn::InterleaveUpper(d, a, c);
  const auto be_high = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, wt);
  hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, wt + wt_row);
  hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, wt + 2 * wt_row);
  hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, wt + 3 * wt_row);
}
#endif

template <class T>
void transpose_as(const T* w, T* wt, int in, int out) {
  const std::size_t w_row = static_cast<std::size_t>(out);
  const std::size_t wt_row = static_cast<std::size_t>(in);
  int o = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
    for (; o + 4 <= out; o += 4) {
      int i = 0;
      for (; i + 4 <= in; i += 4)
        transpose_4x4(w + i * w_row + o, w_row, wt + o * wt_row + i, wt_row);
      for (; i < in; ++i) {
        for (int k = o; k < o + 4; ++k) wt[k * wt_row + i] = w[i * w_row + k];
      }
    }
  }
#endif
  for (; o < out; ++o) {
    for (int i = 0; i < in; ++i) wt[o * wt_row + i] = w[i * w_row + o];
  }
}

void TransposeF32(const float* w, float* wt, int in, int out) { transpose_as(w, wt, in, out); }
void TransposeF64(const double* w, double* wt, int in, int out) { transpose_as(w, wt, in, out); }

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(TransposeF32);
HWY_EXPORT(TransposeF64);

namespace {

template <class T>
void forward(const T* x, const T* w, const T* b, T* y, int rows, int in, int out) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  const std::size_t n_out = static_cast<std::size_t>(out);
  multiply(Product<T, false>{x, n_in, w, n_out, b, 0, y, n_out, in, b == nullptr}, rows, out);
}

template <class T>
void backward_weights(const T* x, const T* dy, T* dw, T* db, int rows, int in, int out) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  const std::size_t n_out = static_cast<std::size_t>(out);
  multiply_and_add_up(Product<T, true>{x, n_in, dy, n_out, dw, n_out, dw, n_out, rows, false, db},
                      in, out);
}

}  // namespace

void linear_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out) {
  forward(x, w, b, y, rows, in, out);
}
void linear_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows,
                             int in, int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
}
void linear_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out) {
  forward(x, w, b, y, rows, in, out);
}
void linear_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                             int in, int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
}

void transpose(const float* w, float* wt, int in, int out) {
  HWY_DYNAMIC_DISPATCH(TransposeF32)(w, wt, in, out);
}
void transpose(const double* w, double* wt, int in, int out) {
  HWY_DYNAMIC_DISPATCH(TransposeF64)(w, wt, in, out);
}

}  // namespace broadloom
#endif  // HWY_ONCE
