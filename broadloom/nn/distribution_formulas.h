// Policy distributions of a single row, for host and device. The bits equal those of
// distributions.h.
//
// Elements of an array [count] are `stride` numbers apart.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/math/element_functions.h"

namespace broadloom {

// A categorical distribution over logits [count].
struct CategoricalRow {
  const float* logits;
  int count, stride;
  float normaliser = 0.0f;

  BROADLOOM_HD CategoricalRow(const float* first_logit, int outputs, int logit_stride)
      : logits(first_logit), count(outputs), stride(logit_stride) {
    float top = logits[0];
    for (int i = 1; i < count; ++i) top = element::larger(top, logits[i * stride]);
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) sum += element::exp(logits[i * stride] - top);
    normaliser = top + element::log(sum);
  }

  BROADLOOM_HD float log_prob(int action) const { return logits[action * stride] - normaliser; }
  // The first action whose cumulative probability exceeds u in [0, 1).
  BROADLOOM_HD int sample(float u) const {
    float cumulative = 0.0f;
    int action = 0;
    for (int i = 0; i + 1 < count; ++i) {
      cumulative += element::exp(log_prob(i));
      if (u >= cumulative) action += 1;
    }
    return action;
  }
  BROADLOOM_HD float entropy() const {
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) {
      sum = element::mul_add(-element::exp(log_prob(i)), log_prob(i), sum);
    }
    return sum;
  }
  // d_logits [count]: derivative of a log_prob(action) + b entropy().
  BROADLOOM_HD void backward(int action, float a, float b, float entropy, float* d_logits) const {
    const float offset = entropy - normaliser;
    for (int i = 0; i < count; ++i) {
      const float prob = element::exp(log_prob(i));
      const float score = (i == action ? 1.0f : 0.0f) - prob;
      const float entropy_part = b * (prob * (logits[i * stride] + offset));
      d_logits[i * stride] = element::mul_add(a, score, -entropy_part);
    }
  }
};

// Index of the first largest of outputs [count], as in categorical_mode().
BROADLOOM_HD inline int index_of_largest(const float* outputs, int count, int stride) {
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (outputs[i * stride] > outputs[best * stride]) best = i;
  }
  return best;
}
// Largest of outputs [count]. NaN counts as the largest, as in largest_outputs().
BROADLOOM_HD inline float largest_of(const float* outputs, int count, int stride) {
  float largest = outputs[0];
  for (int i = 1; i < count; ++i) {
    const float x = outputs[i * stride];
    if (x > largest || x != x) largest = x;
  }
  return largest;
}

inline constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// How a parameter gives a Gaussian's log deviation: it is one, or it is the deviation. Beyond its
// bounds it acts as the bound, and has no gradient.
template <class Real>
struct StdParameter {
  Real low, high;
  bool is_log;

  BROADLOOM_HD Real log_std(Real param) const {
    const Real kept = param < low ? low : high < param ? high : param;
    return is_log ? kept : static_cast<Real>(portable::log(kept));
  }
  // The derivative for the parameter, from that for the log deviation.
  BROADLOOM_HD Real slope(Real param, Real d_log_std) const {
    if (param < low || param > high) return Real(0);
    return is_log ? d_log_std : d_log_std / param;
  }
};

// One dimension of a diagonal Gaussian.
struct GaussianDimension {
  float mean, log_std;

  BROADLOOM_HD float sample(float normal) const {
    return element::mul_add(static_cast<float>(portable::exp(log_std)), normal, mean);
  }
  BROADLOOM_HD float inverse_std() const { return static_cast<float>(portable::exp(-log_std)); }
  BROADLOOM_HD float scaled(float action) const { return (action - mean) * inverse_std(); }
  // log_prob plus this dimension's log-probability.
  BROADLOOM_HD float add_log_prob(float log_prob, float scaled) const {
    return log_prob -
           element::mul_add(0.5f * scaled, scaled, log_std + static_cast<float>(kHalfLogTwoPi));
  }
  // entropy plus this dimension's.
  BROADLOOM_HD float add_entropy(float entropy) const {
    return entropy + (0.5f + static_cast<float>(kHalfLogTwoPi) + log_std);
  }
  // Derivative of a log_prob with respect to mean.
  BROADLOOM_HD float d_mean(float a, float scaled) const { return a * (scaled * inverse_std()); }
  // Derivative of a log_prob with respect to log_std.
  BROADLOOM_HD static float d_log_std(float a, float scaled) {
    return a * element::mul_add(scaled, scaled, -1.0f);
  }
};

// A row's KL(old || new) of one dimension of Gaussians whose deviations are those of all rows:
//   log(s / s_old) + (s_old^2 + (m_old - m)^2) / (2 s^2) - 1/2
// Equal ones have 0 without rounding: a KL above 0 would raise the adaptive rate.
struct GaussianKl {
  double of_deviations, scale;

  BROADLOOM_HD GaussianKl(double old_log_std, double log_std) {
    const double shrink = old_log_std - log_std;
    scale = 0.5 * portable::exp(-2.0 * log_std);
    of_deviations = 0.5 * portable::expm1(2.0 * shrink) - shrink;
  }
  BROADLOOM_HD double row(double old_mean, double mean) const {
    const double off = old_mean - mean;
    return of_deviations + off * off * scale;
  }
};

}  // namespace broadloom
