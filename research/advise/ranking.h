// Who is ahead: from curves of evaluations to an order. Pure functions of the evidence.
//
// All trials of candidates that are compared are looked at up to one cost, the horizon, that all of
// them were run to: what one of them did later, on a budget that others did not have, does not
// count. An evaluation with episodes that had to be cut is never at a threshold, nor the best that
// was seen: a policy that walks on the spot has not learnt the task.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "broadloom/core/status.h"
#include "research/advise/evidence.h"

namespace broadloom {

// What a speed is measured against: the threshold where there is one, else 90 % of the way from the
// untrained policy to the best mean over a candidate's seeds that was seen. Not known where nothing
// better than the untrained policy was seen.
double speed_threshold(const AdviceEvidence& evidence);

// Evaluations in a row that must be at the threshold before a trial counts as being there: ten
// episodes are few, and policies come and go.
inline constexpr std::size_t kInARow = 3;

// When a trial was at the threshold in so many evaluations in a row for the first time, the first
// of them; nothing where that one was later than most_steps.
std::optional<std::int64_t> steps_to_threshold(const TrialCurve& trial, double threshold,
                                               std::int64_t most_steps);

// The cost that every trial of the candidates was run to. Trials that were at the threshold need no
// more, and so need those that failed: where there are no others, the largest cost that was seen.
double common_horizon(const AdviceEvidence& evidence, const std::vector<std::size_t>& candidates,
                      double threshold);

// How a candidate does up to a horizon, over its seeds.
struct CandidateScore {
  int trials = 0, reached = 0, failed = 0;
  double mean_cost = kNotKnown;  // to the threshold, or the horizon for trials that were not there
  double mean_area = kNotKnown;  // mean return over cost, the untrained policy's at the start
  double mean_last = kNotKnown;  // last evaluation
};
CandidateScore score_of(const AdviceEvidence& evidence, std::size_t candidate, double threshold,
                        double horizon);

// The candidates from best to worst. Speed: by mean cost to the threshold, capped at the horizon,
// then by area. Return: by the last evaluation. Those with failed trials come after those without;
// ties keep the order given.
std::vector<std::size_t> ranked(const AdviceEvidence& evidence, std::vector<std::size_t> candidates,
                                double threshold);

// How likely a training of candidate a does better than one of b at their common horizon, with its
// interval where both have two seeds or more. kNotKnown where either has no trial.
struct TrialComparison {
  Estimate a_is_better;
  bool told_apart = false;  // as better_of of research/stats/pair_test.h says
};
TrialComparison compare_trials(const AdviceEvidence& evidence, std::size_t a, std::size_t b,
                               double threshold);

// Whether a candidate does better than the untrained policy: the last evaluations of its trainings
// that did not break down are above what that one's episodes leave open, on average and with two of
// three seeds, and their episodes end.
bool has_learnt(const AdviceEvidence& evidence, std::size_t candidate);

}  // namespace broadloom
