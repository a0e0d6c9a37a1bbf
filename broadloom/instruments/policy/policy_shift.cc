#include "broadloom/instruments/policy/policy_shift.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/portable_math.h"
#include "broadloom/nn/categorical_heads.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

double gaussian_term(double mean, double log_std, double new_mean, double new_log_std) {
  const double off = (mean - new_mean) / portable::exp(new_log_std);
  const double shrink = log_std - new_log_std;
  return 0.5 * (off * off + portable::expm1(2.0 * shrink)) - shrink;
}

}  // namespace

PolicyDivergence::PolicyDivergence(const NetworkShape& shape)
    : shape_(shape),
      logits_(shape.logits()),
      heads_(shape.heads().begin(), shape.heads().end()),
      old_logits_(static_cast<std::size_t>(logits_) * kTileRows),
      new_logits_(old_logits_.size()),
      old_probs_(old_logits_.size()),
      entropies_(kTileRows) {
  for (std::vector<double>* rows : {&old_normalisers_, &new_normalisers_, &old_entropies_}) {
    rows->resize(heads_.size() * kTileRows);
  }
}

std::size_t PolicyDivergence::bytes(const NetworkShape& shape) {
  const std::size_t heads = shape.heads().size();
  const auto logits = static_cast<std::size_t>(shape.logits());
  return (3 * (logits + heads) + 1) * kTileRows * sizeof(double);
}

void PolicyDivergence::operator()(const float* old_policy, const float* new_policy,
                                  const float* old_log_std, const float* new_log_std, int rows,
                                  double* kl) {
  if (!shape_.has_choices()) {
    return box(old_policy, new_policy, old_log_std, new_log_std, rows, kl);
  }
  categorical(old_policy, new_policy, rows, kl);
  if (!shape_.has_box()) return;
  double part[kTileRows];
  box(old_policy, new_policy, old_log_std, new_log_std, rows, part);
  for (int r = 0; r < rows; ++r) kl[r] += part[r];
}

void PolicyDivergence::box(const float* old_policy, const float* new_policy,
                           const float* old_log_std, const float* new_log_std, int rows,
                           double* kl) const {
  if (shape_.has_pairs()) {
    return PolicyDistribution(shape_).pairs_kl(old_policy, new_policy, rows, kl);
  }
  const std::size_t first = old_logits_.size();
  std::fill_n(kl, rows, 0.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.box_size()); ++i) {
    for (int r = 0; r < rows; ++r) {
      kl[r] += gaussian_term(old_policy[first + i * kTileRows + r], old_log_std[i],
                             new_policy[first + i * kTileRows + r], new_log_std[i]);
    }
  }
}

void PolicyDivergence::categorical(const float* old_policy, const float* new_policy, int rows,
                                   double* kl) {
  std::copy_n(old_policy, old_logits_.size(), old_logits_.begin());
  std::copy_n(new_policy, new_logits_.size(), new_logits_.begin());
  const CategoricalHeads heads(heads_);
  heads.normalisers(old_logits_.data(), rows, old_normalisers_.data());
  heads.normalisers(new_logits_.data(), rows, new_normalisers_.data());
  heads.entropies(old_logits_.data(), old_normalisers_.data(), rows, old_probs_.data(),
                  old_entropies_.data(), entropies_.data());
  std::fill_n(kl, rows, 0.0);
  std::size_t first = 0;
  for (std::size_t head = 0; head < heads_.size(); ++head) {
    const std::size_t end = first + static_cast<std::size_t>(heads_[head]) * kTileRows;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      const std::size_t row = head * kTileRows + r;
      const double shift = new_normalisers_[row] - old_normalisers_[row];
      for (std::size_t i = first + r; i < end; i += kTileRows) {
        kl[r] += old_probs_[i] * (old_logits_[i] - new_logits_[i] + shift);
      }
    }
    first = end;
  }
}

void add_ratios(const float* old_log_probs, const float* new_log_probs, int rows, RatioSums& sums) {
  for (int row = 0; row < rows; ++row) {
    const double log_ratio = static_cast<double>(new_log_probs[row]) - old_log_probs[row];
    const double rest = portable::expm1(log_ratio);  // r - 1, accurate near 0
    const double ratio = 1.0 + rest;
    sums.old_approx_kl -= log_ratio;
    sums.approx_kl += rest - log_ratio;
    sums.ratios += ratio;
    sums.squared_ratios += ratio * ratio;
    sums.min_ratio = std::min(sums.min_ratio, ratio);
    sums.max_ratio = std::max(sums.max_ratio, ratio);
  }
}

}  // namespace broadloom
