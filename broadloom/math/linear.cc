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
  // Where not null: one row of output more, sums[:] += sum over k of b[k, :].
  T* sums = nullptr;
};

// The numbers of a that step k of a block needs, and how to get to those of step k + 1. Two places
// and a stride reach six rows within the addressing modes of x86; a pointer or an offset for each
// row takes more registers than there are.
template <bool kColumns, class T>
struct Factors {
  Factors(const T* a, std::size_t stride) : a_(a), half_(a + 3 * stride), stride_(stride) {}
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
  Factors<kColumns, T> factors(p.a, p.a_stride);
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
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(factor, row[v], acc[r][v]);
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
  multiply<true>(Product<T, true>{x, n_in, dy, n_out, dw, n_out, dw, n_out, rows, false, db}, in,
                 out);
}

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
