// Generalised state-dependent exploration (gSDE; Raffin et al. 2021, arXiv 2005.05719), with the
// formulas of Stable-Baselines3's StateDependentNoiseDistribution (full_std, without use_expln and
// learn_features).
//
// The noise of an action is a linear function of the features h [L] under the policy's head:
//
//   action = mean + h E,  E [L, A] with E[l, i] ~ N(0, exp(2 s[l, i]))
//
// E is kept for some steps, so that exploration is smooth. s [L, A] are parameters. Given the
// features, each number of the action is a Gaussian with the variance sum over l of
// h[l]^2 exp(2 s[l, i]), plus 1e-6. Log-probabilities and entropies are those of this Gaussian. Its
// derivatives reach s, but not the features.
//
// Functions compute in double precision. A row's bits depend on that row alone. Nothing is
// allocated.
#pragma once

#include <cstddef>

#include "broadloom/math/random_rows.h"

namespace broadloom {

inline constexpr double kNoiseVariance = 1e-6;  // least variance of a number

// variances: out [L A], exp(2 s).
template <class Real>
void noise_variances(const Real* s, int count, Real* variances);

// Features [rows, L] and variances [L, A] of a tile.
template <class Real>
struct NoiseRows {
  const Real* features;
  const Real* variances;
  int rows, width, count;  // width: L; count: A
};

// log_std: out [A, kTileRows], logarithms of the deviations.
template <class Real>
void noise_log_std(const NoiseRows<Real>& noise, Real* log_std);

// The derivative of log_std[i] of row r with respect to s[l, i].
template <class Real>
double noise_slope(const NoiseRows<Real>& noise, const Real* log_std, int r, int l, int i);

// Adds derivatives to grads [L, A], from those of log_std [A, kTileRows].
template <class Real>
void noise_backward(const NoiseRows<Real>& noise, const Real* log_std, const Real* d_log_std,
                    Real* grads);

// matrix: out [L, A], the noise that a stream draws.
void draw_noise(const RandomStream& stream, const float* variances, int size, float* matrix);

// action: row r of actions [A, kTileRows], which hold means, plus h E. matrix: [L, A].
void add_noise(const NoiseRows<float>& noise, int r, const float* matrix, float* actions);

}  // namespace broadloom
