#include "broadloom/math/elementwise.h"

#include <algorithm>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/elementwise.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target

#include <hwy/highway.h>

#include "broadloom/math/functions-inl.h"
#include "broadloom/math/tail-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Applies f(d, x[i], y[i]) -> y[i]. The tail goes through the same vector code.
template <class T, class F>
HWY_INLINE void transform(const T* x, T* y, std::size_t n, F&& f) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  if (i < n) {
    store_tail(d, f(d, load_tail(d, x + i, n - i), load_tail(d, y + i, n - i)), y + i, n - i);
  }
}

template <class T>
void activate_as(Activation activation, T* x, std::size_t n) {
  switch (activation) {
    case Activation::kTanh:
      transform(x, x, n, [](auto d, auto v, auto) { return tanh_of(d, v); });
      break;
    case Activation::kRelu:
      transform(x, x, n,
                [](auto d, auto v, auto) { return hn::IfThenZeroElse(v < hn::Zero(d), v); });
      break;
    case Activation::kElu:
      transform(x, x, n, [](auto d, auto v, auto) {
        return hn::IfThenElse(v < hn::Zero(d), expm1_of_negative(d, v), v);
      });
      break;
  }
}

// tanh' = 1 - y^2;  relu' = [y > 0];  elu' = 1 for y > 0, else y + 1.
template <class T>
void activate_backward_as(Activation activation, const T* y, T* dy, std::size_t n) {
  switch (activation) {
    case Activation::kTanh:
      transform(y, dy, n, [](auto d, auto out, auto delta) {
        return delta * neg_mul_add(out, out, hn::Set(d, T(1)));
      });
      break;
    case Activation::kRelu:
      transform(y, dy, n, [](auto d, auto out, auto delta) {
        return hn::IfThenElseZero(out > hn::Zero(d), delta);
      });
      break;
    case Activation::kElu:
      transform(y, dy, n, [](auto d, auto out, auto delta) {
        return delta * (hn::Min(out, hn::Zero(d)) + hn::Set(d, T(1)));
      });
      break;
  }
}

void ActivateF32(Activation activation, float* x, std::size_t n) { activate_as(activation, x, n); }
void ActivateF64(Activation activation, double* x, std::size_t n) { activate_as(activation, x, n); }
void ActivateBackwardF32(Activation activation, const float* y, float* dy, std::size_t n) {
  activate_backward_as(activation, y, dy, n);
}
void ActivateBackwardF64(Activation activation, const double* y, double* dy, std::size_t n) {
  activate_backward_as(activation, y, dy, n);
}
void AddF32(const float* x, float* sum, std::size_t n) {
  transform(x, sum, n, [](auto, auto a, auto b) { return a + b; });
}
void AddF64(const double* x, double* sum, std::size_t n) {
  transform(x, sum, n, [](auto, auto a, auto b) { return a + b; });
}

// Calls f(index in x, place in the period, count) for every vector of doubles.
template <class F>
HWY_INLINE void over_periods(std::size_t n, std::size_t period, F&& f) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  for (std::size_t start = 0; start < n; start += period) {
    const std::size_t count = n - start < period ? n - start : period;
    for (std::size_t place = 0; place < count; place += kLanes) {
      f(start + place, place, count - place < kLanes ? count - place : kLanes);
    }
  }
}

HWY_INLINE hn::Vec<hn::ScalableTag<double>> load_wide(const float* x, std::size_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  if (count == hn::MaxLanes(d)) return hn::PromoteTo(d, hn::LoadU(narrow, x));
  return hn::PromoteTo(d, load_tail(narrow, x, count));
}

void AddMomentsF32(const float* x, std::size_t n, std::size_t period, const double* mean,
                   double* sum, double* squares) {
  const hn::ScalableTag<double> d;
  over_periods(n, period, [&](std::size_t i, std::size_t place, std::size_t count) HWY_ATTR {
    const auto valid = hn::FirstN(d, count);
    const auto difference =
        hn::IfThenElseZero(valid, hn::Sub(load_wide(x + i, count), hn::LoadU(d, mean + place)));
    hn::StoreU(hn::Add(hn::LoadU(d, sum + place), difference), d, sum + place);
    hn::StoreU(hn::Add(hn::LoadU(d, squares + place), hn::Mul(difference, difference)), d,
               squares + place);
  });
}

// Comparisons are false for NaN, so NaN stays NaN.
void StandardiseF32(const float* x, std::size_t n, std::size_t period, const double* mean,
                    const double* scale, float limit, float* y) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto high = hn::Set(narrow, limit);
  const auto low = hn::Set(narrow, -limit);
  over_periods(n, period, [&](std::size_t i, std::size_t place, std::size_t count) HWY_ATTR {
    const auto difference = hn::Sub(load_wide(x + i, count), hn::LoadU(d, mean + place));
    auto v = hn::DemoteTo(narrow, hn::Mul(difference, hn::LoadU(d, scale + place)));
    v = hn::IfThenElse(hn::Gt(v, high), high, v);
    v = hn::IfThenElse(hn::Lt(v, low), low, v);
    store_tail(narrow, v, y + i, count);
  });
}

// x * 0 is 0 for every finite x, and NaN for infinity and NaN.
bool AllFiniteF32(const float* x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = mul_add(hn::LoadU(d, x + i), hn::Zero(d), sum);
  if (i < n) sum = mul_add(load_tail(d, x + i, n - i), hn::Zero(d), sum);
  return hn::AllTrue(d, hn::Eq(sum, hn::Zero(d)));
}

