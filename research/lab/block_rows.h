// One block's per-sample gradients, in the order in which the studies read them.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/rollout/advantages.h"
#include "research/lab/frozen.h"

namespace broadloom {

// Row n * T + t is step t of environment n. Each lambda has its own advantages. Sample r's gradient
// is weight(l)[r] times its factors(l). Without value and entropy terms, the factors are the
// scores. They and their inner products are then the same for every lambda.
struct BlockRows {
  BlockShape shape;
  std::vector<int> trajectory;                  // [B] equal for rows of the same episode
  std::vector<GradientFactors<float>> factors;  // one, or one per lambda
  std::vector<std::vector<float>> weights;      // [lambdas][B]
  std::size_t parameter_count = 0;              // P

  int rows() const { return shape.batch(); }
  int lambdas() const { return static_cast<int>(weights.size()); }
  std::size_t factors_of(int lambda) const { return factors.size() == 1 ? 0 : lambda; }
};

// How advantages become weights.
struct EstimatorSettings {
  double gamma = 0.99;
  std::vector<double> lambdas{0.95};
  bool norm_adv = false;  // normalise over each block, as with norm_adv=batch
  GradientTerms terms;
  int window = 0;  // steps through which a policy with memory goes back; 0: all of the block
};

// Advantages of a collected block for each lambda: [lambdas][T * N]. With action values, errors of
// their loss: target minus Q(s, a).
std::vector<std::vector<float>> advantages_by_lambda(FrozenBlock& block, double gamma,
                                                     const std::vector<double>& lambdas,
                                                     TruncationMode mode, GaeWeights weights);

// Fills BlockRows from one copy of a collected block; use one per thread.
class BlockReader {
 public:
  BlockReader(const Policy& policy, const EstimatorSettings& settings);

  // advantages: those of advantages_by_lambda() for the whole block.
  void read(const RolloutBlock& block, const std::vector<std::vector<float>>& advantages,
            BlockShape shape, int copy, BlockRows& rows);

 private:
  const EstimatorSettings& settings_;
  FactorMaker<float> maker_;
  std::size_t parameter_count_;
  std::vector<float> observations_, critic_observations_, actions_, raw_;
  std::vector<float> states_;  // [windows, S] of a policy with memory
  std::vector<std::uint8_t> valid_, begins_;
};

}  // namespace broadloom
