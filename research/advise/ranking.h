// The order of candidates, from curves of evaluations. Pure functions of the evidence.
//
// Compared trials are cut at one cost, the horizon, to which all of them were run. Later results,
// on a budget that other trials did not have, do not count. An evaluation with cut episodes never
// reaches a threshold, nor is it the best return seen. A policy that walks on the spot has not
// learnt the task.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "broadloom/core/status.h"
#include "research/advise/evidence.h"

namespace broadloom {

// The threshold for speeds: the given one, otherwise 90 % of the way from the untrained policy to
// the best mean over a candidate's seeds. kNotKnown if nothing beat the untrained policy.
double speed_threshold(const AdviceEvidence& evidence);

// Consecutive evaluations at the threshold before a trial counts as having reached it: ten episodes
// are few, and policies fluctuate.
inline constexpr std::size_t kInARow = 3;

// Steps of the first of kInARow consecutive evaluations at the threshold. Nothing if there are
// none, or if it is later than most_steps.
std::optional<std::int64_t> steps_to_threshold(const TrialCurve& trial, double threshold,
                                               std::int64_t most_steps);

// The cost to which every trial of the candidates was run. Trials at the threshold and failed
// trials count as run to any cost. If there are no others, it is the largest cost seen.
double common_horizon(const AdviceEvidence& evidence, const std::vector<std::size_t>& candidates,
                      double threshold);

// A candidate's results up to a horizon, over its seeds.
struct CandidateScore {
  int trials = 0, reached = 0, failed = 0;
  double mean_cost = kNotKnown;  // to the threshold; the horizon for trials that did not reach it
  double mean_area = kNotKnown;  // mean return over cost, with the untrained policy's at the start
  double mean_last = kNotKnown;  // last evaluation
};
CandidateScore score_of(const AdviceEvidence& evidence, std::size_t candidate, double threshold,
                        double horizon);

// The candidates from best to worst. Speed: by mean cost to the threshold, capped at the horizon,
// then by area. Return: by the last evaluation. Candidates with failed trials come after those
// without. Ties keep the order given.
std::vector<std::size_t> ranked(const AdviceEvidence& evidence, std::vector<std::size_t> candidates,
                                double threshold);

// Probability that a training of candidate a beats one of b at their common horizon, with an
// interval if both have at least two seeds. kNotKnown if either has no trial.
struct TrialComparison {
  Estimate a_is_better;
  bool told_apart = false;  // by better_of() of research/stats/pair_test.h
};
TrialComparison compare_trials(const AdviceEvidence& evidence, std::size_t a, std::size_t b,
                               double threshold);

// Whether a candidate beats the untrained policy. The last evaluations of its unbroken trainings
// must exceed the interval of the untrained return, on average and for two of three seeds. Their
// episodes must end.
bool has_learnt(const AdviceEvidence& evidence, std::size_t candidate);

}  // namespace broadloom
