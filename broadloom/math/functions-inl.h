// Elementwise functions of vectors, with the same bits on every processor that fuses (fused-inl.h).
// Highway's own polynomials may change with its version, and its fused operations cannot be
// emulated, so these are our own. Included once per target, hence the guard.
#if defined(BROADLOOM_MATH_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_FUNCTIONS_INL_H_
#undef BROADLOOM_MATH_FUNCTIONS_INL_H_
#else
#define BROADLOOM_MATH_FUNCTIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "broadloom/math/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

// c[0] + c[1] x + ... + c[n - 1] x^(n - 1), by Horner's rule.
template <class D, class V, std::size_t n>
HWY_INLINE V polynomial(D d, V x, const hwy::HWY_NAMESPACE::TFromD<D> (&c)[n]) {
  V sum = hwy::HWY_NAMESPACE::Set(d, c[n - 1]);
#pragma GCC unroll 16
  for (std::size_t i = n - 1; i > 0; --i) {
    sum = mul_add(sum, x, hwy::HWY_NAMESPACE::Set(d, c[i - 1]));
  }
  return sum;
}

// tanh(x) = x P(x^2) / Q(x^2) for |x| <= 8, and +-1 beyond. P and Q have degree 4 and are our own
// minimax fit of the relative error (1.1e-8 before rounding to float). After rounding, the result
// is within 6 ulp and never above 1. NaN stays NaN.
template <class D, class V>
HWY_INLINE V rational_tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto c = [d](float value) HWY_ATTR { return hn::Set(d, value); };
  const V z = hn::Mul(x, x);
  V p = mul_add(z, c(1.5230396064588398e-08f), c(2.1894645890165517e-05f));
  V q = mul_add(z, c(8.522437629717304e-07f), c(3.411290404100187e-04f));
  p = mul_add(z, p, c(3.5715970297657065e-03f));
  q = mul_add(z, q, c(2.6164439132396352e-02f));
  p = mul_add(z, p, c(1.344449713572857e-01f));
  q = mul_add(z, q, c(4.6777824454795924e-01f));
  p = mul_add(z, p, c(1.0f));  // 0.99999999357 is 1 in float
  q = mul_add(z, q, c(1.0f));
  const V ratio = hn::Div(hn::Mul(x, p), q);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), c(8.0f)), hn::CopySign(c(1.0f), x), ratio);
}

// Constants of the exponential per type. The series is q in e^r = 1 + r + r^2 q(r), |r| <= ln 2 /
// 2. In float it is our own minimax fit (3e-9), in double Taylor's series (4e-18).
template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kLargest = 88.72283f, kSmallest = -104.0f;
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr float kMagic = 0x1.8p23f;  // adding it leaves no bits for a fraction
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr float kSeries[] = {0.5000000095188966f, 0.16666518839706373f,
                                      0.04166620578946587f, 0.008368889351415899f,
                                      0.0013950491951149721f};
};
template <>
struct ExpConstants<double> {
  static constexpr double kLargest = 709.782, kSmallest = -746.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01,
                          kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kSeries[] = {
      1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
};

// e^x = 2^n (1 + rest) with whole n and |rest| < 0.42, for x between kSmallest and kLargest.
template <class D>
struct SplitExp {
  using T = hwy::HWY_NAMESPACE::TFromD<D>;
  using C = ExpConstants<T>;
  using Integers = hwy::HWY_NAMESPACE::RebindToSigned<D>;
  hwy::HWY_NAMESPACE::Vec<Integers> n;
  hwy::HWY_NAMESPACE::Vec<D> rest;

  HWY_INLINE SplitExp(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const Integers integers;
    const auto magic = hn::Set(d, C::kMagic);
    const auto shifted = mul_add(x, hn::Set(d, T(1.44269504088896340736)), magic);
    const auto whole = hn::Sub(shifted, magic);
    n = hn::Sub(hn::BitCast(integers, shifted), hn::BitCast(integers, magic));
    auto r = neg_mul_add(whole, hn::Set(d, C::kLn2High), x);
    r = neg_mul_add(whole, hn::Set(d, C::kLn2Low), r);
    rest = mul_add(hn::Mul(r, r), polynomial(d, r, C::kSeries), r);
  }
  // 2^k, k within the type's exponents.
  static HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> power(D d, hwy::HWY_NAMESPACE::Vec<Integers> k) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto biased = hn::Add(k, hn::Set(Integers(), hn::TFromD<Integers>{C::kBias}));
    return hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(biased));
  }
};

// e^x within 1.1 ulp; exactly 1 at 0. NaN stays NaN; overflow gives infinity.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  using C = ExpConstants<T>;
  const V largest = hn::Set(d, C::kLargest);
  const V smallest = hn::Set(d, C::kSmallest);
  const auto too_large = hn::Gt(x, largest);
  V bounded = hn::IfThenElse(too_large, largest, x);
  bounded = hn::IfThenElse(hn::Lt(x, smallest), smallest, bounded);
  const SplitExp<D> split(d, bounded);
  // In two steps: 2^n alone may overflow, or underflow, although the result is representable.
  const auto half = hn::ShiftRight<1>(split.n);
  V y = hn::Add(split.rest, hn::Set(d, T(1)));
  y = hn::Mul(hn::Mul(y, split.power(d, half)), split.power(d, hn::Sub(split.n, half)));
  y = hn::IfThenElse(too_large, hn::Set(d, std::numeric_limits<T>::infinity()), y);
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

