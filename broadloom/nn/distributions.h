// The two policy distributions, one row at a time.
//
// The collector and the update call the very same compiled function, so that the log-probability of
// an unchanged policy has the same bits in both and the first minibatch's ratio is exactly 1.
#pragma once

#include "broadloom/core/random.h"

namespace broadloom {

template <class Real>
struct PolicyTerms {
  Real log_prob;
  Real entropy;
};

// Categorical over `count` logits. action: index. probs [count] receives the probabilities.
template <class Real>
PolicyTerms<Real> categorical_terms(const Real* logits, int count, int action, Real* probs);

// Diagonal Gaussian with means [count] and log_std [count], action [count]; log-probability and
// entropy are summed over dimensions. scaled [count] receives (action - mean) / std.
template <class Real>
PolicyTerms<Real> gaussian_terms(const Real* mean, const Real* log_std, int count,
                                 const Real* action, Real* scaled);

// Draws an index: the first whose cumulative softmax probability exceeds a uniform.
int categorical_sample(const float* logits, int count, Random& random);
int categorical_mode(const float* logits, int count);
// Draws mean + std * normal into action [count].
void gaussian_sample(const float* mean, const float* log_std, int count, Random& random,
                     float* action);

// Derivatives of a * log_prob + b * entropy with respect to the policy outputs, from what *_terms
// left in probs or scaled; d_output [count] is written. Gaussian also adds to d_log_std [count].
template <class Real>
void categorical_backward(const Real* probs, int count, int action, Real entropy, Real a, Real b,
                          Real* d_logits);
template <class Real>
void gaussian_backward(const Real* scaled, const Real* log_std, int count, Real a, Real b,
                       Real* d_mean, Real* d_log_std);

}  // namespace broadloom
