#include "broadloom/instruments/policy/policy_shift.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/portable_math.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

double gaussian_term(double mean, double log_std, double new_mean, double new_log_std) {
  const double off = (mean - new_mean) / portable::exp(new_log_std);
  const double shrink = log_std - new_log_std;
  return 0.5 * (off * off + portable::expm1(2.0 * shrink)) - shrink;
}

}  // namespace

PolicyDivergence::PolicyDivergence(SpaceKind action_kind, int count)
    : kind_(action_kind),
      count_(count),
      old_logits_(static_cast<std::size_t>(count) * kTileRows),
      new_logits_(old_logits_.size()),
      old_probs_(old_logits_.size()),
      old_normalisers_(kTileRows),
      new_normalisers_(kTileRows),
      old_entropies_(kTileRows) {}

std::size_t PolicyDivergence::bytes(int count) {
  return 3 * (static_cast<std::size_t>(count) + 1) * kTileRows * sizeof(double);
}

void PolicyDivergence::operator()(const float* old_policy, const float* new_policy,
                                  const float* old_log_std, const float* new_log_std, int rows,
                                  double* kl) {
  if (kind_ == SpaceKind::kDiscrete) return categorical(old_policy, new_policy, rows, kl);
  std::fill_n(kl, rows, 0.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    for (int r = 0; r < rows; ++r) {
      kl[r] += gaussian_term(old_policy[i * kTileRows + r], old_log_std[i],
                             new_policy[i * kTileRows + r], new_log_std[i]);
    }
  }
}

void PolicyDivergence::categorical(const float* old_policy, const float* new_policy, int rows,
                                   double* kl) {
  std::copy_n(old_policy, old_logits_.size(), old_logits_.begin());
  std::copy_n(new_policy, new_logits_.size(), new_logits_.begin());
  categorical_normalisers(old_logits_.data(), count_, rows, old_normalisers_.data());
  categorical_normalisers(new_logits_.data(), count_, rows, new_normalisers_.data());
  categorical_entropies(old_logits_.data(), old_normalisers_.data(), count_, rows,
                        old_probs_.data(), old_entropies_.data());
  for (int r = 0; r < rows; ++r) {
    const double shift = new_normalisers_[r] - old_normalisers_[r];
    kl[r] = 0.0;
    for (std::size_t i = static_cast<std::size_t>(r); i < old_logits_.size(); i += kTileRows) {
      kl[r] += old_probs_[i] * (old_logits_[i] - new_logits_[i] + shift);
    }
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
