// The variance of the batch gradient, in total and in its parts.
//
// Let mu = E G_B over independent blocks of one shape, apart from signs (G_B = -1/B sum g_i):
//   Tr Cov(G_B) = E |G_B - mu|^2 = 1/B^2 sum over i, j of E <g_i - mu, g_j - mu>
// The double sum splits into the samples themselves (i = j), pairs of one environment by their lag,
// and pairs of different environments.
//
// |mu|^2 is estimated by the mean of <G_b, G_c> over pairs of different blocks, without the bias of
// squared noise. The parts then add up to the total exactly, and the total is the trace of the
// usual sample covariance.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/estimate.h"
#include "research/lab/block_rows.h"
#include "research/lab/gram.h"

namespace broadloom {

// Lags [low, high], both inclusive.
struct LagBin {
  int low = 1, high = 1;
};
// 1, 2, 3-4, 5-8, ... up to T - 1.
std::vector<LagBin> lag_bins(int num_steps);

struct VarianceResult {
  BlockShape shape;
  double lambda = 0.0;
  int blocks = 0;
  Estimate total;                       // Tr Cov(G_B)
  Estimate individual, within, across;  // its parts
  Estimate parts_sum;
  bool parts_agree = false;  // see VarianceStudy::results()
  std::vector<LagBin> bins;
  std::vector<Estimate> within_by_lag;  // [bins]
  Estimate sample_variance;             // Tr Cov(g), g any sample of a block
  Estimate squared_norm;                // |mu|^2
  Estimate variance_inflation;          // VIF = B Tr Cov(G_B) / Tr Cov(g)
  Estimate effective_sample_size;       // B / VIF
  Estimate signal_to_noise;             // |mu|^2 / Tr Cov(G_B)
  Estimate noise_scale;  // Tr Cov(g) / |mu|^2 (McCandlish et al. 2018, arXiv 1812.06162, eq. 2.9)
  Estimate critical_batch;  // B Tr Cov(G_B) / |mu|^2: the same, including the dependence of samples
};

// Moments of one block and lambda.
struct BlockMoments {
  std::vector<float> gradient;        // [P] 1/B sum g_i
  double squared_norm = 0.0;          // |gradient|^2
  double individual = 0.0;            // 1/B^2 sum |g_i|^2
  std::vector<double> within_by_lag;  // [bins] 2/B^2 sum of <g_i, g_j> over pairs
  // On checked blocks only, over B^2: the sum of all entries of the Gram matrix, and the sum of
  // entries of different environments.
  double gram_sum = 0.0, gram_across = 0.0;
  bool checked = false;
};

// Takes blocks of one shape. measure() may run concurrently for different blocks. fold() is called
// for every block in order, so results do not depend on threads.
class VarianceStudy {
 public:
  // blocks: total number, in `groups` groups for the jackknife.
  VarianceStudy(BlockShape shape, std::vector<double> lambdas, std::size_t parameter_count,
                int blocks, int groups);

  // Scratch of one thread.
  struct Scratch {
    GramTiles<float> gram;
    std::vector<float> squares, tile;
  };
  // Moments of a block for every lambda. check: compute the whole Gram matrix and keep its sum.
  std::vector<BlockMoments> measure(const BlockRows& rows, bool check, Scratch& scratch) const;
  void fold(const std::vector<BlockMoments>& moments);

  // One result per lambda. parts_agree: on checked blocks, the Gram matrix's entries add up to |sum
  // g_i|^2, up to rounding. Entries of different environments add up to the remainder of the other
  // parts.
  std::vector<VarianceResult> results() const;

  // Whether this block's Gram matrix should be checked in full: true for a few, evenly spread.
  bool to_check(int block) const;

 private:
  struct Sums {
    double blocks = 0.0, squared_norm = 0.0, individual = 0.0;
    std::vector<double> within_by_lag;  // [bins]
    std::vector<double> gradient;       // [P]
    void add(const Sums& other, double sign);
  };
  struct Parts;

  void add_within(const BlockRows& rows, std::size_t factors, Scratch& scratch,
                  std::vector<BlockMoments>& moments) const;
  Parts parts(const Sums& all) const;
  double norm_noise(const std::vector<Sums>& groups) const;
  VarianceResult result(int lambda) const;

  BlockShape shape_;
  std::vector<double> lambdas_;
  std::vector<LagBin> bins_;
  int blocks_, groups_, folded_ = 0;
  std::vector<std::vector<Sums>> sums_;  // [lambdas][groups]
  std::vector<bool> gram_agrees_;        // [lambdas]
};

}  // namespace broadloom
