#include "broadloom/nn/state_noise.h"

#include <cmath>

#include "broadloom/core/portable_math.h"
#include "broadloom/core/random.h"
#include "broadloom/nn/chain.h"

namespace broadloom {
namespace {

std::size_t place(int n, int r) {
  return static_cast<std::size_t>(n) * kTileRows + static_cast<std::size_t>(r);
}

template <class Real>
const Real* features_of(const NoiseRows<Real>& noise, int r) {
  return noise.features + static_cast<std::size_t>(r) * static_cast<std::size_t>(noise.width);
}

}  // namespace

template <class Real>
void noise_variances(const Real* s, int count, Real* variances) {
  for (int i = 0; i < count; ++i) {
    variances[i] = static_cast<Real>(portable::exp(2.0 * static_cast<double>(s[i])));
  }
}

template <class Real>
void noise_log_std(const NoiseRows<Real>& noise, Real* log_std) {
  for (int r = 0; r < noise.rows; ++r) {
    const Real* const h = features_of(noise, r);
    for (int i = 0; i < noise.count; ++i) {
      const Real* variance = noise.variances + i;
      double sum = 0.0;
      for (int l = 0; l < noise.width; ++l, variance += noise.count) {
        const double feature = h[l];
        sum += feature * feature * static_cast<double>(*variance);
      }
      log_std[place(i, r)] = static_cast<Real>(0.5 * portable::log(sum + kNoiseVariance));
    }
  }
}

template <class Real>
double noise_slope(const NoiseRows<Real>& noise, const Real* log_std, int r, int l, int i) {
  const double feature = features_of(noise, r)[l];
  const double own = static_cast<double>(noise.variances[l * noise.count + i]);
  return feature * feature * own * portable::exp(-2.0 * static_cast<double>(log_std[place(i, r)]));
}

template <class Real>
void noise_backward(const NoiseRows<Real>& noise, const Real* log_std, const Real* d_log_std,
                    Real* grads) {
  double weights[kTileRows];  // of a row's squared features
  for (int i = 0; i < noise.count; ++i) {
    for (int r = 0; r < noise.rows; ++r) {
      weights[r] = static_cast<double>(d_log_std[place(i, r)]) *
                   portable::exp(-2.0 * static_cast<double>(log_std[place(i, r)]));
    }
    for (int l = 0; l < noise.width; ++l) {
      double sum = 0.0;
      for (int r = 0; r < noise.rows; ++r) {
        const double feature = features_of(noise, r)[l];
        sum += feature * feature * weights[r];
      }
      const int element = l * noise.count + i;
      grads[element] += static_cast<Real>(sum * static_cast<double>(noise.variances[element]));
    }
  }
}

void draw_noise(const RandomStream& stream, const float* variances, int size, float* matrix) {
  Random random(stream.seed, stream.purpose, stream.lane, stream.index);
  for (int i = 0; i < size; ++i) {
    matrix[i] = static_cast<float>(std::sqrt(static_cast<double>(variances[i])) * random.normal());
  }
}

void add_noise(const NoiseRows<float>& noise, int r, const float* matrix, float* actions) {
  const float* const h = features_of(noise, r);
  for (int i = 0; i < noise.count; ++i) {
    double sum = actions[place(i, r)];
    for (int l = 0; l < noise.width; ++l) {
      sum += static_cast<double>(h[l]) * static_cast<double>(matrix[l * noise.count + i]);
    }
    actions[place(i, r)] = static_cast<float>(sum);
  }
}

#define BROADLOOM_STATE_NOISE(Real)                                                \
  template void noise_variances(const Real*, int, Real*);                          \
  template void noise_log_std(const NoiseRows<Real>&, Real*);                      \
  template double noise_slope(const NoiseRows<Real>&, const Real*, int, int, int); \
  template void noise_backward(const NoiseRows<Real>&, const Real*, const Real*, Real*);
BROADLOOM_STATE_NOISE(float)
BROADLOOM_STATE_NOISE(double)
#undef BROADLOOM_STATE_NOISE

}  // namespace broadloom
