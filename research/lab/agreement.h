// How far the gradient of ONE block agrees with the true one: the expected cosine between them.
//
// What PPO takes from a block is a direction: Adam, the clipping of norms and the normalisation of
// advantages take lengths away. With u = G_B / |G_B| and the true gradient G_T,
//   agreement = E[u] . G_T / |G_T|
// which is 1 where every block points the true way, 0 where blocks say nothing of it, and below 0
// where they point away. Bias and noise both lower it, and nothing else does. G_T is a held-out
// estimate of independent groups: the numerator is linear in it, and |G_T|^2 is taken from pairs of
// different groups, so that its noise lowers nothing.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/estimate.h"
#include "research/lab/block_rows.h"
#include "research/lab/reference_gradient.h"

namespace broadloom {

struct AgreementResult {
  BlockShape shape;
  double lambda = 0.0;
  std::string critic;     // whose values the advantages are made with
  bool norm_adv = false;  // advantages normalised over the block, as PPO's are over a minibatch
  int blocks = 0;
  Estimate agreement;  // not a number where |G_T| cannot be told from zero
  Estimate away;       // share of blocks whose gradient has a negative product with the reference
};

// One kind of advantages that blocks are weighed with.
struct AgreementCase {
  double lambda;
  std::string critic;
  bool norm_adv;
};

// Takes blocks of one shape. measure() may run for different blocks at the same time; fold() is
// called for every block in order, so that results do not depend on threads.
class AgreementStudy {
 public:
  // reference must outlive this. blocks: how many there will be, in `groups` groups for the
  // jackknife.
  AgreementStudy(BlockShape shape, std::vector<AgreementCase> cases,
                 const ReferenceGradient& reference, int blocks, int groups);

  // Scratch of one thread.
  struct Scratch {
    std::vector<float> gradient, weights, sums;
  };
  // Of every case: products of the block's unit gradient with the reference's groups, [cases][H].
  using Products = std::vector<std::vector<double>>;
  // rows.weights: advantages of each pair (lambda, critic), in the cases' order, each for the case
  // without and then the one with normalisation.
  Products measure(const BlockRows& rows, Scratch& scratch) const;
  void fold(const Products& products);

  std::vector<AgreementResult> results() const;

 private:
  struct Sums {
    double blocks = 0.0, away = 0.0;
    std::vector<double> products;  // [H]
  };

  AgreementResult result(std::size_t index) const;
  Estimate agreement(const std::vector<Sums>& groups) const;

  BlockShape shape_;
  std::vector<AgreementCase> cases_;
  const ReferenceGradient& reference_;
  std::vector<double> reference_products_;  // [H, H]
  int blocks_, groups_, folded_ = 0;
  std::vector<std::vector<Sums>> sums_;  // [cases][groups]
};

}  // namespace broadloom
