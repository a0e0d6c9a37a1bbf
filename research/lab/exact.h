// The exact side of the gradient laboratory: what PPO's policy gradient estimates in a tabular
// environment, solved instead of sampled.
//
// The policy is frozen, and g_t = A_t grad log pi(a_t | s_t) is the gradient of one step, over all
// P parameters of the network (zero at those of the critic alone). A block of N environments and T
// steps estimates
//   G_B = -1/(N T) sum over environments and steps of g_t
// which is the gradient of the clipped loss of the first minibatch, with the whole block in it,
// advantages not normalised, and neither entropy nor value term. A_t is generalised advantage
// estimation as compute_advantages() does it (Schulman et al. 2016, arXiv 1506.02438), with the
// critic at the block's end. Episodes end by termination or at the time limit, and the next begins
// with the next step.
//
// All is in double precision, so it differs from a float32 block by rounding: that of the network's
// outputs, and of gamma and lambda.
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
  // began long ago, with its phase spread, so that it is in state s after tau steps of an episode
  // with probability rho_tau(s) / E[length].
  bool synchronised = false;
  // Whether returns look past the time limit, as training does that bootstraps there: Q and V are
  // then those of the policy continued, gamma < 1, over the states that it meets before the limit.
  bool continued = false;
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
  // network: one observation input a state, as many outputs as actions; params: [P]. Errors:
  // kMismatch where sizes differ or actions are not Discrete, and those of make_exact_chain().
  static Result<std::unique_ptr<ExactGradients>> create(const TabularModel& model,
                                                        const ActorCritic& network,
                                                        const float* params,
                                                        const ExactSettings& settings);
  static Result<std::unique_ptr<ExactGradients>> create(const TabularModel& model,
                                                        const ActorCritic& network,
                                                        const double* params,
                                                        const ExactSettings& settings);

  // Of one episode: its expected number of steps, and its expected return, not discounted.
  double mean_episode_length() const { return chain_.mean_episode_length; }
  double mean_return() const { return objective(1.0); }

  // E G_B, [P]; the same for any N. By recursion of E[A | s, a] over the steps that are left to the
  // block's end and to the limit. Cost: O(T (outcomes + min(T, L) S)) and one backward pass over S
  // rows, half a millisecond for the 8x8 lake at T = 32; (T + L) S numbers of memory.
  std::vector<double> expected(const ExactCase& of) const;

  // G_T, [P]: what G_B would estimate without bias. As expected(), with A replaced by Q(s, tau, a)
  // - V(s): Q is the expected discounted return up to the end of the episode, which the time limit
  // is too unless `continued`, and the critic is but a baseline. With stationary starts all T give
  // the same. Cost: O(L outcomes), or O(S^3) without a limit or past it, and one backward pass.
  std::vector<double> reference(int num_steps, double gamma) const;

  // What a critic that reads the state alone should say, of all of the model's states: the expected
  // discounted return from there on; where the limit is an end, averaged over the steps that are
  // left, as a stationary environment has them. 0 at states that no episode meets. Cost: as
  // reference(), without the pass.
  std::vector<double> state_values(double gamma) const;

  // E[sum over one episode of gamma^t r_t], and its gradient [P]:
  //   sum over tau, s, a of gamma^tau rho_tau(s) pi(a | s) Q(s, tau, a) grad log pi(a | s)
  // (Sutton et al. 2000, "Policy gradient methods ..", theorem 1). It points uphill, so -G_T is its
  // counterpart without gamma^tau and divided by a number of steps. Cost: as reference().
  double objective(double gamma) const;
  std::vector<double> policy_gradient(double gamma) const;

  // The variance of G_B over num_envs = N >= 1 independent environments: that of one, divided by N.
  // Cost: see second_moment_work(), at some 10^9 operations a second; the first call also has
  // score_products(). At T = 32 the 8x8 lake takes 5 ms and Taxi half a second, at T = 512 the lake
  // takes 70 ms. Error: kInvalidConfig, with the numbers, where it would be more than
  // kMaxOperations or kMaxBytes.
  Result<ExactVariance> variance(const ExactCase& of, int num_envs);
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
