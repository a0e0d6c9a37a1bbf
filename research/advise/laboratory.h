// The gradient laboratory on a training that waits: evidence by T, within a budget of steps.
#pragma once

#include <cstdint>

#include "broadloom/train/trainer.h"
#include "research/advise/evidence.h"
#include "research/advise/purse.h"

namespace broadloom {

// What the laboratory can be asked for with so many environment steps, at a policy of this spec.
struct LaboratoryPlan {
  int start_envs = 0;  // 0: too few steps for anything
  int blocks = 0;      // of each shape
  std::int64_t budget =
      0;  // of the bias study; with agreement of its reference and critic each, too
  bool agreement = false;  // only where there are steps for it
  std::int64_t least = 0;  // steps that it takes at the least
};
LaboratoryPlan plan_laboratory(std::int64_t steps, int max_episode_steps, int shapes, int batch);

// T of the blocks that are measured, each with N = batch / T.
std::vector<BlockShape> laboratory_shapes(int batch, int own_num_steps);

// Environment steps that there are for it: of so large a share of the budget, or of what is left of
// that, where a setting trains at so many steps a second.
std::int64_t laboratory_steps(const Purse& purse, double share, double steps_per_second);

// Never fails: what stands against it is in why_not.
GradientEvidence measure_gradients(const Trainer& trainer, std::int64_t steps, int threads,
                                   const Purse& purse);

// The laboratory's own rule (docs/advise.md): T, the smallest whose mean gradient agrees with the
// true one to within 0.05 of the largest cosine; N, what makes a block of the critical batch at
// that T, but leaves room for 50 updates in so many affordable steps; M, a sixteenth of the block;
// the rate from scaled_learning_rate(). What stands in `held`, keys of a config, stays as it is in
// `start`. words: how it came to that. The candidate it began with where nothing was measured.
struct GradientChoice {
  Candidate candidate;
  std::string words;
};
GradientChoice choose_by_gradient(const GradientEvidence& gradient, const Candidate& start,
                                  const std::vector<std::string>& held, double affordable_steps);

}  // namespace broadloom
