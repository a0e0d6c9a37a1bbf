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

template <class T>
void add_column_sums(const T* dy, T* db, int rows, int out) {
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) db[o] += dy[static_cast<std::size_t>(r) * out + o];
  }
}

// With one output the product is formed as its transpose, which has the same memory layout and
// whole vectors along `in`.
template <class T>
void backward_weights(const T* x, const T* dy, T* dw, T* db, int rows, int in, int out) {
  const std::size_t n_in = static_cast<std::size_t>(in);
  const std::size_t n_out = static_cast<std::size_t>(out);
  if (out == 1) {
    multiply<T>({dy, 1, 1, x, n_in, dw, n_in, dw, n_in, rows}, 1, in);
  } else {
    multiply<T>({x, 1, n_in, dy, n_out, dw, n_out, dw, n_out, rows}, in, out);
  }
  add_column_sums(dy, db, rows, out);
}

void ForwardF32(const float* x, const float* w, const float* b, float* y, int rows, int in,
                int out) {
  forward(x, w, b, y, rows, in, out);
}
void ForwardF64(const double* x, const double* w, const double* b, double* y, int rows, int in,
                int out) {
  forward(x, w, b, y, rows, in, out);
}
void BackwardF32(const float* x, const float* dy, float* dw, float* db, int rows, int in, int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
}
void BackwardF64(const double* x, const double* dy, double* dw, double* db, int rows, int in,
                 int out) {
  backward_weights(x, dy, dw, db, rows, in, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);

void linear_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out) {
  HWY_DYNAMIC_DISPATCH(ForwardF32)(x, w, b, y, rows, in, out);
}
void linear_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out) {
  HWY_DYNAMIC_DISPATCH(ForwardF64)(x, w, b, y, rows, in, out);
}
void linear_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows,
                             int in, int out) {
  HWY_DYNAMIC_DISPATCH(BackwardF32)(x, dy, dw, db, rows, in, out);
}
void linear_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                             int in, int out) {
  HWY_DYNAMIC_DISPATCH(BackwardF64)(x, dy, dw, db, rows, in, out);
}

namespace {
template <class Real>
void transpose_plain(const Real* w, Real* wt, int in, int out) {
  for (int i = 0; i < in; ++i) {
    for (int o = 0; o < out; ++o) {
      wt[static_cast<std::size_t>(o) * in + i] = w[static_cast<std::size_t>(i) * out + o];
    }
  }
}
}  // namespace

void transpose(const float* w, float* wt, int in, int out) { transpose_plain(w, wt, in, out); }
void transpose(const double* w, double* wt, int in, int out) { transpose_plain(w, wt, in, out); }

}  // namespace broadloom
#endif  // HWY_ONCE
