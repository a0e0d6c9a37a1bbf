// Similarity between per-sample gradients of one block: cosines of centred gradients within and
// across trajectories, and their autocovariance. Also the similarity between whole blocks' means.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/estimate.h"
#include "research/lab/block_rows.h"

namespace broadloom {

// Bins of equal width over the range of cosines, [-1, 1].
inline constexpr int kCosineBins = 50;

struct CosineSummary {
  std::int64_t pairs = 0;
  Estimate mean, mean_abs, mean_square;
  std::vector<std::int64_t> histogram;  // [kCosineBins]
};

struct PairCorrelation {
  int lag = 0;           // 0: pairs of different trajectories
  CosineSummary cosine;  // of centred gradients
  // Mean cosine of uncentred gradients. For independent gradients it is |E g/|g| |^2. Centring
  // makes all gradients that are shorter than their block's mean resemble minus that mean, and so
  // each other.
  Estimate uncentred;
  // E <g_i - mu, g_j - mu> / E |g - mu|^2, with mu the mean over all blocks.
  Estimate autocovariance;
};

struct CorrelationResult {
  BlockShape shape;
  double lambda = 0.0;
  int blocks = 0;
  std::vector<PairCorrelation> within;  // [lags] pairs of one trajectory, `lag` steps apart
  PairCorrelation across;               // random pairs of different trajectories of a block
  CosineSummary with_mean;    // each uncentred gradient with the mean of the others in its block
  CosineSummary batch_means;  // between the mean gradients of at most 400 blocks
  std::vector<std::vector<float>> batch_mean_matrix;  // of the first blocks
};

// Takes blocks of one shape. measure() may run concurrently for different blocks. fold() is called
// for every block in order. A trajectory is one environment's part of one episode.
//
// The centred cosine of i and j is that of g_i - m and g_j - m, with m the mean of their block.
// Samples with a centred gradient of almost zero have no direction and are left out.
class CorrelationStudy {
 public:
  // lags: lags of at least num_steps are dropped. matrix_size: rows of batch_mean_matrix.
  CorrelationStudy(BlockShape shape, std::vector<double> lambdas, const std::vector<int>& lags,
                   std::size_t parameter_count, int blocks, int groups, std::uint64_t seed,
                   int matrix_size);

  struct Tally {
    double count = 0.0, sum = 0.0, abs = 0.0, square = 0.0;  // of cosines
    double pairs = 0.0, product = 0.0;                       // of inner products, not centred
    double directed = 0.0, uncentred = 0.0;                  // of cosines, not centred
    void add(const Tally& other, double sign);
  };
  // Moments of one block and lambda; the last kind of pair is `across`.
  struct Moments {
    std::vector<float> gradient;                        // [P] mean of g over the block
    double sample_square = 0.0;                         // mean of |g|^2
    std::vector<Tally> kinds;                           // [lags + 1]
    std::vector<std::vector<std::int64_t>> histograms;  // [lags + 1][kCosineBins]
    Tally with_mean;
    std::vector<std::int64_t> with_mean_histogram;
  };

  // block: index of the block, which decides the random pairs.
  std::vector<Moments> measure(const BlockRows& rows, int block) const;
  void fold(std::vector<Moments> moments);
  std::vector<CorrelationResult> results() const;

  const std::vector<int>& lags() const { return lags_; }

 private:
  struct Sums {
    double blocks = 0.0, sample_square = 0.0, gradient_square = 0.0;
    std::vector<Tally> kinds;
    Tally with_mean;
    std::vector<double> gradient;  // [P]
    void add(const Sums& other, double sign);
  };
  struct PerLambda {
    std::vector<Sums> groups;
    std::vector<std::vector<std::int64_t>> histograms;
    std::vector<std::int64_t> with_mean_histogram;
    std::vector<std::vector<float>> means;  // [kept blocks][P], of length 1
  };

  CorrelationResult result(std::size_t lambda) const;
  int mean_stride() const;
  bool keeps_mean(int block) const;
  void compare_means(const PerLambda& lambda_sums, CorrelationResult& result) const;

  BlockShape shape_;
  std::vector<double> lambdas_;
  std::vector<int> lags_;
  int blocks_, groups_, folded_ = 0;
  std::uint64_t seed_;
  int matrix_size_;
  std::vector<PerLambda> lambdas_sums_;
};

}  // namespace broadloom
