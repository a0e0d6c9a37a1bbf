// Deterministic evaluation: no exploration noise, frozen statistics, seeds that training never
// uses.
#pragma once

#include <cstdint>

#include "broadloom/core/status.h"
#include "broadloom/env/normalizer.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/train/config.h"

namespace broadloom {

struct EvalOptions {
  int episodes = 100;
  std::uint64_t seed = 1;
  int threads = 1;
};

struct EvalResult {
  std::int64_t global_step = 0;  // of the policy that was evaluated
  int episodes = 0;
  double mean_return = 0.0;
  double ci_low = 0.0;  // 95 % interval of the mean: mean +- 1.96 standard errors
  double ci_high = 0.0;
  double std_return = 0.0;  // sample standard deviation over episodes
  double mean_length = 0.0;
};

// Plays `episodes` episodes, one environment each and each to its end, so that short episodes count
// no more than long ones. Actions are the most likely ones (mean of a Gaussian). Evaluation streams
// are disjoint from training's by construction (Purpose::kEvalReset, kEvalStep). An episode without
// an end is cut after 10,000 steps. Changes nothing of the training run.
Result<EvalResult> evaluate_policy(const Config& config, const ActorCritic& network,
                                   const float* params, const ObsNormalizer* observations,
                                   const EvalOptions& options);

}  // namespace broadloom
