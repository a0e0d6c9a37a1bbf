#include "broadloom/math/linear.h"

#include <cstddef>

#include "broadloom/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "broadloom/math/linear.cc"
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of the output that stays in registers: kRows x kVectors accumulators, with room left for
// the loaded vectors of b and one broadcast of a (32 registers under AVX-512, 16 elsewhere).
constexpr int kRows = 6;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// c[m, :] = start + sum over k of a[m, k] b[k, :] with the strides of a given, so that a may be
// read transposed. start: one row for all (stride 0), or c itself; not read when from_zero.
template <class T>
struct Product {
  const T* a;
  std::size_t a_row, a_k;
  const T* b;
  std::size_t b_stride;
  const T* start;
  std::size_t start_row;
  T* c;
  std::size_t c_row;
  int depth;
  bool from_zero = false;
};

// The last of the V vectors has only `tail` lanes when kMasked.
template <int R, int V, bool kMasked, class D, class T>
HWY_INLINE void multiply_block(D d, const Product<T>& p, std::size_t tail) {
  const std::size_t lanes = hn::Lanes(d);
  using Vector = hn::Vec<D>;
  Vector acc[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if (p.from_zero) {
        acc[r][v] = hn::Zero(d);
        continue;
      }
      const T* from = p.start + r * p.start_row + v * lanes;
      if (kMasked && v == V - 1) {
        acc[r][v] = load_tail(d, from, tail);
      } else {
        acc[r][v] = hn::LoadU(d, from);
      }
    }
  }
  const T* a = p.a;
  const T* b = p.b;
  for (int k = 0; k < p.depth; ++k) {
    Vector row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      row[v] =
          kMasked && v == V - 1 ? load_tail(d, b + v * lanes, tail) : hn::LoadU(d, b + v * lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector factor = hn::Set(d, a[r * p.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(factor, row[v], acc[r][v]);
    }
    a += p.a_k;
    b += p.b_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      T* to = p.c + r * p.c_row + v * lanes;
      if (kMasked && v == V - 1) {
        store_tail(d, acc[r][v], to, tail);
      } else {
        hn::StoreU(acc[r][v], d, to);
      }
    }
  }
}

// All rows of one band of V vectors.
template <int V, bool kMasked, class D, class T>
HWY_INLINE void multiply_band(D d, Product<T> p, int rows, std::size_t tail) {
  while (rows > 0) {
    const int step = rows < kRows ? rows : kRows;
    switch (step) {
      case 1:
        multiply_block<1, V, kMasked>(d, p, tail);
        break;
      case 2:
        multiply_block<2, V, kMasked>(d, p, tail);
        break;
      case 3:
        multiply_block<3, V, kMasked>(d, p, tail);
        break;
      case 4:
        multiply_block<4, V, kMasked>(d, p, tail);
        break;
      case 5:
        multiply_block<5, V, kMasked>(d, p, tail);
        break;
      default:
        multiply_block<6, V, kMasked>(d, p, tail);
        break;
    }
    p.a += step * p.a_row;
    p.c += step * p.c_row;
    if (!p.from_zero) p.start += step * p.start_row;
    rows -= step;
  }
}

template <class T>
void multiply(Product<T> p, int rows, int cols) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto advance = [&p](int columns) {
    p.b += columns;
    p.c += columns;
    if (!p.from_zero) p.start += columns;
  };
  for (; cols >= kVectors * lanes; cols -= kVectors * lanes) {
    multiply_band<kVectors, false>(d, p, rows, 0);
    advance(kVectors * lanes);
  }
  if (kVectors > 2 && cols >= 2 * lanes) {
    multiply_band<2, false>(d, p, rows, 0);
    advance(2 * lanes);
    cols -= 2 * lanes;
  }
  for (; cols >= lanes; cols -= lanes) {
    multiply_band<1, false>(d, p, rows, 0);
    advance(lanes);
  }
  if (cols > 0) multiply_band<1, true>(d, p, rows, static_cast<std::size_t>(cols));
}

template <class T>
void forward(const T* x, const T* w, const T* b, T* y, int rows, int in, int out) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  const std::size_t n_out = static_cast<std::size_t>(out);
  multiply<T>({x, n_in, 1, w, n_out, b, 0, y, n_out, in, b == nullptr}, rows, out);
}

// The column sums are a product with a row of ones: both strides of that row are 0.
template <class T>
void backward_weights(const T* x, const T* dy, T* dw, T* db, int rows, int in, int out) {
  static constexpr T kOne = 1;
  const std::size_t n_in = static_cast<std::size_t>(in);
  const std::size_t n_out = static_cast<std::size_t>(out);
  multiply<T>({x, 1, n_in, dy, n_out, dw, n_out, dw, n_out, rows}, in, out);
  multiply<T>({&kOne, 0, 0, dy, n_out, db, n_out, db, n_out, rows}, 1, out);
}

