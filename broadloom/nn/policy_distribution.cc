#include "broadloom/nn/policy_distribution.h"

#include <cmath>
#include <cstddef>

#include "broadloom/core/portable_math.h"
#include "broadloom/core/random.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

std::size_t tiles(int rows) { return static_cast<std::size_t>(rows) * kTileRows; }

PairKind kind_of(const NetworkShape& shape) {
  if (shape.action_distribution == ActionDistribution::kBeta) return PairKind::kBeta;
  return shape.action_distribution == ActionDistribution::kSquashed ? PairKind::kSquashed
                                                                    : PairKind::kGaussian;
}

bool uses_pairs(const NetworkShape& shape) {
  return shape.has_pairs() ||
         (!shape.is_categorical() && shape.action_distribution != ActionDistribution::kGaussian);
}

double beta_number(float output) {
  const double x = output;
  return 1.0 + (x > 0.0 ? x : 0.0) + portable::log(1.0 + portable::exp(-std::abs(x)));
}

// The logarithm of a draw from Gamma(shape, 1), shape >= 1, by rejection from the cube of a normal
// number (Marsaglia and Tsang 2000, "A simple method for generating gamma variables"). At least 95
// of 100 tries succeed. After 20 failures in a row, once in 1e26 draws, the centre is taken.
double log_gamma_draw(Random& random, double shape) {
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

void sample_beta(const float* outputs, int count, const RandomRows& streams, float* actions) {
  for (int r = 0; r < streams.rows; ++r) {
    Random random(streams.seed, streams.purpose, streams.first_lane + static_cast<std::uint32_t>(r),
                  streams.index);
    for (int i = 0; i < count; ++i) {
      const double one = log_gamma_draw(random, beta_number(outputs[tiles(i) + r]));
      const double two = log_gamma_draw(random, beta_number(outputs[tiles(count + i) + r]));
      actions[tiles(i) + r] = static_cast<float>(one - two);
    }
  }
}

// Gaussians whose log deviations are rows.
void sample_rows(const PairShape& pairs, const float* means, const float* log_std,
                 const float* normals, int rows, float* actions) {
  for (int i = 0; i < pairs.count; ++i) {
    for (std::size_t place = tiles(i); place < tiles(i) + static_cast<std::size_t>(rows); ++place) {
      const double kept = std::clamp<double>(log_std[place], pairs.low, pairs.high);
      actions[place] = static_cast<float>(means[place] + portable::exp(kept) * normals[place]);
    }
  }
}

}  // namespace

PolicyDistribution::PolicyDistribution(const NetworkShape& shape)
    : shape_(shape),
      uses_pairs_(uses_pairs(shape)),
      is_squashed_(uses_pairs_ && shape.action_distribution != ActionDistribution::kGaussian),
      pairs_{kind_of(shape), shape.action_size(), -portable::kInfinity, portable::kInfinity} {
  if (!shape.has_pairs() || is_beta()) return;
  const StdBounds bounds(shape);
  pairs_.low = bounds.low;
  pairs_.high = bounds.high;
}

int PolicyDistribution::term_rows(const NetworkShape& shape) {
  return uses_pairs(shape) ? 5 * shape.action_size() : shape.action_outputs;
}

template <class Real>
const Real* PolicyDistribution::second(const PolicyRows<Real>& rows) const {
  if (shape_.has_pairs()) return rows.outputs + tiles(pairs_.count);
  return rows.terms;
}

template <class Real>
void PolicyDistribution::log_probs(const PolicyRows<Real>& rows, Real* log_probs) const {
  if (shape_.is_categorical()) {
    const CategoricalHeads heads(shape_.heads());
    heads.normalisers(rows.outputs, rows.rows, rows.normalisers);
    heads.log_probs(rows.outputs, rows.normalisers, rows.actions, rows.rows, log_probs);
    return;
  }
  if (!uses_pairs_) {
    gaussian_log_probs(rows.outputs, rows.log_std, rows.actions, shape_.action_outputs, rows.rows,
                       rows.terms, log_probs);
    return;
  }
  if (!shape_.has_pairs()) {
    for (int i = 0; i < pairs_.count; ++i) {
      std::fill_n(rows.terms + tiles(i), kTileRows, rows.log_std[i]);
    }
  }
  pair_log_probs(pairs_, rows.outputs, second(rows), rows.actions, rows.rows, log_probs);
}

template <class Real>
void PolicyDistribution::entropies(const PolicyRows<Real>& rows, Real* entropies) const {
  if (shape_.is_categorical()) {
    const CategoricalHeads heads(shape_.heads());
    heads.entropies(rows.outputs, rows.normalisers, rows.rows, rows.terms, rows.head_entropies,
                    entropies);
  } else if (!uses_pairs_) {
    std::fill_n(entropies, rows.rows, gaussian_entropy(rows.log_std, shape_.action_outputs));
  } else {
    pair_terms(pairs_, rows.outputs, second(rows), rows.actions, rows.rows,
               rows.terms + tiles(pairs_.count), entropies);
  }
}

