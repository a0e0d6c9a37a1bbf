// Policies with two numbers per dimension, for one dimension of a row, for host and device. The
// bits are those of pair_distributions.h, which states the formulas.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/core/random.h"
#include "broadloom/math/wide_functions.h"
#include "broadloom/nn/pair_distributions.h"

namespace broadloom {

namespace pair {

inline constexpr double kHalfLog2Pi = 0.91893853320467274178;
inline constexpr double kLn2 = 0.69314718055994530942;

// log(1 + e^-|x|).
BROADLOOM_HD inline double log_of_one_and(double x) {
  return wide::log(1.0 + wide::exp(-std::fabs(x)));
}
// log(1 + e^x).
BROADLOOM_HD inline double softplus(double x) { return (x < 0.0 ? 0.0 : x) + log_of_one_and(x); }
BROADLOOM_HD inline double sigmoid(double x) { return 1.0 / (1.0 + wide::exp(-x)); }
// log(1 - tanh(x)^2).
BROADLOOM_HD inline double log_slope_of_tanh(double x) {
  const double twice = 2.0 * std::fabs(x);
  return (2.0 * kLn2 - twice) - 2.0 * log_of_one_and(twice);
}

inline constexpr int kShifts = 6;

BROADLOOM_HD inline double log_gamma(double x) {
  constexpr double kSeries[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  double product = x;
  for (int k = 1; k < kShifts; ++k) product = product * (x + k);
  const double z = x + kShifts;
  const double inverse = 1.0 / z;
  const double series = inverse * wide::polynomial(inverse * inverse, kSeries);
  const double main = wide::mul_add(z - 0.5, wide::log(z), -z);
  return ((main + kHalfLog2Pi) + series) - wide::log(product);
}

BROADLOOM_HD inline double digamma(double x) {
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double sum = 1.0 / x;
  for (int k = 1; k < kShifts; ++k) sum = sum + 1.0 / (x + k);
  const double z = x + kShifts;
  const double inverse = 1.0 / z;
  const double square = inverse * inverse;
  const double series = square * wide::polynomial(square, kSeries);
  return ((wide::log(z) - 0.5 * inverse) - series) - sum;
}

BROADLOOM_HD inline double trigamma(double x) {
  constexpr double kSeries[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730, 7.0 / 6};
  double sum = 0.0;
  for (int k = 0; k < kShifts; ++k) {
    const double step = x + k;
    sum = sum + 1.0 / (step * step);
  }
  const double inverse = 1.0 / (x + kShifts);
  const double square = inverse * inverse;
  const double series = (square * inverse) * wide::polynomial(square, kSeries);
  return (sum + inverse) + (0.5 * square + series);
}

}  // namespace pair

// The derivatives of one dimension with respect to its two numbers, and its entropy.
struct PairSlopes {
  double score_first, score_second, entropy_first, entropy_second, entropy;
};

// A Gaussian, perhaps squashed.
struct NormalDimension {
  double mean, log_std, deviation, inverse;
  bool learns;  // whether log_std lies within its bounds

  BROADLOOM_HD NormalDimension(const PairShape& shape, double first, double second) : mean(first) {
    const double bounded = second < shape.low ? shape.low : second;
    log_std = bounded > shape.high ? shape.high : bounded;
    deviation = wide::exp(log_std);
    inverse = wide::exp(-log_std);
    learns = log_std == second;
  }
  BROADLOOM_HD double scaled(double x) const { return (x - mean) * inverse; }
  BROADLOOM_HD double log_prob(const PairShape& shape, double x) const {
    const double z = scaled(x);
    const double plain = -wide::mul_add(0.5 * z, z, log_std + pair::kHalfLog2Pi);
    return shape.kind == PairKind::kSquashed ? plain - pair::log_slope_of_tanh(x) : plain;
  }
  BROADLOOM_HD PairSlopes slopes(const PairShape& shape, double x) const {
    const double z = scaled(x);
    PairSlopes out{z * inverse, learns ? wide::mul_add(z, z, -1.0) : 0.0, 0.0, 1.0,
                   log_std + (0.5 + pair::kHalfLog2Pi)};
    if (shape.kind == PairKind::kSquashed) add_squash(out);
    if (!learns) out.entropy_second = 0.0;
    return out;
  }
  // KL(this || after).
  BROADLOOM_HD double kl(const NormalDimension& after) const {
    const double off = (mean - after.mean) * after.inverse;
    const double change = after.log_std - log_std;
    const double ratio = wide::exp(-2.0 * change);
    return change + 0.5 * (off * off + (ratio - 1.0));
  }

 private:
  // The expectation of log(1 - tanh(x)^2), by quadrature.
  BROADLOOM_HD void add_squash(PairSlopes& out) const {
    constexpr double kPoints[] = {0.3867606045005574, 1.1638291005549648, 1.9519803457163334,
                                  2.7602450476307014, 3.6008736241715487, 4.492955302520011,
                                  5.472225705949343,  6.630878198393129};
    constexpr double kWeights[] = {0.286568521238012,     0.1583383727509497,
                                   0.04728475235401406,   0.007266937601184749,
                                   0.0005259849265739087, 1.530003216248732e-05,
                                   1.309473216286817e-07, 1.4978147231618412e-10};
    for (int k = 0; k < 16; ++k) {
      const double point = k % 2 == 0 ? kPoints[k / 2] : -kPoints[k / 2];
      const double moved = point * deviation;
      const double number = mean + moved;
      const double slope = -2.0 * kWeights[k / 2] * wide::tanh(number);
      out.entropy = wide::mul_add(kWeights[k / 2], pair::log_slope_of_tanh(number), out.entropy);
      out.entropy_first = out.entropy_first + slope;
      out.entropy_second = wide::mul_add(slope, moved, out.entropy_second);
    }
  }
};

struct BetaDimension {
  double first, second, alpha, beta, sum;

