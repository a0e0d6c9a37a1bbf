#include "broadloom/nn/distributions.h"

#include <algorithm>
#include <cmath>

namespace broadloom {
namespace {

constexpr double kHalfLog2Pi = 0.91893853320467274178;

template <class Real>
Real log_sum_exp(const Real* logits, int count) {
  const Real top = *std::max_element(logits, logits + count);
  Real sum = 0;
  for (int i = 0; i < count; ++i) sum += std::exp(logits[i] - top);
  return top + std::log(sum);
}

}  // namespace

template <class Real>
PolicyTerms<Real> categorical_terms(const Real* logits, int count, int action, Real* probs) {
  const Real normaliser = log_sum_exp(logits, count);
  Real entropy = 0;
  for (int i = 0; i < count; ++i) {
    const Real log_prob = logits[i] - normaliser;
    probs[i] = std::exp(log_prob);
    entropy -= probs[i] * log_prob;
  }
  return {logits[action] - normaliser, entropy};
}

template <class Real>
PolicyTerms<Real> gaussian_terms(const Real* mean, const Real* log_std, int count,
                                 const Real* action, Real* scaled) {
  constexpr Real kHalfLog = static_cast<Real>(kHalfLog2Pi);
  PolicyTerms<Real> terms{0, 0};
  for (int i = 0; i < count; ++i) {
    scaled[i] = (action[i] - mean[i]) * std::exp(-log_std[i]);
    terms.log_prob -= Real(0.5) * scaled[i] * scaled[i] + log_std[i] + kHalfLog;
    terms.entropy += Real(0.5) + kHalfLog + log_std[i];
  }
  return terms;
}

int categorical_sample(const float* logits, int count, Random& random) {
  const float normaliser = log_sum_exp(logits, count);
  const float u = static_cast<float>(random.bits32() >> 8) * 0x1.0p-24f;
  float cumulative = 0.0f;
  for (int i = 0; i + 1 < count; ++i) {
    cumulative += std::exp(logits[i] - normaliser);
    if (u < cumulative) return i;
  }
  return count - 1;
}

int categorical_mode(const float* logits, int count) {
  return static_cast<int>(std::max_element(logits, logits + count) - logits);
}

void gaussian_sample(const float* mean, const float* log_std, int count, Random& random,
                     float* action) {
  for (int i = 0; i < count; ++i) {
    action[i] = mean[i] + std::exp(log_std[i]) * static_cast<float>(random.normal());
  }
}

// d log p_a / d z_i = [i = a] - p_i;  d H / d z_i = -p_i (log p_i + H).
template <class Real>
void categorical_backward(const Real* probs, int count, int action, Real entropy, Real a, Real b,
                          Real* d_logits) {
  for (int i = 0; i < count; ++i) {
    const Real p = probs[i];
    const Real indicator = i == action ? Real(1) : Real(0);
    const Real log_p = p > 0 ? std::log(p) : Real(0);  // p log p -> 0 as p -> 0
    d_logits[i] = a * (indicator - p) - b * p * (log_p + entropy);
  }
}

// d log p / d mu = z / sigma;  d log p / d log sigma = z^2 - 1;  d H / d log sigma = 1.
template <class Real>
void gaussian_backward(const Real* scaled, const Real* log_std, int count, Real a, Real b,
                       Real* d_mean, Real* d_log_std) {
  for (int i = 0; i < count; ++i) {
    d_mean[i] = a * scaled[i] * std::exp(-log_std[i]);
    d_log_std[i] += a * (scaled[i] * scaled[i] - 1) + b;
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                             \
  template PolicyTerms<Real> categorical_terms(const Real*, int, int, Real*);                   \
  template PolicyTerms<Real> gaussian_terms(const Real*, const Real*, int, const Real*, Real*); \
  template void categorical_backward(const Real*, int, int, Real, Real, Real, Real*);           \
  template void gaussian_backward(const Real*, const Real*, int, Real, Real, Real*, Real*);
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