// e^x - 1 for x <= 0, within 3 ulp. The result is undefined for other x.
template <class D, class V>
HWY_INLINE V expm1_of_negative(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V lowest = hn::Set(d, T(-40));  // the result is -1 below it, also in double
  const SplitExp<D> split(d, hn::IfThenElse(hn::Gt(x, lowest), x, lowest));
  const V power = split.power(d, split.n);
  return mul_add(power, split.rest, hn::Sub(power, hn::Set(d, T(1))));
}

// tanh(x) = -m / (2 + m) with m = e^(-2 |x|) - 1, and the sign of x.
template <class D, class V>
HWY_INLINE V exponential_tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V m = expm1_of_negative(d, hn::Mul(hn::Set(d, T(-2)), hn::Abs(x)));
  const V y = hn::Div(hn::Neg(m), hn::Add(hn::Set(d, T(2)), m));
  return hn::IfThenElse(hn::Eq(x, x), hn::CopySign(y, x), x);
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  if constexpr (std::is_same_v<hwy::HWY_NAMESPACE::TFromD<D>, float>) {
    return rational_tanh(d, x);
  } else {
    return exponential_tanh(d, x);
  }
}

// Series of fdlibm's logarithms (e_logf.c, e_log.c; Sun Microsystems 1993).
template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  static constexpr std::int32_t kRootHalf = 0x3f3504f3;  // bits of sqrt(1/2)
  static constexpr float kLn2High = 6.9313812256e-01f, kLn2Low = 9.0580006145e-06f;
  static constexpr float kSeries[] = {0.66666662693f, 0.40000972152f, 0.28498786688f,
                                      0.24279078841f};
};
template <>
struct LogConstants<double> {
  static constexpr std::int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  static constexpr double kLn2High = 6.93147180369123816490e-01,
                          kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kSeries[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                       2.857142874366239149e-01, 2.222219843214978396e-01,
                                       1.818357216161805012e-01, 1.531383769920937332e-01,
                                       1.479819860511658591e-01};
};

// ln x within 1.5 ulp for finite normal x > 0; NaN stays NaN. The result is undefined for other x.
template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  using C = LogConstants<T>;
  constexpr int kMantissa = ExpConstants<T>::kMantissa;
  // x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
  const hn::RebindToSigned<D> integers;
  const auto above = hn::Sub(hn::BitCast(integers, x), hn::Set(integers, C::kRootHalf));
  const auto exponent = hn::ShiftRight<kMantissa>(above);
  const auto mantissa = hn::Sub(hn::BitCast(integers, x), hn::ShiftLeft<kMantissa>(exponent));
  const V f = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, T(1)));
  // Adding a whole number to the bits of the magic number adds it to the magic number's value.
  const V magic = hn::Set(d, ExpConstants<T>::kMagic);
  const V e = hn::Sub(hn::BitCast(d, hn::Add(exponent, hn::BitCast(integers, magic))), magic);
  const V s = hn::Div(f, hn::Add(hn::Set(d, T(2)), f));
  const V z = hn::Mul(s, s);
  const V half = hn::Mul(hn::Set(d, T(0.5)), hn::Mul(f, f));
  const V series = mul_add(z, polynomial(d, z, C::kSeries), half);
  const V tail = hn::Sub(half, mul_add(s, series, hn::Mul(e, hn::Set(d, C::kLn2Low))));
  const V y = mul_add(e, hn::Set(d, C::kLn2High), hn::Sub(f, tail));
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

// Sine and cosine of the angle 2 pi turns, turns in [0, 1), to 1e-7. The polynomials are our own
// minimax fits. Their argument, in quarter turns, lies in [-1/2, 1/2].
template <class D, class V>
HWY_INLINE void sin_cos_of_turns(D d, V turns, V& sine, V& cosine) {
  namespace hn = hwy::HWY_NAMESPACE;
  static_assert(std::is_same_v<hn::TFromD<D>, float>);
  constexpr float kSine[] = {1.5707963219668133f, -0.6459634786415208f, 0.07968022806443613f,
                             -0.004602176988711203f};
  constexpr float kCosine[] = {1.0f, -1.2337005440548092f, 0.25366924020713605f,
                               -0.02086016748377072f, 0.0009036298848564909f};
  const hn::RebindToSigned<D> integers;
  const V magic = hn::Set(d, ExpConstants<float>::kMagic);
  const V quarters = hn::Mul(turns, hn::Set(d, 4.0f));
  const V shifted = hn::Add(quarters, magic);
  const V rest = hn::Sub(quarters, hn::Sub(shifted, magic));
  const V z = hn::Mul(rest, rest);
  const V s = hn::Mul(rest, polynomial(d, z, kSine));
  const V c = polynomial(d, z, kCosine);
  const auto quadrant = hn::BitCast(integers, shifted);
  const auto one = hn::Set(integers, 1);
  const auto swapped = hn::RebindMask(d, hn::Eq(hn::And(quadrant, one), one));
  // The sign bit is set for the sine in quadrants 2 and 3, for the cosine in 1 and 2.
  const auto sine_sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(integers, 2)));
  const auto cosine_sign = hn::ShiftLeft<30>(hn::And(hn::Add(quadrant, one), hn::Set(integers, 2)));
  sine = hn::Xor(hn::IfThenElse(swapped, c, s), hn::BitCast(d, sine_sign));
  cosine = hn::Xor(hn::IfThenElse(swapped, s, c), hn::BitCast(d, cosine_sign));
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
