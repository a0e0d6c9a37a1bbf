// The exact side of the gradient laboratory: solves for the expectation of PPO's policy gradient in
// a tabular environment, instead of sampling it.
//
// The policy is frozen. g_t = A_t grad log pi(a_t | s_t) is the gradient of one step, over all P
// parameters of the network. It is zero at parameters of the critic alone. A block of N
// environments and T steps estimates
//   G_B = -1/(N T) sum over environments and steps of g_t
// This is the gradient of the clipped loss of the first minibatch. The minibatch is the whole
// block, advantages are not normalised, and there is neither an entropy nor a value term.
//
// A_t is generalised advantage estimation as in compute_advantages() (Schulman et al. 2016, arXiv
// 1506.02438), with the critic at the block's end. Episodes end by termination or at the time
// limit, and the next one begins with the next step.
//
// All numbers are double. The results differ from a float32 block by the rounding of the network's
// outputs, gamma and lambda.
#pragma once

#include <memory>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tabular.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/advantages.h"
#include "research/lab/exact_advantage.h"
#include "research/lab/exact_chain.h"
#include "research/lab/exact_policy.h"

namespace broadloom {

struct ExactSettings {
  int max_episode_steps = 0;  // time limit L in steps; 0: none
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  // Whether all environments begin an episode with the block. Otherwise they are stationary: each
  // began long ago, with its phase spread. It is then in state s after tau steps of an episode with
  // probability rho_tau(s) / E[length].
  bool synchronised = false;
  // Whether returns look past the time limit, as in training that bootstraps there. Q and V are
  // then those of the continued policy, gamma < 1, over the states before the limit.
  bool continued = false;
  ValueUnit value_unit = {};  // of the critic's outputs
};

// Variances, as traces of covariance matrices.
struct ExactVariance {
  double total = 0.0;       // Tr Cov(G_B); total = individual + within
  double individual = 0.0;  // sample_variance / (N T): as if all samples were independent
  double within = 0.0;      // from pairs of steps of the same environment; may be negative
  // Tr Cov(g): mean over the block's positions of E|g_t|^2, less |E G_B|^2.
  double sample_variance = 0.0;
  double squared_norm = 0.0;  // |E G_B|^2
};

class ExactGradients {
 public:
  // network: one observation input per state, one output per action. params: [P]. Errors: kMismatch
  // if sizes differ or actions are not Discrete; those of make_exact_chain().
  static Result<std::unique_ptr<ExactGradients>> create(const TabularModel& model,
                                                        const ActorCritic& network,
                                                        const float* params,
                                                        const ExactSettings& settings);
  static Result<std::unique_ptr<ExactGradients>> create(const TabularModel& model,
                                                        const ActorCritic& network,
                                                        const double* params,
                                                        const ExactSettings& settings);

  // Expected number of steps of an episode, and its expected undiscounted return.
  double mean_episode_length() const { return chain_.mean_episode_length; }
  double mean_return() const { return objective(1.0); }

  // E G_B, [P]; the same for any N. Computed by recursion of E[A | s, a] over the steps left to the
  // block's end and to the limit. Cost: O(T (outcomes + min(T, L) S)), one backward pass over S
  // rows, and (T + L) S numbers of memory. The 8x8 lake at T = 32 takes half a millisecond.
  std::vector<double> expected(const ExactCase& exact_case) const;

  // G_T, [P]: the expectation of G_B without bias. As expected(), with A replaced by Q(s, tau, a) -
  // V(s). Q is the expected discounted return to the end of the episode. The time limit is such an
  // end unless `continued`. The critic is only a baseline.
  //
  // With stationary starts, all T give the same. Cost: O(L outcomes), or O(S^3) without a limit or
  // past it, and one backward pass.
  std::vector<double> reference(int num_steps, double gamma) const;

  // Ideal values of a critic that reads only the state, for all of the model's states: the expected
  // discounted return from there. If the limit is an end, it is averaged over the steps left in a
  // stationary environment. 0 at states that no episode visits. Cost: as reference(), without the
  // pass.
  std::vector<double> state_values(double gamma) const;

  // E[sum over one episode of gamma^t r_t], and its gradient [P]:
  //   sum over tau, s, a of gamma^tau rho_tau(s) pi(a | s) Q(s, tau, a) grad log pi(a | s)
  // (Sutton et al. 2000, "Policy gradient methods ..", theorem 1). It points uphill. -G_T is its
  // counterpart without gamma^tau, divided by a number of steps. Cost: as reference().
  double objective(double gamma) const;
  std::vector<double> policy_gradient(double gamma) const;

  // Variance of G_B over num_envs = N >= 1 independent environments: that of one, divided by N.
  //
  // Cost: second_moment_work(), at some 10^9 operations a second; the first call also computes
  // score_products(). At T = 32, the 8x8 lake takes 5 ms and Taxi half a second. At T = 512, the
  // lake takes 70 ms. kInvalidConfig, with the numbers, if it would exceed kMaxOperations or
  // kMaxBytes.
  Result<ExactVariance> variance(const ExactCase& exact_case, int num_envs);
  static constexpr double kMaxOperations = 2e11;
  static constexpr double kMaxBytes = 1e9;

  const ExactChain& chain() const { return chain_; }

 private:
  ExactGradients(ExactPolicy policy, ExactChain chain, const ExactSettings& settings);
  std::vector<double> gradient_of(const std::vector<double>& weights, double scale) const;
  bool ends_at_limit() const { return chain_.max_episode_steps > 0 && !settings_.continued; }

  ExactPolicy policy_;
  ExactChain chain_;
  ExactSettings settings_;
  std::vector<double> score_products_;  // empty until variance() needs them
};

}  // namespace broadloom