  BROADLOOM_HD BetaDimension(double one, double two) : first(one), second(two) {
    alpha = 1.0 + pair::softplus(first);
    beta = 1.0 + pair::softplus(second);
    sum = alpha + beta;
  }
  BROADLOOM_HD double log_normaliser() const {  // log B(alpha, beta)
    return (pair::log_gamma(alpha) + pair::log_gamma(beta)) - pair::log_gamma(sum);
  }
  // log b and log(1 - b), from x = log(b / (1 - b)).
  BROADLOOM_HD static double log_share(double x) { return -pair::softplus(-x); }
  BROADLOOM_HD static double log_rest(double x) { return -pair::softplus(x); }
  BROADLOOM_HD double log_prob(double x) const {
    const double left = (alpha - 1.0) * log_share(x);
    const double right = (beta - 1.0) * log_rest(x);
    return ((left + right) - log_normaliser()) - pair::kLn2;
  }
  BROADLOOM_HD PairSlopes slopes(double x) const {
    const double of_sum = pair::digamma(sum), bend = pair::trigamma(sum);
    const double of_alpha = pair::digamma(alpha), of_beta = pair::digamma(beta);
    const double left = alpha - 1.0, right = beta - 1.0, both = left + right;
    const double by_first = pair::sigmoid(first), by_second = pair::sigmoid(second);
    const double shared = both * bend;
    double entropy = (log_normaliser() + pair::kLn2) + both * of_sum;
    entropy = (entropy - left * of_alpha) - right * of_beta;
    return {by_first * ((log_share(x) - of_alpha) + of_sum),
            by_second * ((log_rest(x) - of_beta) + of_sum),
            by_first * (shared - left * pair::trigamma(alpha)),
            by_second * (shared - right * pair::trigamma(beta)), entropy};
  }
  // KL(this || after).
  BROADLOOM_HD double kl(const BetaDimension& after) const {
    const double left = alpha - after.alpha, right = beta - after.beta;
    const double normalisers = after.log_normaliser() - log_normaliser();
    const double own = left * pair::digamma(alpha) + right * pair::digamma(beta);
    return (normalisers + own) - (left + right) * pair::digamma(sum);
  }
};

// One dimension of any kind.
struct PairDimension {
  PairShape shape;
  float first, second;

  BROADLOOM_HD double log_prob(float x) const {
    return shape.kind == PairKind::kBeta ? BetaDimension(first, second).log_prob(x)
                                         : NormalDimension(shape, first, second).log_prob(shape, x);
  }
  BROADLOOM_HD PairSlopes slopes(float x) const {
    return shape.kind == PairKind::kBeta ? BetaDimension(first, second).slopes(x)
                                         : NormalDimension(shape, first, second).slopes(shape, x);
  }
  // KL(this || after).
  BROADLOOM_HD double kl(const PairDimension& after) const {
    if (shape.kind == PairKind::kBeta) {
      return BetaDimension(first, second).kl(BetaDimension(after.first, after.second));
    }
    return NormalDimension(shape, first, second)
        .kl(NormalDimension(shape, after.first, after.second));
  }
};

// A draw of a Gaussian whose log deviation depends on the state, from a normal number.
BROADLOOM_HD inline float drawn_from(const PairShape& shape, float mean, float log_std,
                                     float normal) {
  const double given = log_std;
  const double kept = given < shape.low ? shape.low : shape.high < given ? shape.high : given;
  return static_cast<float>(mean + portable::exp(kept) * normal);
}

BROADLOOM_HD inline double beta_number(float output) {
  const double x = output;
  return 1.0 + (x > 0.0 ? x : 0.0) + portable::log(1.0 + portable::exp(-std::fabs(x)));
}

// The logarithm of a draw from Gamma(shape, 1), shape >= 1, by rejection from the cube of a normal
// number (Marsaglia and Tsang 2000, "A simple method for generating gamma variables"). At least 95
// of 100 tries succeed. After 20 failures in a row, once in 1e26 draws, the centre is taken.
BROADLOOM_HD inline double log_gamma_draw(Random& random, double shape) {
  constexpr int kTries = 20;
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (int i = 0; i < kTries; ++i) {
    const double x = random.normal();
    const double u = 1.0 - random.uniform();
    const double root = 1.0 + c * x, v = root * root * root;
    if (!(root > 0.0)) continue;
    const double log_v = portable::log(v);
    if (portable::log(u) < 0.5 * x * x + d * (1.0 - v + log_v)) return portable::log(d) + log_v;
  }
  return portable::log(d);
}

// A draw of log(b / (1 - b)), b ~ Beta, from a Beta's two outputs.
BROADLOOM_HD inline float drawn_from_beta(Random& random, float first, float second) {
  const double one = log_gamma_draw(random, beta_number(first));
  const double two = log_gamma_draw(random, beta_number(second));
  return static_cast<float>(one - two);
}

}  // namespace broadloom
