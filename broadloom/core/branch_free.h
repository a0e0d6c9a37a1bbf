// Functions of numbers without branches or calls. The compiler can thus vectorise loops over
// environments that use them. The bits are the same on every instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "broadloom/core/host_device.h"

namespace broadloom {

// The nearest whole number, for |x| < 2^51. Adding 1.5 * 2^52 leaves no bits for a fraction.
BROADLOOM_HD inline double nearest(double x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

// yes if condition, otherwise no. Uses bit masks, so that the compiler cannot make a branch of it.
BROADLOOM_HD inline double select(bool condition, double yes, double no) {
  std::uint64_t a, b;
  std::memcpy(&a, &yes, sizeof(a));
  std::memcpy(&b, &no, sizeof(b));
  const std::uint64_t mask = 0 - static_cast<std::uint64_t>(condition);
  const std::uint64_t bits = (a & mask) | (b & ~mask);
  double chosen;
  std::memcpy(&chosen, &bits, sizeof(chosen));
  return chosen;
}

// -x if `condition` is 1, x if it is 0.
BROADLOOM_HD inline double negated(std::uint64_t condition, double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits ^= condition << 63;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

struct SinCos {
  double sine, cosine;
};

// Sine and cosine, within 2e-16 of the exact values for |x| <= 1e6. Beyond, the error grows with x.
// NaN and infinity give NaN.
//
// Cody and Waite (1980): multiples of pi/2, subtracted in three parts, bring x to [-pi/4, pi/4].
// The polynomials there are those of fdlibm's k_sin.c and k_cos.c (Sun Microsystems 1993).
BROADLOOM_HD inline SinCos sin_cos(double x) {
  // As nearest(); the lowest bits of `shifted` also hold the whole number.
  const double shifted = x * 6.36619772367581382433e-01 + 6755399441055744.0;
  const double quarters = shifted - 6755399441055744.0;
  std::uint64_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  const double r =
      ((x - quarters * 1.57079632673412561417e+00) - quarters * 6.07710050630396597660e-11) -
      quarters * 2.02226624879595063154e-21;
  const double z = r * r;
  const double sine =
      r + r * z *
              (-1.66666666666666324348e-01 +
               z * (8.33333333332248946124e-03 +
                    z * (-1.98412698298579493134e-04 +
                         z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 +
                                                                z * 1.58969099521155010221e-10)))));
  const double cosine =
      1.0 -
      (0.5 * z -
       z * z *
           (4.16666666666666019037e-02 +
            z * (-1.38888888888741095749e-03 +
                 z * (2.48015872894767294178e-05 +
                      z * (-2.75573143513906633035e-07 +
                           z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))));
  // Uses masks: with a branch, the compiler would compute only the value asked for, and could no
  // longer vectorise the loop.
  const bool swapped = (bits & 1) != 0;
  return {negated((bits >> 1) & 1, select(swapped, cosine, sine)),
          negated(((bits + 1) >> 1) & 1, select(swapped, sine, cosine))};
}

// x clipped to [low, high]; NaN stays NaN.
BROADLOOM_HD inline double clip(double x, double low, double high) {
  x = select(x < low, low, x);
  return select(x > high, high, x);
}

// The angle x, moved to [-pi, pi] up to rounding, for |x| < 1e15.
BROADLOOM_HD inline double wrap_angle(double x) {
  constexpr double kFull = 2.0 * 3.141592653589793;
  return x - kFull * nearest(x / kFull);
}

}  // namespace broadloom
