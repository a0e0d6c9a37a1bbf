// Sums over the rows of a tile in the host's order: over virtual lanes, of which the upper half is
// then added to the lower one until one is left (math/virtual_lanes-inl.h).
#pragma once

#include <cmath>
#include <cstddef>

#include "broadloom/algorithms/ppo_formulas.h"
#include "broadloom/algorithms/ppo_loss.h"
#include "broadloom/core/host_device.h"

namespace broadloom::cuda {

template <class T, int kLanes, class Term>
BROADLOOM_HD T lane_sum(int rows, Term&& term) {
  T lanes[kLanes] = {};
  for (int first = 0; first < rows; first += kLanes) {
    for (int l = 0; l < kLanes && first + l < rows; ++l) lanes[l] += term(first + l);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// What is said of a tile's samples, in shared memory, in double: the square of a large ratio may be
// no float.
class TileTerms {
 public:
  enum Term { kLoss, kEntropy, kLogRatio, kKl, kRatio, kValueLoss, kTerms };
  static constexpr std::size_t kBytes = sizeof(double) * kTerms * kTileRows;

  BROADLOOM_HD explicit TileTerms(double* memory) : memory_(memory) {}
  BROADLOOM_HD double* end() const { return memory_ + kTerms * kTileRows; }

  struct Row {
    double* first;
    BROADLOOM_HD void set(int term, double value) const { first[term * kTileRows] = value; }
    BROADLOOM_HD void set(const PolicyLossOfOne& of, float entropy) const {
      set(kLoss, of.loss);
      set(kEntropy, entropy);
      set(kLogRatio, of.log_ratio);
      set(kKl, (static_cast<double>(of.ratio) - 1.0) - static_cast<double>(of.log_ratio));
      set(kRatio, of.ratio);
    }
  };
  BROADLOOM_HD Row of(int row) const { return {memory_ + row}; }
  BROADLOOM_HD double at(int term, int row) const { return memory_[term * kTileRows + row]; }
  BROADLOOM_HD double sum(int term, int rows) const {
    return lane_sum<double, 8>(rows, [&](int r) { return at(term, r); });
  }

 private:
  double* memory_;
};

// Sums of squared ratios, fused as on the host.
BROADLOOM_HD inline double squared_ratios(const TileTerms& terms, int rows) {
  double lanes[8] = {};
  for (int r = 0; r < rows; ++r) {
    const double ratio = terms.at(TileTerms::kRatio, r);
    lanes[r % 8] = std::fma(ratio, ratio, lanes[r % 8]);
  }
  return lane_sum<double, 8>(8, [&](int l) { return lanes[l]; });
}

// Counts, least and largest are the same in any order. What is not a number is the largest error.
BROADLOOM_HD inline void add_ratio_extremes(double clip_coef, const TileTerms& terms, int rows,
                                            PpoSums& sums) {
  for (int r = 0; r < rows; ++r) {
    const double ratio = terms.at(TileTerms::kRatio, r), error = std::fabs(ratio - 1.0);
    if (error > clip_coef) sums.clipped += 1.0;
    if (ratio < sums.min_ratio) sums.min_ratio = ratio;
    if (ratio > sums.max_ratio) sums.max_ratio = ratio;
    if (error > sums.max_ratio_error || error != error) sums.max_ratio_error = error;
  }
}

// One thread a number, of kPolicyThreads.
inline constexpr int kPolicyThreads = 7;
BROADLOOM_HD inline void add_policy_terms(int thread, double clip_coef, const TileTerms& terms,
                                          int rows, PpoSums& sums) {
  switch (thread) {
    case 0:
      sums.policy_loss += terms.sum(TileTerms::kLoss, rows);
      break;
    case 1:
      sums.entropy += terms.sum(TileTerms::kEntropy, rows);
      break;
    case 2:
      sums.old_approx_kl -= terms.sum(TileTerms::kLogRatio, rows);
      break;
    case 3:
      sums.approx_kl += terms.sum(TileTerms::kKl, rows);
      break;
    case 4:
      sums.ratios += terms.sum(TileTerms::kRatio, rows);
      break;
    case 5:
      sums.squared_ratios += squared_ratios(terms, rows);
      break;
    case 6:
      add_ratio_extremes(clip_coef, terms, rows, sums);
      break;
    default:
      break;
  }
}

}  // namespace broadloom::cuda