template <class Real>
void PolicyDistribution::backward(const PolicyRows<Real>& rows, const Real* a, Real b,
                                  Real* d_outputs, Real* d_log_std) const {
  if (shape_.is_categorical()) {
    const CategoricalHeads heads(shape_.heads());
    heads.backward(rows.outputs, rows.normalisers, rows.terms, rows.head_entropies, rows.actions, a,
                   b, rows.rows, d_outputs);
    return;
  }
  if (!uses_pairs_) {
    gaussian_backward(rows.terms, rows.log_std, a, b, shape_.action_outputs, rows.rows, d_outputs,
                      d_log_std);
    return;
  }
  const Real* const terms = rows.terms + tiles(pairs_.count);
  // Derivatives for parameters take the place of those parameters, which are not read again.
  Real* const d_second = shape_.has_pairs() ? d_outputs + tiles(pairs_.count) : rows.terms;
  pair_backward(pairs_.count, terms, a, b, rows.rows, d_outputs, d_second);
  if (shape_.has_pairs()) return;
  for (int i = 0; i < pairs_.count; ++i) {
    Real sum = 0;
    for (int r = 0; r < rows.rows; ++r) sum += d_second[tiles(i) + static_cast<std::size_t>(r)];
    d_log_std[i] += sum;
  }
}

template <class Real>
Real PolicyDistribution::row_log_std_slope(const PolicyRows<Real>& rows, int i, int r, Real a,
                                           Real b) const {
  const std::size_t row = static_cast<std::size_t>(r);
  if (!uses_pairs_) {
    const Real z = rows.terms[tiles(i) + row];
    return a * (z * z - Real(1)) + b;
  }
  const Real* const terms = rows.terms + tiles(pairs_.count);
  return a * terms[tiles(pairs_.count + i) + row] + b * terms[tiles(3 * pairs_.count + i) + row];
}

template <class Real>
void PolicyDistribution::pairs_kl(const Real* old_outputs, const Real* outputs, int rows,
                                  double* kl) const {
  const std::size_t half = tiles(pairs_.count);
  pair_kl(pairs_, old_outputs, old_outputs + half, outputs, outputs + half, rows, kl);
}

void PolicyDistribution::sample(const float* outputs, const float* log_std,
                                const RandomRows& streams, float* draws, float* terms,
                                float* actions, float* log_probs) const {
  const int count = shape_.action_size();
  if (shape_.is_categorical()) {
    const CategoricalHeads heads(shape_.heads());
    random_uniforms(streams, count, draws, kTileRows);
    heads.normalisers(outputs, streams.rows, terms);
    heads.sample(outputs, terms, draws, streams.rows, actions, shape_.masked);
    heads.log_probs(outputs, terms, actions, streams.rows, log_probs);
    return;
  }
  if (uses_pairs_ && is_beta()) {
    sample_beta(outputs, count, streams, actions);
  } else {
    random_normals(streams, count, draws, kTileRows);
    if (shape_.has_pairs()) {
      sample_rows(pairs_, outputs, outputs + tiles(count), draws, streams.rows, actions);
    } else {
      gaussian_sample(outputs, log_std, draws, count, streams.rows, actions);
    }
  }
  const PolicyRows<float> drawn{.outputs = outputs,
                                .log_std = log_std,
                                .actions = actions,
                                .rows = streams.rows,
                                .terms = terms,
                                .normalisers = nullptr,
                                .head_entropies = nullptr};
  this->log_probs(drawn, log_probs);
}

void PolicyDistribution::best(const float* outputs, int rows, float* actions) const {
  const int count = shape_.action_size();
  if (shape_.is_categorical()) {
    CategoricalHeads(shape_.heads()).mode(outputs, rows, actions);
  } else if (uses_pairs_ && is_beta()) {
    for (int i = 0; i < count; ++i) {
      for (std::size_t place = tiles(i); place < tiles(i) + static_cast<std::size_t>(rows);
           ++place) {
        const double one = beta_number(outputs[place]),
                     two = beta_number(outputs[tiles(count) + place]);
        actions[place] = static_cast<float>(portable::log(one) - portable::log(two));
      }
    }
  } else {
    std::copy_n(outputs, tiles(count), actions);
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                             \
  template void PolicyDistribution::log_probs(const PolicyRows<Real>&, Real*) const;            \
  template void PolicyDistribution::entropies(const PolicyRows<Real>&, Real*) const;            \
  template void PolicyDistribution::backward(const PolicyRows<Real>&, const Real*, Real, Real*, \
                                             Real*) const;                                      \
  template Real PolicyDistribution::row_log_std_slope(const PolicyRows<Real>&, int, int, Real,  \
                                                      Real) const;                              \
  template void PolicyDistribution::pairs_kl(const Real*, const Real*, int, double*) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
