#include "broadloom/math/layer_norm.h"

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/layer_norm.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/tail-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The row size that has a compiled version of its own: 16 channels, as in MinAtar's networks. Other
// sizes use 0.
constexpr std::size_t kUsual = 16;

// Calls f(i, count, part) for every vector of a row of `size` numbers. The first `count` lanes are
// numbers of the row, and belong to part `part` of the virtual lanes.
template <class T, std::size_t kSize, class F>
HWY_INLINE void over_row(std::size_t size, F&& f) {
  constexpr std::size_t kLanes = hn::MaxLanes(Lanes<T>());
  if constexpr (kSize > 0) {
    static_assert(kSize % kVirtualLanes<T> == 0);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kSize; k += kLanes) f(k, kLanes, k / kLanes % kParts<T>);
    return;
  }
  std::size_t i = 0;
  for (; i + kVirtualLanes<T> <= size; i += kVirtualLanes<T>) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kParts<T>; ++part) f(i + part * kLanes, kLanes, part);
  }
  for (std::size_t part = 0; i < size; i += kLanes, ++part) {
    f(i, size - i < kLanes ? size - i : kLanes, part);
  }
}

// Loads `count` lanes; the others are zero.
template <class T>
HWY_INLINE hn::Vec<Lanes<T>> load_some(const T* source, std::size_t count) {
  const Lanes<T> d;
  return count == hn::MaxLanes(d) ? hn::LoadU(d, source) : load_tail(d, source, count);
}
template <class T>
HWY_INLINE void store_some(hn::Vec<Lanes<T>> value, T* target, std::size_t count) {
  const Lanes<T> d;
  if (count == hn::MaxLanes(d)) {
    hn::StoreU(value, d, target);
  } else {
    store_tail(d, value, target, count);
  }
}

template <class T>
struct RowMoments {
  T mean, scale;  // scale = 1 / sqrt(variance + epsilon)
};

template <class T, std::size_t kSize>
HWY_INLINE RowMoments<T> moments_of(const T* x, T epsilon, std::size_t size) {
  const Lanes<T> d;
  const T share = T(1) / static_cast<T>(size);
  LaneSums<T> sum;
  over_row<T, kSize>(size, [&](std::size_t i, std::size_t count, std::size_t part) HWY_ATTR {
    sum.part[part] = hn::Add(sum.part[part], load_some(x + i, count));
  });
  const T mean = sum.total() * share;
  LaneSums<T> squares;
  const auto middle = hn::Set(d, mean);
  over_row<T, kSize>(size, [&](std::size_t i, std::size_t count, std::size_t part) HWY_ATTR {
    const auto difference =
        hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(load_some(x + i, count), middle));
    squares.part[part] = mul_add(difference, difference, squares.part[part]);
  });
  const T variance = squares.total() * share;
  const auto root = hn::Sqrt(hn::Set(d, variance + epsilon));
  return {mean, hn::GetLane(hn::Div(hn::Set(d, T(1)), root))};
}

template <class T, std::size_t kSize>
HWY_INLINE void forward_row(const T* x, const T* gain, const T* bias, T epsilon, T* y,
                            std::size_t size) {
  const Lanes<T> d;
  const RowMoments<T> row = moments_of<T, kSize>(x, epsilon, size);
  const auto mean = hn::Set(d, row.mean), scale = hn::Set(d, row.scale);
  over_row<T, kSize>(size, [&](std::size_t i, std::size_t count, std::size_t) HWY_ATTR {
    const auto z = hn::Mul(hn::Sub(load_some(x + i, count), mean), scale);
    store_some(mul_add(load_some(gain + i, count), z, load_some(bias + i, count)), y + i, count);
  });
}

