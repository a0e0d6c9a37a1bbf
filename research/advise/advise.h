// `broadloom advise`: probes the task and the machine. It advises how many environments, steps,
// minibatches and epochs to train with, and at which rate. docs/advise.md describes the method.
#pragma once

#include <functional>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advice.h"
#include "research/advise/advice_budget.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"

namespace broadloom {

struct AdviceHooks {
  AdviceProgress on_progress;         // may be empty
  std::function<bool()> should_stop;  // may be empty; polled often, from any thread
  // May be empty. Called once, after all checks and before any training. Its error ends the call.
  std::function<Status()> on_checked;
};

struct AdviceResult {
  AdviceEvidence evidence;
  Advice advice;
  Config advised;  // to train with; `base` if nothing is advised
};

// Gives advice. base: the task, and all settings that are not advised on. given: the settings among
// them that the caller set, in order; keys of N, T, M, K and the rate among them are held.
// set_isa() must have been called for base.
//
// If stopped, it answers from the evidence so far. With a budget of steps, the result does not
// depend on the number of threads. Errors of the config, the simulator and memory come before any
// training.
Result<AdviceResult> give_advice(const Config& base, const Overrides& given,
                                 const AdviceOptions& options, const AdviceHooks& hooks);

}  // namespace broadloom
