// The gradient laboratory on a paused training: evidence by T, within a budget of steps.
#pragma once

#include <cstdint>

#include "broadloom/train/trainer.h"
#include "research/advise/advice_budget.h"
#include "research/advise/evidence.h"

namespace broadloom {

// The laboratory's plan for a budget of environment steps and a policy of this spec.
struct LaboratoryPlan {
  int start_envs = 0;  // 0: too few steps for anything
  int blocks = 0;      // of each shape
  std::int64_t budget =
      0;  // of the bias study; with agreement, also of its reference and critic each
  bool agreement = false;  // only if there are enough steps
  std::int64_t least = 0;  // least number of steps that it takes
};
LaboratoryPlan plan_laboratory(std::int64_t steps, int max_episode_steps, int shapes, int batch);

// Shapes of the measured blocks: several T, each with N = batch / T.
std::vector<BlockShape> laboratory_shapes(int batch, int own_num_steps);

// Environment steps for the laboratory: `share` of the budget, or of the seconds that are left, for
// a setting that trains at steps_per_second.
std::int64_t laboratory_steps(const AdviceBudget& total_budget, double share,
                              double steps_per_second);

// Never fails: why_not has the reason if nothing was measured.
GradientEvidence measure_gradients(const Trainer& trainer, std::int64_t steps, int threads,
                                   const AdviceBudget& total_budget);

// The laboratory's own rule (docs/advise.md).
//
//   T     the smallest whose mean gradient agrees with the true one to within 0.05 of the largest
//         cosine
//   N     makes a block of the critical batch at that T, with room for 50 updates within the
//         affordable steps
//   M     a sixteenth of the block
//   rate  from scaled_learning_rate()
//
// Config keys in `held` keep their values of `start`. words: the reasons. Returns `start` if
// nothing was measured.
struct GradientChoice {
  Candidate candidate;
  std::string words;
};
GradientChoice choose_by_gradient(const GradientEvidence& gradient, const Candidate& start,
                                  const std::vector<std::string>& held, double affordable_steps);

}  // namespace broadloom
