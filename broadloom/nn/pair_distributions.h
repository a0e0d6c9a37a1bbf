// Policies with two numbers per dimension of a row: Gaussians whose deviation depends on the state,
// squashed Gaussians, and Beta distributions.
//
// Arrays are those of distributions.h: [n, rows] with kTileRows columns per n. `first` and `second`
// [A, rows] are the two numbers of every dimension. The functions compute in double precision, also
// for float, because a Beta's normaliser subtracts large numbers. A column's bits depend on that
// column alone.
//
// An action is kept before its map to [-1, 1], as x below. No sample then sits on a bound, where a
// logarithm would be infinite, and gradients need no inverse of the map.
//
//   kGaussian  x ~ N(first, exp(second))                  action x, without a map
//   kSquashed  x ~ N(first, exp(second))                  action tanh(x)
//   kBeta      b ~ Beta(1 + softplus(first), 1 + softplus(second)), x = log(b / (1 - b))
//                                                         action 2 b - 1 = tanh(x / 2)
//
// Log-probabilities and entropies are those of the action, in nats. The scaling from [-1, 1] to the
// bounds adds the same constant to all, so it is left out.
//   kSquashed  log N(x) - sum of c(x), c(x) = log(1 - tanh(x)^2) = 2 (ln 2 - |x| - log(1 +
//              e^(-2 |x|)))   (Haarnoja et al. 2018, arXiv 1801.01290, appendix C)
//   kBeta      (alpha - 1) log b + (beta - 1) log(1 - b) - log B(alpha, beta) - ln 2
//
// No closed form of a squashed Gaussian's entropy is known. It is H(N) + E[c(x)], with the
// expectation by Gauss-Hermite quadrature at 16 points. The quadrature is off by 5e-4 nats for
// deviations up to 1.5, and by .022 for 3. Its gradient is the exact derivative of the number.
// Stable-Baselines3 takes the mean of -log p of the taken actions instead. On data of the present
// policy this has a gradient of mean 0, so as a bonus it does nothing.
#pragma once

namespace broadloom {

// How the two numbers of a dimension make a distribution.
enum class PairKind { kGaussian, kSquashed, kBeta };

struct PairShape {
  PairKind kind;
  int count;         // A, dimensions
  double low, high;  // Gaussians: `second` acts as the bound beyond them, and has no gradient there
};

// log_probs: out [rows], of actions [A, rows].
template <class Real>
void pair_log_probs(const PairShape& shape, const Real* first, const Real* second,
                    const Real* actions, int rows, Real* log_probs);

// terms: out [4 A, rows], derivatives of every dimension: those of log p with respect to first [A]
// and second [A], then those of the entropy likewise. entropies: out [rows].
template <class Real>
void pair_terms(const PairShape& shape, const Real* first, const Real* second, const Real* actions,
                int rows, Real* terms, Real* entropies);

// d_first, d_second: out [A, rows], derivative of the sum over rows of a[r] log_prob[r] + b
// entropy[r], from the terms of pair_terms().
template <class Real>
void pair_backward(int count, const Real* terms, const Real* a, Real b, int rows, Real* d_first,
                   Real* d_second);

// kl: out [rows], KL(old || new). Exactly 0 for equal numbers. A map of both actions does not
// change it, so a squashed Gaussian's is that of its Gaussian.
template <class Real>
void pair_kl(const PairShape& shape, const Real* old_first, const Real* old_second,
             const Real* first, const Real* second, int rows, double* kl);

}  // namespace broadloom