// Makes v[0] hold, in lane r, the sum of the lanes of v[r], for as many r as there are lanes.
// Neighbours are added pairwise, level by level.
template <class D, class Vector>
HWY_INLINE void sum_each([[maybe_unused]] D d, [[maybe_unused]] Vector* v,
                         [[maybe_unused]] int count) {
#if HWY_TARGET != HWY_SCALAR  // one lane: nothing to add
  for (; count > 1; count /= 2) {
    for (int i = 0; i < count / 2; ++i) {
      v[i] = hn::ConcatEven(d, v[2 * i + 1], v[2 * i]) + hn::ConcatOdd(d, v[2 * i + 1], v[2 * i]);
    }
  }
#endif
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
      sum_each(d, sums, kLanes);
      hn::StoreU(sums[0] + hn::Set(d, b[o]), d, y + o * stride + first);
    }
  }
}

template <class T>
void head_backward_as(const T* x, const T* dy, T* dw, T* db, int rows, int in, int out,
                      std::size_t stride) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  multiply<T>({dy, stride, 1, x, n_in, dw, n_in, dw, n_in, rows}, out, in);
  for (int o = 0; o < out; ++o) {
    for (int r = 0; r < rows; ++r) db[o] += dy[o * stride + r];
  }
}

template <class T>
void head_input_as(const T* dy, const T* w, T* dx, int rows, int in, int out, std::size_t stride) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  multiply<T>({dy, 1, stride, w, n_in, nullptr, 0, dx, n_in, out, true}, rows, in);
}

#if HWY_TARGET != HWY_SCALAR
// wt[0..4, 0..4] = w[0..4, 0..4] turned, rows w_row and wt_row apart.
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
void ForwardF32(const float* x, const float* w, const float* b, float* y, int rows, int in,
                int out) {
  forward(x, w, b, y, rows, in, out);
}
void BackwardF32(const float* x, const float* dy, float* dw, float* db, int rows, int in, int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
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
void ForwardF64(const double* x, const double* w, const double* b, double* y, int rows, int in,
                int out) {
  forward(x, w, b, y, rows, in, out);
}
void BackwardF64(const double* x, const double* dy, double* dw, double* db, int rows, int in,
                 int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
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

HWY_EXPORT(TransposeF32);
HWY_EXPORT(TransposeF64);
HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);
HWY_EXPORT(HeadForwardF32);
HWY_EXPORT(HeadForwardF64);
HWY_EXPORT(HeadBackwardF32);
HWY_EXPORT(HeadBackwardF64);
HWY_EXPORT(HeadInputF32);
HWY_EXPORT(HeadInputF64);

void linear_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out) {
  HWY_DYNAMIC_DISPATCH(ForwardF32)(x, w, b, y, rows, in, out);
}
void linear_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows,
                             int in, int out) {
  HWY_DYNAMIC_DISPATCH(BackwardF32)(x, dy, dw, db, rows, in, out);
}
void head_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                  int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadForwardF32)(x, w, b, y, rows, in, out, stride);
}
void head_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows, int in,
                           int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadBackwardF32)(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_input(const float* dy, const float* w, float* dx, int rows, int in, int out,
                         std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadInputF32)(dy, w, dx, rows, in, out, stride);
}
void linear_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out) {
  HWY_DYNAMIC_DISPATCH(ForwardF64)(x, w, b, y, rows, in, out);
}
void linear_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                             int in, int out) {
  HWY_DYNAMIC_DISPATCH(BackwardF64)(x, dy, dw, db, rows, in, out);
}
void head_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                  int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadForwardF64)(x, w, b, y, rows, in, out, stride);
}
void head_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                           int in, int out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadBackwardF64)(x, dy, dw, db, rows, in, out, stride);
}
void head_backward_input(const double* dy, const double* w, double* dx, int rows, int in, int out,
                         std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(HeadInputF64)(dy, w, dx, rows, in, out, stride);
}

void transpose(const float* w, float* wt, int in, int out) {
  HWY_DYNAMIC_DISPATCH(TransposeF32)(w, wt, in, out);
}
void transpose(const double* w, double* wt, int in, int out) {
  HWY_DYNAMIC_DISPATCH(TransposeF64)(w, wt, in, out);
}

}  // namespace broadloom
#endif  // HWY_ONCE
