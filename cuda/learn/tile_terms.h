// Sums over the rows of a tile in the host's order. They run over virtual lanes; then the upper
// half is added to the lower half until one lane is left (math/virtual_lanes-inl.h).
#pragma once

#include <cmath>
#include <cstddef>

#include "broadloom/core/host_device.h"
#include "broadloom/learn/ppo_formulas.h"
#include "broadloom/learn/ppo_loss.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// Folds float or double terms with a whole warp, which must call it together. Lane l takes rows l,
// l + kLanes, ...; add(sum, row) returns the next partial sum. The first lane receives the total.
template <class T, int kLanes, class Block, class Add>
BROADLOOM_HD T lane_fold(Block& block, int rows, Add&& add) {
  const int lane = block.thread() % kWarp;
  T sum = 0;
  for (int r = lane; lane < kLanes && r < rows; r += kLanes) sum = add(sum, r);
  for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
  return sum;
}
template <class T, int kLanes, class Block, class Term>
BROADLOOM_HD T lane_sum(Block& block, int rows, Term&& term) {
  return lane_fold<T, kLanes>(block, rows, [&](T sum, int r) { return sum + term(r); });
}

// Per-row terms of a tile's loss, in shared memory. They are double, because the square of a large
// ratio may overflow float.
class TileTerms {
 public:
  enum Term { kLoss, kEntropy, kLogRatio, kKl, kRatio, kValueLoss, kIntValueLoss, kTerms };
  static constexpr std::size_t kCount = kTerms * kTileRows, kBytes = sizeof(double) * kCount;

  BROADLOOM_HD explicit TileTerms(double* memory) : memory_(memory) {}

  struct Row {
    double* first;
    BROADLOOM_HD void set(int term, double value) const { first[term * kTileRows] = value; }
    BROADLOOM_HD void set(const SamplePolicyLoss& loss, float entropy) const {
      set(kLoss, loss.loss);
      set(kEntropy, entropy);
      set(kLogRatio, loss.log_ratio);
      set(kKl, (static_cast<double>(loss.ratio) - 1.0) - static_cast<double>(loss.log_ratio));
      set(kRatio, loss.ratio);
    }
  };
  BROADLOOM_HD Row row(int row) const { return {memory_ + row}; }
  BROADLOOM_HD double at(int term, int row) const { return memory_[term * kTileRows + row]; }
  template <class Block>
  BROADLOOM_HD double sum(Block& block, int term, int rows) const {
    return lane_sum<double, 8>(block, rows, [&](int r) { return at(term, r); });
  }

 private:
  double* memory_;
};

// Sum of squared ratios, fused as on the host. By a warp.
template <class Block>
BROADLOOM_HD double squared_ratios(Block& block, const TileTerms& terms, int rows) {
  return lane_fold<double, 8>(block, rows, [&](double sum, int r) {
    const double ratio = terms.at(TileTerms::kRatio, r);
    return std::fma(ratio, ratio, sum);
  });
}

// Count, minimum and maximum, which do not depend on the order. NaN counts as the largest error.
struct RatioExtremes {
  double clipped = 0.0, least, most, error;

  BROADLOOM_HD explicit RatioExtremes(const PpoSums& before)
      : least(before.min_ratio), most(before.max_ratio), error(before.max_ratio_error) {}
  BROADLOOM_HD void take(double other_least, double other_most, double other_error) {
    if (other_least < least) least = other_least;
    if (other_most > most) most = other_most;
    if (other_error > error || other_error != other_error) error = other_error;
  }
};

// By a warp.
template <class Block>
BROADLOOM_HD void add_ratio_extremes(Block& block, double clip_coef, const TileTerms& terms,
                                     int rows, PpoSums& sums) {
  RatioExtremes own(sums);
  for (int r = block.thread() % kWarp; r < rows; r += kWarp) {
    const double ratio = terms.at(TileTerms::kRatio, r), error = std::fabs(ratio - 1.0);
    if (error > clip_coef) own.clipped += 1.0;
    own.take(ratio, ratio, error);
  }
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    own.clipped += block.shuffle_xor(own.clipped, mask);
    const double least = block.shuffle_xor(own.least, mask);
    const double most = block.shuffle_xor(own.most, mask);
    own.take(least, most, block.shuffle_xor(own.error, mask));
  }
  if (block.thread() % kWarp != 0) return;
  sums.clipped += own.clipped;
  sums.min_ratio = own.least;
  sums.max_ratio = own.most;
  sums.max_ratio_error = own.error;
}

// Sums of the policy; each is one warp's work.
inline constexpr int kPolicyNumbers = 7;
template <class Block>
BROADLOOM_HD void add_policy_terms(Block& block, int number, double clip_coef,
                                   const TileTerms& terms, int rows, PpoSums& sums) {
  if (number == kPolicyNumbers - 1) {
    return add_ratio_extremes(block, clip_coef, terms, rows, sums);
  }
  const bool squares = number == kPolicyNumbers - 2;
  const double sum = squares ? squared_ratios(block, terms, rows) : terms.sum(block, number, rows);
  if (block.thread() % kWarp != 0) return;
  switch (number) {
    case TileTerms::kLoss:
      sums.policy_loss += sum;
      break;
    case TileTerms::kEntropy:
      sums.entropy += sum;
      break;
    case TileTerms::kLogRatio:
      sums.old_approx_kl -= sum;
      break;
    case TileTerms::kKl:
      sums.approx_kl += sum;
      break;
    case TileTerms::kRatio:
      sums.ratios += sum;
      break;
    default:
      sums.squared_ratios += sum;
      break;
  }
}

}  // namespace broadloom::cuda
