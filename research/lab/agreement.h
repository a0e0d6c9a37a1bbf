// Agreement of the gradient of ONE block with the true one: the expected cosine between them.
//
// PPO uses only the direction of a block's gradient. Adam, the clipping of norms and the
// normalisation of advantages remove its length. With u = G_B / |G_B| and the true gradient G_T,
//   agreement = E[u] . G_T / |G_T|
// The agreement is 1 if every block points in the true direction. It is 0 if blocks carry no
// information on it, and negative if they point away. Only bias and noise lower it.
//
// G_T is a held-out estimate of independent groups. The numerator is linear in it, and |G_T|^2 uses
// pairs of different groups, so its noise does not lower the agreement.
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
  std::string critic;     // the critic whose values the advantages use
  bool norm_adv = false;  // advantages normalised over the block, as in a PPO minibatch
  int blocks = 0;
  Estimate agreement;  // NaN if |G_T| is not significantly above zero
  Estimate away;       // share of blocks whose gradient has a negative product with the reference
};

// One kind of advantages that weight the samples of a block.
struct AgreementCase {
  double lambda;
  std::string critic;
  bool norm_adv;
};

// Takes blocks of one shape. measure() may run concurrently for different blocks. fold() is called
// for every block in order, so results do not depend on threads.
class AgreementStudy {
 public:
  // reference must outlive this object. blocks: total number, in `groups` groups for the jackknife.
  AgreementStudy(BlockShape shape, std::vector<AgreementCase> cases,
                 const ReferenceGradient& reference, int blocks, int groups);

  // Scratch of one thread.
  struct Scratch {
    std::vector<float> gradient, weights, sums;
  };
  // Per case, products of the block's unit gradient with the reference's groups, [cases][H].
  using Products = std::vector<std::vector<double>>;
  // rows.weights: advantages of each pair (lambda, critic), in the order of the cases. Each serves
  // the case without normalisation, then the case with it, if there is one.
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