// dx = scale (g - mean(g) - z mean(g z)) with g = gain dy.
template <class T, std::size_t kSize>
HWY_INLINE void backward_row(const T* x, const T* gain, T epsilon, const T* dy, T* dx, T* dgain,
                             T* dbias, std::size_t size) {
  const Lanes<T> d;
  const T share = T(1) / static_cast<T>(size);
  const RowMoments<T> row = moments_of<T, kSize>(x, epsilon, size);
  const auto mean = hn::Set(d, row.mean), scale = hn::Set(d, row.scale);
  LaneSums<T> sum_g, sum_gz;
  over_row<T, kSize>(size, [&](std::size_t i, std::size_t count, std::size_t part) HWY_ATTR {
    const auto z = hn::Mul(hn::Sub(load_some(x + i, count), mean), scale);
    const auto delta = load_some(dy + i, count);
    const auto g = hn::Mul(load_some(gain + i, count), delta);  // zero past the end
    sum_g.part[part] = hn::Add(sum_g.part[part], g);
    sum_gz.part[part] = mul_add(g, z, sum_gz.part[part]);
    store_some(mul_add(delta, z, load_some(dgain + i, count)), dgain + i, count);
    store_some(hn::Add(load_some(dbias + i, count), delta), dbias + i, count);
  });
  if (dx == nullptr) return;
  const auto mean_g = hn::Set(d, sum_g.total() * share);
  const auto mean_gz = hn::Set(d, sum_gz.total() * share);
  over_row<T, kSize>(size, [&](std::size_t i, std::size_t count, std::size_t) HWY_ATTR {
    const auto z = hn::Mul(hn::Sub(load_some(x + i, count), mean), scale);
    const auto g = hn::Mul(load_some(gain + i, count), load_some(dy + i, count));
    const auto rest = neg_mul_add(z, mean_gz, hn::Sub(g, mean_g));
    store_some(hn::Mul(scale, rest), dx + i, count);
  });
}

template <class T, std::size_t kSize>
void forward_rows(const T* x, const T* gain, const T* bias, T epsilon, T* y, std::size_t rows,
                  std::size_t size) {
  for (std::size_t r = 0; r < rows; ++r) {
    forward_row<T, kSize>(x + r * size, gain, bias, epsilon, y + r * size, size);
  }
}
template <class T, std::size_t kSize>
void backward_rows(const T* x, const T* gain, T epsilon, const T* dy, T* dx, T* dgain, T* dbias,
                   std::size_t rows, std::size_t size) {
  for (std::size_t r = 0; r < rows; ++r) {
    backward_row<T, kSize>(x + r * size, gain, epsilon, dy + r * size,
                           dx == nullptr ? dx : dx + r * size, dgain, dbias, size);
  }
}

void LayerNormForwardF32(const float* x, const float* gain, const float* bias, float epsilon,
                         float* y, std::size_t rows, std::size_t size) {
  size == kUsual ? forward_rows<float, kUsual>(x, gain, bias, epsilon, y, rows, size)
                 : forward_rows<float, 0>(x, gain, bias, epsilon, y, rows, size);
}
void LayerNormForwardF64(const double* x, const double* gain, const double* bias, double epsilon,
                         double* y, std::size_t rows, std::size_t size) {
  size == kUsual ? forward_rows<double, kUsual>(x, gain, bias, epsilon, y, rows, size)
                 : forward_rows<double, 0>(x, gain, bias, epsilon, y, rows, size);
}
void LayerNormBackwardF32(const float* x, const float* gain, float epsilon, const float* dy,
                          float* dx, float* dgain, float* dbias, std::size_t rows,
                          std::size_t size) {
  size == kUsual ? backward_rows<float, kUsual>(x, gain, epsilon, dy, dx, dgain, dbias, rows, size)
                 : backward_rows<float, 0>(x, gain, epsilon, dy, dx, dgain, dbias, rows, size);
}
void LayerNormBackwardF64(const double* x, const double* gain, double epsilon, const double* dy,
                          double* dx, double* dgain, double* dbias, std::size_t rows,
                          std::size_t size) {
  size == kUsual ? backward_rows<double, kUsual>(x, gain, epsilon, dy, dx, dgain, dbias, rows, size)
                 : backward_rows<double, 0>(x, gain, epsilon, dy, dx, dgain, dbias, rows, size);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(LayerNormForwardF32);
HWY_EXPORT(LayerNormForwardF64);
HWY_EXPORT(LayerNormBackwardF32);
HWY_EXPORT(LayerNormBackwardF64);

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, float* y,
                std::size_t rows, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(LayerNormForwardF32)(x, gain, bias, epsilon, y, rows, size);
}
void layer_norm(const double* x, const double* gain, const double* bias, double epsilon, double* y,
                std::size_t rows, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(LayerNormForwardF64)(x, gain, bias, epsilon, y, rows, size);
}
void layer_norm_backward(const float* x, const float* gain, float epsilon, const float* dy,
                         float* dx, float* dgain, float* dbias, std::size_t rows,
                         std::size_t size) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackwardF32)(x, gain, epsilon, dy, dx, dgain, dbias, rows, size);
}
void layer_norm_backward(const double* x, const double* gain, double epsilon, const double* dy,
                         double* dx, double* dgain, double* dbias, std::size_t rows,
                         std::size_t size) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackwardF64)(x, gain, epsilon, dy, dx, dgain, dbias, rows, size);
}

}  // namespace broadloom
#endif  // HWY_ONCE
