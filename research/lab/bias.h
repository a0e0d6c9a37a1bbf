// The bias of the batch gradient against the number of steps, lambda and gamma.
//
// The reference G_T weighs the same samples by what really followed them: the discounted return, as
// far as it looks past the time limit (episodes.h), minus V(s). Nothing is bootstrapped,
// so E G_T = -E [Q(s, a) grad log pi(a|s)] over the blocks' own state distribution. Both gradients
// come from the same transitions, so that most of their noise cancels in the difference.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "research/lab/episodes.h"

namespace broadloom {

struct BiasSettings {
  std::vector<int> num_steps;  // T of the blocks; how many environments does not change E G_B
  std::vector<double> lambdas;
  std::vector<double> gammas;
  // A case is precise enough when the standard error of its bias is this share of the bias.
  double precision = 0.1;
  std::int64_t budget = 2000000;  // transitions to collect at most; a trajectory a group at least
  // May be empty; told before each round what share of the budget is spent.
  std::function<void(double)> on_round = {};
  int beyond = 0;  // steps that returns look past the time limit; 0: it is an end
};

struct BiasResult {
  int num_steps = 1;
  double lambda = 0.0, gamma = 0.0;
  std::int64_t samples = 0;
  int groups = 0;         // independent ones, for the intervals
  Estimate bias_squared;  // |E G_B - G_T|^2, without the upward bias of squaring noise
  Estimate bias_norm;     // its root; 0 where noise makes the square negative
  Estimate expected_norm, reference_norm;
  // bias_norm / reference_norm, and the cosine between E G_B and G_T with noise taken out of both
  // norms. Not numbers where a norm that they divide by cannot be told from zero.
  Estimate relative_bias, cosine;
  bool precise = false;
};

// One a (T, lambda, gamma), T outermost. Under stationary starts (`starts` not null) every T is cut
// from the same long trajectories, each piece of which starts in the stationary distribution too;
// synchronised, a case uses the T steps after the reset. Transitions are collected until every case
// is precise or the budget is spent. kInvalidConfig where episodes have no time limit, since they
// need not end then, or where the sums would not fit into memory.
Result<std::vector<BiasResult>> study_bias(const Policy& policy, const StartPool* starts,
                                           const BiasSettings& settings, std::uint64_t seed,
                                           ThreadPool& pool);

// The first `steps` of each of these environments' lists of places in time (steps_within), one
// after the other, as training would have had them: an episode that went on past the limit is
// truncated there. [steps, end - begin], without observations and actions.
RolloutBlock as_trained(const FrozenBlock& block, int begin, int end,
                        const std::vector<std::vector<int>>& places, int steps,
                        const TimeLimit& limit);

// The same transitions as blocks of num_steps steps: environments [begin, end) of `whole`, the
// first `segments` pieces of each one a column, piece s of environment n at column (n - begin) *
// segments + s, with values, rewards, end flags and bootstrap values, and without observations and
// actions. whole.T must exceed segments * num_steps. limit: the time limit, 0: none.
RolloutBlock cut_block(const RolloutBlock& whole, int begin, int end, int num_steps, int segments,
                       int limit);

}  // namespace broadloom
