// Multiply-adds that round once, with the same bits on every processor.
//
// Highway's emulated targets ("exact") have no such instruction, so the code works each number out.
// SSE4 alone rounds twice and has bits of its own. Included once per target, hence the guard.
#if defined(BROADLOOM_MATH_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_FUSED_INL_H_
#undef BROADLOOM_MATH_FUSED_INL_H_
#else
#define BROADLOOM_MATH_FUSED_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR

HWY_INLINE double fused(double a, double b, double c) { return std::fma(a, b, c); }

// The product of two floats is exact in double. Its sum with c is rounded to odd (Boldo and
// Melquiond 2008): if digits were lost, the last bit is set. The final rounding to float then sees
// on which side of the midpoint the exact sum lies.
HWY_INLINE float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double summand = static_cast<double>(c);
  double sum = product + summand;
  // The addition's rounding error (Knuth 1969).
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (summand - back);
  std::uint64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  if ((bits & 1) == 0 && lost != 0.0 && lost == lost) {
    bits += (lost > 0.0) == (sum > 0.0) ? 1 : ~std::uint64_t{0};
    std::memcpy(&sum, &bits, sizeof(sum));
  }
  return static_cast<float>(sum);
}

// a * b + c
template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::DFromV<V>;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> x[kLanes], y[kLanes], z[kLanes];
  hn::Store(a, D(), x);
  hn::Store(b, D(), y);
  hn::Store(c, D(), z);
  for (std::size_t i = 0; i < kLanes; ++i) z[i] = fused(x[i], y[i], z[i]);
  return hn::Load(D(), z);
}
// a * b - c
template <class V>
HWY_INLINE V mul_sub(V a, V b, V c) {
  return mul_add(a, b, hwy::HWY_NAMESPACE::Neg(c));
}
// c - a * b
template <class V>
HWY_INLINE V neg_mul_add(V a, V b, V c) {
  return mul_add(hwy::HWY_NAMESPACE::Neg(a), b, c);
}

#else

template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  return hwy::HWY_NAMESPACE::MulAdd(a, b, c);
}
template <class V>
HWY_INLINE V mul_sub(V a, V b, V c) {
  return hwy::HWY_NAMESPACE::MulSub(a, b, c);
}
template <class V>
HWY_INLINE V neg_mul_add(V a, V b, V c) {
  return hwy::HWY_NAMESPACE::NegMulAdd(a, b, c);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
