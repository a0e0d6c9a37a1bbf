// Elementwise functions of vectors. Included once per target, hence the guard.
#if defined(BROADLOOM_MATH_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_FUNCTIONS_INL_H_
#undef BROADLOOM_MATH_FUNCTIONS_INL_H_
#else
#define BROADLOOM_MATH_FUNCTIONS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

// tanh(x) = x P(x^2) / Q(x^2) for |x| <= 8 and +-1 beyond. P and Q, of degree 4 each, are our own
// minimax fit of the relative error (1.1e-8 before rounding to float); with rounding the result is
// within 6 ulp, and never above 1. Not a number stays not a number.
template <class D, class V>
HWY_INLINE V rational_tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto c = [d](float value) HWY_ATTR { return hn::Set(d, value); };
  const V z = hn::Mul(x, x);
  V p = hn::MulAdd(z, c(1.5230396064588398e-08f), c(2.1894645890165517e-05f));
  V q = hn::MulAdd(z, c(8.522437629717304e-07f), c(3.411290404100187e-04f));
  p = hn::MulAdd(z, p, c(3.5715970297657065e-03f));
  q = hn::MulAdd(z, q, c(2.6164439132396352e-02f));
  p = hn::MulAdd(z, p, c(1.344449713572857e-01f));
  q = hn::MulAdd(z, q, c(4.6777824454795924e-01f));
  p = hn::MulAdd(z, p, c(1.0f));  // 0.99999999357 is 1 in float
  q = hn::MulAdd(z, q, c(1.0f));
  const V ratio = hn::Div(hn::Mul(x, p), q);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), c(8.0f)), hn::CopySign(c(1.0f), x), ratio);
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  if constexpr (std::is_same_v<hwy::HWY_NAMESPACE::TFromD<D>, float>) {
    return rational_tanh(d, x);
  } else {
    return hwy::HWY_NAMESPACE::Tanh(d, x);
  }
}

// Highway's exponential and logarithm turn what is not a number into numbers, and the exponential
// wraps around far beyond the largest number; these do neither.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V largest = hn::Set(d, sizeof(T) == sizeof(float) ? T(88.72283) : T(709.782));
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V bounded = hn::IfThenElse(hn::Gt(x, largest), largest, x);
  const V power = hn::IfThenElse(hn::Gt(x, largest), infinity, hn::Exp(d, bounded));
  return hn::IfThenElse(hn::Eq(x, x), power, x);
}
template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Eq(x, x), hn::Log(d, x), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
