#include "broadloom/nn/policy_distribution.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/core/portable_math.h"
#include "broadloom/core/random.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/nn/pair_formulas.h"

namespace broadloom {
namespace {

std::size_t tiles(int rows) { return static_cast<std::size_t>(rows) * kTileRows; }

PairKind kind_of(const NetworkShape& shape) {
  if (shape.action_distribution == ActionDistribution::kBeta) return PairKind::kBeta;
  return shape.action_distribution == ActionDistribution::kSquashed ? PairKind::kSquashed
                                                                    : PairKind::kGaussian;
}

bool needs_pairs(const NetworkShape& shape) {
  return shape.has_pairs() ||
         (shape.has_box() && shape.action_distribution != ActionDistribution::kGaussian);
}

constexpr std::uint64_t kNumbersIndex = std::uint64_t{1} << 55;  // indices are below 2^56

void sample_beta(const float* outputs, int count, const RandomRows& streams, float* actions) {
  for (int r = 0; r < streams.rows; ++r) {
    Random random(streams.seed, streams.purpose, streams.first_lane + static_cast<std::uint32_t>(r),
                  streams.index);
    for (int i = 0; i < count; ++i) {
      actions[tiles(i) + r] =
          drawn_from_beta(random, outputs[tiles(i) + r], outputs[tiles(count + i) + r]);
    }
  }
}

// Gaussians whose log deviations are rows.
void sample_rows(const PairShape& pairs, const float* means, const float* log_std,
                 const float* normals, int rows, float* actions) {
  for (int i = 0; i < pairs.count; ++i) {
    for (std::size_t place = tiles(i); place < tiles(i) + static_cast<std::size_t>(rows); ++place) {
      actions[place] = drawn_from(pairs, means[place], log_std[place], normals[place]);
    }
  }
}

}  // namespace

PolicyDistribution::PolicyDistribution(const NetworkShape& shape)
    : shape_(shape),
      choices_(static_cast<int>(shape.heads().size())),
      logits_(shape.logits()),
      uses_pairs_(needs_pairs(shape)),
      is_squashed_(uses_pairs_ && shape.action_distribution != ActionDistribution::kGaussian),
      pairs_{kind_of(shape), shape.box_size(), -portable::kInfinity, portable::kInfinity} {
  if (!shape.has_pairs() || is_beta()) return;
  const StdBounds bounds(shape);
  pairs_.low = bounds.low;
  pairs_.high = bounds.high;
}

int PolicyDistribution::term_rows(const NetworkShape& shape) {
  return shape.logits() + (needs_pairs(shape) ? 5 : 1) * shape.box_size();
}

template <class Real>
const Real* PolicyDistribution::second(const PolicyRows<Real>& rows) const {
  if (shape_.has_pairs()) return rows.outputs + tiles(pairs_.count);
  return rows.terms;
}

template <class Real>
PolicyRows<Real> PolicyDistribution::box_of(PolicyRows<Real> rows) const {
  rows.outputs += tiles(logits_);
  rows.actions += tiles(choices_);
  rows.terms += tiles(logits_);
  return rows;
}

template <class Real>
void PolicyDistribution::log_probs(const PolicyRows<Real>& rows, Real* log_probs) const {
  if (!shape_.has_choices()) return box_log_probs(rows, log_probs);
  const CategoricalHeads heads(shape_.heads());
  heads.normalisers(rows.outputs, rows.rows, rows.normalisers);
  heads.log_probs(rows.outputs, rows.normalisers, rows.actions, rows.rows, log_probs);
  if (!shape_.has_box()) return;
  Real part[kTileRows];
  box_log_probs(box_of(rows), part);
  add_into(log_probs, part, static_cast<std::size_t>(rows.rows));
}

template <class Real>
void PolicyDistribution::box_log_probs(const PolicyRows<Real>& box, Real* log_probs) const {
  if (!uses_pairs_) {
    gaussian_log_probs(box.outputs, box.log_std, box.actions, pairs_.count, box.rows, box.terms,
                       log_probs);
    return;
  }
  if (!shape_.has_pairs()) {
    for (int i = 0; i < pairs_.count; ++i) {
      std::fill_n(box.terms + tiles(i), kTileRows, box.log_std[i]);
    }
  }
  pair_log_probs(pairs_, box.outputs, second(box), box.actions, box.rows, log_probs);
}

template <class Real>
void PolicyDistribution::entropies(const PolicyRows<Real>& rows, Real* entropies) const {
  if (!shape_.has_choices()) return box_entropies(rows, entropies);
  const CategoricalHeads heads(shape_.heads());
  heads.entropies(rows.outputs, rows.normalisers, rows.rows, rows.terms, rows.head_entropies,
                  entropies);
  if (!shape_.has_box()) return;
  Real part[kTileRows];
  box_entropies(box_of(rows), part);
  add_into(entropies, part, static_cast<std::size_t>(rows.rows));
}

template <class Real>
void PolicyDistribution::box_entropies(const PolicyRows<Real>& box, Real* entropies) const {
  if (!uses_pairs_) {
    std::fill_n(entropies, box.rows, gaussian_entropy(box.log_std, pairs_.count));
  } else {
    pair_terms(pairs_, box.outputs, second(box), box.actions, box.rows,
               box.terms + tiles(pairs_.count), entropies);
  }
}

template <class Real>
void PolicyDistribution::backward(const PolicyRows<Real>& rows, const Real* a, Real b,
                                  Real* d_outputs, Real* d_log_std) const {
  if (shape_.has_choices()) {
    const CategoricalHeads heads(shape_.heads());
    heads.backward(rows.outputs, rows.normalisers, rows.terms, rows.head_entropies, rows.actions, a,
                   b, rows.rows, d_outputs);
  }
  if (shape_.has_box()) {
    box_backward(box_of(rows), a, b, d_outputs + tiles(logits_), d_log_std);
  }
}

template <class Real>
void PolicyDistribution::box_backward(const PolicyRows<Real>& box, const Real* a, Real b,
                                      Real* d_outputs, Real* d_log_std) const {
  if (!uses_pairs_) {
    gaussian_backward(box.terms, box.log_std, a, b, pairs_.count, box.rows, d_outputs, d_log_std);
    return;
  }
  const Real* const terms = box.terms + tiles(pairs_.count);
  // Derivatives for parameters take the place of those parameters, which are not read again.
  Real* const d_second = shape_.has_pairs() ? d_outputs + tiles(pairs_.count) : box.terms;
  pair_backward(pairs_.count, terms, a, b, box.rows, d_outputs, d_second);
  if (shape_.has_pairs()) return;
  for (int i = 0; i < pairs_.count; ++i) {
    Real sum = 0;
    for (int r = 0; r < box.rows; ++r) sum += d_second[tiles(i) + static_cast<std::size_t>(r)];
    d_log_std[i] += sum;
  }
}

template <class Real>
Real PolicyDistribution::row_log_std_slope(const PolicyRows<Real>& rows, int i, int r, Real a,
                                           Real b) const {
  const std::size_t row = static_cast<std::size_t>(r);
  const Real* const own = rows.terms + tiles(logits_);
  if (!uses_pairs_) {
    const Real z = own[tiles(i) + row];
    return a * (z * z - Real(1)) + b;
  }
  const Real* const terms = own + tiles(pairs_.count);
  return a * terms[tiles(pairs_.count + i) + row] + b * terms[tiles(3 * pairs_.count + i) + row];
}

template <class Real>
void PolicyDistribution::pairs_kl(const Real* old_outputs, const Real* outputs, int rows,
                                  double* kl) const {
  const std::size_t first = tiles(logits_), second = first + tiles(pairs_.count);
  pair_kl(pairs_, old_outputs + first, old_outputs + second, outputs + first, outputs + second,
          rows, kl);
}

// Beside choices, the numbers of a Box draw from a stream of their own, with an index that no step
// has.
void PolicyDistribution::sample(const float* outputs, const float* log_std,
                                const RandomRows& streams, float* draws, float* terms,
                                float* actions, float* log_probs, const DrawnNoise* noise) const {
  if (shape_.has_choices()) {
    const CategoricalHeads heads(shape_.heads());
    random_uniforms(streams, choices_, draws, kTileRows);
    heads.normalisers(outputs, streams.rows, terms);
    heads.sample(outputs, terms, draws, streams.rows, actions, shape_.masked);
    heads.log_probs(outputs, terms, actions, streams.rows, log_probs);
    if (!shape_.has_box()) return;
  }
  RandomRows own = streams;
  if (shape_.has_choices()) own.index += kNumbersIndex;
  const PolicyRows<float> box{.outputs = outputs + tiles(logits_),
                              .log_std = log_std,
                              .actions = actions + tiles(choices_),
                              .rows = streams.rows,
                              .terms = terms + tiles(choices_),
                              .normalisers = nullptr,
                              .head_entropies = nullptr};
  draw_box(box.outputs, log_std, own, draws, actions + tiles(choices_), noise);
  if (!shape_.has_choices()) return box_log_probs(box, log_probs);
  float part[kTileRows];
  box_log_probs(box, part);
  add_into(log_probs, part, static_cast<std::size_t>(streams.rows));
}

void PolicyDistribution::draw_box(const float* outputs, const float* log_std,
                                  const RandomRows& streams, float* draws, float* actions,
                                  const DrawnNoise* noise) const {
  const int count = pairs_.count;
  if (shape_.has_state_noise()) {
    std::copy_n(outputs, tiles(count), actions);
    const float* matrix = noise->matrices;
    for (int r = 0; r < streams.rows; ++r, matrix += noise->rows.width * count) {
      add_noise(noise->rows, r, matrix, actions);
    }
    return;
  }
  if (uses_pairs_ && is_beta()) return sample_beta(outputs, count, streams, actions);
  random_normals(streams, count, draws, kTileRows);
  if (shape_.has_pairs()) {
    sample_rows(pairs_, outputs, outputs + tiles(count), draws, streams.rows, actions);
  } else {
    gaussian_sample(outputs, log_std, draws, count, streams.rows, actions);
  }
}

void PolicyDistribution::best(const float* outputs, int rows, float* actions) const {
  if (shape_.has_choices()) CategoricalHeads(shape_.heads()).mode(outputs, rows, actions);
  if (shape_.has_box()) best_box(outputs + tiles(logits_), rows, actions + tiles(choices_));
}

void PolicyDistribution::best_box(const float* outputs, int rows, float* actions) const {
  const int count = pairs_.count;
  if (!uses_pairs_ || !is_beta()) {
    std::copy_n(outputs, tiles(count), actions);
    return;
  }
  for (int i = 0; i < count; ++i) {
    for (std::size_t place = tiles(i); place < tiles(i) + static_cast<std::size_t>(rows); ++place) {
      const double one = beta_number(outputs[place]),
                   two = beta_number(outputs[tiles(count) + place]);
      actions[place] = static_cast<float>(portable::log(one) - portable::log(two));
    }
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
