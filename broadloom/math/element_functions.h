// Elementary functions of one float, for host and device. They have the bits of functions-inl.h's
// vectors wherever those fuse (math/fused-inl.h); tests compare them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "broadloom/core/host_device.h"
#include "broadloom/math/elementwise.h"

namespace broadloom::element {

// a * b + c, rounded once.
BROADLOOM_HD inline float mul_add(float a, float b, float c) { return std::fma(a, b, c); }

// As the vector instructions do, these return the second argument if one is NaN.
BROADLOOM_HD inline float larger(float a, float b) { return a > b ? a : b; }
BROADLOOM_HD inline float smaller(float a, float b) { return a < b ? a : b; }

// (x - mean) * scale clipped to +- limit; NaN stays NaN.
BROADLOOM_HD inline float standardise(float x, double mean, double scale, float limit) {
  const float y = static_cast<float>((static_cast<double>(x) - mean) * scale);
  const float below = y > limit ? limit : y;
  return below < -limit ? -limit : below;
}

BROADLOOM_HD inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
BROADLOOM_HD inline float of_bits(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

// a / b, rounded once, if operands and quotient are far from the ends of float's range. The
// device's own division computes the same there, but first checks the range.
BROADLOOM_HD inline float plain_quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  inverse = mul_add(inverse, mul_add(-b, inverse, 1.0f), inverse);
  const float near = a * inverse;
  return near == 0.0f ? near : mul_add(inverse, mul_add(-b, near, a), near);
#else
  return a / b;
#endif
}

BROADLOOM_HD inline float tanh(float x) {
  const float z = x * x;
  float p = mul_add(z, 1.5230396064588398e-08f, 2.1894645890165517e-05f);
  float q = mul_add(z, 8.522437629717304e-07f, 3.411290404100187e-04f);
  p = mul_add(z, p, 3.5715970297657065e-03f);
  q = mul_add(z, q, 2.6164439132396352e-02f);
  p = mul_add(z, p, 1.344449713572857e-01f);
  q = mul_add(z, q, 4.6777824454795924e-01f);
  p = mul_add(z, p, 1.0f);
  q = mul_add(z, q, 1.0f);
  const float ratio = plain_quotient(x * p, q);  // used only for |x| <= 8
  if (x > 8.0f) return 1.0f;
  return x < -8.0f ? -1.0f : ratio;
}

// e^x = 2^n (1 + rest), for x between -104 and 88.73, not NaN.
struct SplitExp {
  std::int32_t n;
  float rest;

  BROADLOOM_HD explicit SplitExp(float x) {
    constexpr float kMagic = 0x1.8p23f;
    const float whole = mul_add(x, 1.44269504088896340736f, kMagic) - kMagic;
    n = static_cast<std::int32_t>(whole);
    float r = mul_add(-whole, 0x1.62e4p-1f, x);
    r = mul_add(-whole, 0x1.7f7d1cp-20f, r);
    float q = mul_add(0.0013950491951149721f, r, 0.008368889351415899f);
    q = mul_add(q, r, 0.04166620578946587f);
    q = mul_add(q, r, 0.16666518839706373f);
    q = mul_add(q, r, 0.5000000095188966f);
    rest = mul_add(r * r, q, r);
  }
  BROADLOOM_HD static float power(std::int32_t k) {
    return of_bits(static_cast<std::uint32_t>(k + 127) << 23);
  }
};

BROADLOOM_HD inline float exp(float x) {
  constexpr float kLargest = 88.72283f, kInfinity = std::numeric_limits<float>::infinity();
  if (x != x) return x;
  if (x > kLargest) return kInfinity;
  const SplitExp split(x < -104.0f ? -104.0f : x);
  const std::int32_t half = split.n >> 1;
  return ((split.rest + 1.0f) * SplitExp::power(half)) * SplitExp::power(split.n - half);
}

// e^x - 1 for x <= 0.
BROADLOOM_HD inline float expm1_of_negative(float x) {
  const SplitExp split(x > -40.0f ? x : -40.0f);
  const float power = SplitExp::power(split.n);
  return mul_add(power, split.rest, power - 1.0f);
}

// ln x for finite normal x > 0; NaN stays NaN.
BROADLOOM_HD inline float log(float x) {
  if (x != x) return x;
  const auto above = static_cast<std::int32_t>(bits_of(x) - 0x3f3504f3u);
  const std::int32_t exponent = above >> 23;
  const float f = of_bits(bits_of(x) - (static_cast<std::uint32_t>(exponent) << 23)) - 1.0f;
  const float e = static_cast<float>(exponent);
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float half = 0.5f * (f * f);
  float series = mul_add(0.24279078841f, z, 0.28498786688f);
  series = mul_add(series, z, 0.40000972152f);
  series = mul_add(series, z, 0.66666662693f);
  const float tail = half - mul_add(s, mul_add(z, series, half), e * 9.0580006145e-06f);
  return mul_add(e, 6.9313812256e-01f, f - tail);
}

struct SineCosine {
  float sine, cosine;
};
// Sine and cosine of the angle 2 pi turns, turns in [0, 1).
BROADLOOM_HD inline SineCosine sin_cos_of_turns(float turns) {
  constexpr float kMagic = 0x1.8p23f;
  const float quarters = turns * 4.0f;
  const float shifted = quarters + kMagic;
  const float rest = quarters - (shifted - kMagic);
  const float z = rest * rest;
  float s = mul_add(-0.004602176988711203f, z, 0.07968022806443613f);
  s = mul_add(s, z, -0.6459634786415208f);
  s = rest * mul_add(s, z, 1.5707963219668133f);
  float c = mul_add(0.0009036298848564909f, z, -0.02086016748377072f);
  c = mul_add(c, z, 0.25366924020713605f);
  c = mul_add(c, z, -1.2337005440548092f);
  c = mul_add(c, z, 1.0f);
  const std::uint32_t quadrant = bits_of(shifted);
  const bool swapped = (quadrant & 1u) != 0;
  const std::uint32_t sine_sign = (quadrant & 2u) << 30;
  const std::uint32_t cosine_sign = ((quadrant + 1u) & 2u) << 30;
  return {of_bits(bits_of(swapped ? c : s) ^ sine_sign),
          of_bits(bits_of(swapped ? s : c) ^ cosine_sign)};
}

// activate() of one number (math/elementwise.h).
BROADLOOM_HD inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::kTanh:
      return tanh(x);
    case Activation::kRelu:
      return x < 0.0f ? 0.0f : x;
    case Activation::kElu:
      return x < 0.0f ? expm1_of_negative(x) : x;
  }
  return x;
}

// Derivative before an activation, from the derivative dy after it and the activation's output y.
BROADLOOM_HD inline float activate_backward(Activation activation, float y, float dy) {
  switch (activation) {
    case Activation::kTanh:
      return dy * mul_add(-y, y, 1.0f);
    case Activation::kRelu:
      return y > 0.0f ? dy : 0.0f;
    case Activation::kElu:
      return dy * (smaller(y, 0.0f) + 1.0f);
  }
  return dy;
}

}  // namespace broadloom::element
