// The bias of the batch gradient as a function of the number of steps, lambda and gamma.
//
// The reference G_T weights the same samples by their actual discounted return minus V(s). The
// return looks past the time limit as episodes.h says. It does not bootstrap, so E G_T = -E [Q(s,
// a) grad log pi(a|s)] over the blocks' own state distribution. Both gradients use the same
// transitions, so most of their noise cancels in the difference.
//
// With memory, E G_B goes back through windows, and G_T to the start of each episode.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/instruments/gradient/factors.h"
#include "research/lab/episodes.h"

namespace broadloom {

struct BiasSettings {
  std::vector<int> num_steps;  // T of the blocks; E G_B does not depend on N
  std::vector<double> lambdas;
  std::vector<double> gammas;
  // A case is precise enough if the standard error of its bias is at most this share of the bias.
  double precision = 0.1;
  std::int64_t budget = 2000000;  // most transitions to collect; at least one trajectory per group
  // May be empty. Called before each round with the share of the budget that is spent; an error
  // ends the study.
  std::function<Status(double)> on_round = {};
  int beyond = 0;  // steps that returns look past the time limit; 0: the limit is an end
  Score score = Score::kLogProb;  // of the loss whose gradient it is
  int window = 0;                 // steps through which a policy with memory goes back; 0: T
};

struct BiasResult {
  int num_steps = 1;
  double lambda = 0.0, gamma = 0.0;
  std::int64_t samples = 0;
  int groups = 0;         // independent groups behind the intervals
  Estimate bias_squared;  // |E G_B - G_T|^2, without the upward bias of squared noise
  Estimate bias_norm;     // its root; 0 if noise makes the square negative
  Estimate expected_norm, reference_norm;
  // bias_norm / reference_norm, and the cosine between E G_B and G_T, with both norms corrected for
  // noise. NaN if a norm in the denominator is not significantly above zero.
  Estimate relative_bias, cosine;
  bool precise = false;
};

// One result per (T, lambda, gamma), T outermost. Collects transitions until every case is precise
// or the budget is spent.
//
// With stationary starts (`starts` not null), every T is cut from the same long trajectories, whose
// pieces also start in the stationary distribution. With synchronised starts, a case uses the T
// steps after the reset. kInvalidConfig if episodes have no time limit, since they need not end
// then, or if the sums do not fit into memory.
Result<std::vector<BiasResult>> study_bias(const Policy& policy, const StartPool* starts,
                                           const BiasSettings& settings, std::uint64_t seed,
                                           ThreadPool& pool);

// The first `steps` places in time of each environment's list (steps_within), one after another, as
// training would have seen them. An episode that continued past the limit is truncated there. The
// block is [steps, end - begin], without observations and actions.
RolloutBlock as_trained(const FrozenBlock& block, int begin, int end,
                        const std::vector<std::vector<int>>& places, int steps,
                        const TimeLimit& limit);

// The same transitions as blocks of num_steps steps. The first `segments` pieces of environments
// [begin, end) of `whole` become columns. Piece s of environment n is column (n - begin) * segments
// + s. The block has values, rewards, end flags and bootstrap values, but no observations and
// actions. whole.T must exceed segments * num_steps. limit: the time limit; 0: none.
RolloutBlock cut_block(const RolloutBlock& whole, int begin, int end, int num_steps, int segments,
                       int limit);

}  // namespace broadloom