template <class T>
void add_products_as(T* total, const T* x, const T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(mul_add(hn::LoadU(d, x + i), hn::LoadU(d, y + i), hn::LoadU(d, total + i)), d,
               total + i);
  }
  if (i == n) return;
  const auto sum = mul_add(load_tail(d, x + i, n - i), load_tail(d, y + i, n - i),
                           load_tail(d, total + i, n - i));
  store_tail(d, sum, total + i, n - i);
}

template <class T>
T dot_as(const T* x, const T* y, std::size_t n) {
  const Lanes<T> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  LaneSums<T> sums;
  std::size_t i = 0;
  for (; i + kVirtualLanes<T> <= n; i += kVirtualLanes<T>) {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < kParts<T>; ++p) {
      sums.part[p] =
          mul_add(hn::LoadU(d, x + i + p * kLanes), hn::LoadU(d, y + i + p * kLanes), sums.part[p]);
    }
  }
  // Lanes without an element also add 0 * 0, so that a sum of -0 becomes 0 on every processor.
  for (std::size_t p = 0; n % kVirtualLanes<T> != 0 && p < kParts<T>; ++p) {
    const std::size_t tail = std::min(n - i, kLanes);
    const auto a = tail > 0 ? load_tail(d, x + i, tail) : hn::Zero(d);
    const auto b = tail > 0 ? load_tail(d, y + i, tail) : hn::Zero(d);
    sums.part[p] = mul_add(a, b, sums.part[p]);
    i += tail;
  }
  return sums.total();
}

void AddProductsF32(float* sum, const float* x, const float* y, std::size_t n) {
  add_products_as(sum, x, y, n);
}
void AddProductsF64(double* sum, const double* x, const double* y, std::size_t n) {
  add_products_as(sum, x, y, n);
}
float DotF32(const float* x, const float* y, std::size_t n) { return dot_as(x, y, n); }
double DotF64(const double* x, const double* y, std::size_t n) { return dot_as(x, y, n); }

// 32 interleaved chains, so that no addition waits for the one before.
double SumSquaresF32(const float* x, std::size_t n) {
  constexpr std::size_t kChains = 32;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> chains[kChains / kLanes];
  for (auto& chain : chains) chain = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kChains <= n; i += kChains) {
#pragma GCC unroll 32
    for (std::size_t c = 0; c < kChains / kLanes; ++c) {
      const auto v = hn::PromoteTo(d, hn::LoadU(narrow, x + i + c * kLanes));
      chains[c] = hn::MulAdd(v, v, chains[c]);  // v * v is exact
    }
  }
  double sums[kChains];
  for (std::size_t c = 0; c < kChains / kLanes; ++c) hn::StoreU(chains[c], d, sums + c * kLanes);
  for (std::size_t k = 0; i < n; ++i, ++k) sums[k] += static_cast<double>(x[i]) * x[i];
  for (std::size_t stride = kChains / 2; stride > 0; stride /= 2) {
    for (std::size_t k = 0; k < stride; ++k) sums[k] += sums[k + stride];
  }
  return sums[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(ActivateF32);
HWY_EXPORT(ActivateF64);
HWY_EXPORT(ActivateBackwardF32);
HWY_EXPORT(ActivateBackwardF64);
HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);
HWY_EXPORT(AddProductsF32);
HWY_EXPORT(AddProductsF64);
HWY_EXPORT(DotF32);
HWY_EXPORT(DotF64);
HWY_EXPORT(SumSquaresF32);
HWY_EXPORT(AllFiniteF32);
HWY_EXPORT(AddMomentsF32);
HWY_EXPORT(StandardiseF32);

void activate(Activation activation, float* x, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ActivateF32)(activation, x, n);
}
void activate(Activation activation, double* x, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ActivateF64)(activation, x, n);
}
void activate_backward(Activation activation, const float* y, float* dy, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ActivateBackwardF32)(activation, y, dy, n);
}
void activate_backward(Activation activation, const double* y, double* dy, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ActivateBackwardF64)(activation, y, dy, n);
}
void add_into(float* sum, const float* x, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AddF32)(x, sum, n);
}
void add_into(double* sum, const double* x, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AddF64)(x, sum, n);
}

void add_products(float* sum, const float* x, const float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AddProductsF32)(sum, x, y, n);
}
void add_products(double* sum, const double* x, const double* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AddProductsF64)(sum, x, y, n);
}
float dot(const float* x, const float* y, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(DotF32)(x, y, n);
}
double dot(const double* x, const double* y, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(DotF64)(x, y, n);
}

void add_moments(const float* x, std::size_t n, std::size_t period, const double* mean, double* sum,
                 double* squares) {
  HWY_DYNAMIC_DISPATCH(AddMomentsF32)(x, n, period, mean, sum, squares);
}
void standardise(const float* x, std::size_t n, std::size_t period, const double* mean,
                 const double* scale, float limit, float* y) {
  HWY_DYNAMIC_DISPATCH(StandardiseF32)(x, n, period, mean, scale, limit, y);
}
bool all_finite(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(AllFiniteF32)(x, n); }
double sum_squares(const float* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(SumSquaresF32)(x, n);
}

}  // namespace broadloom
#endif  // HWY_ONCE
