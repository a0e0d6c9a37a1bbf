// All evidence for advice: measures the task, then follows a rule.
#pragma once

#include <functional>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advice_budget.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"

namespace broadloom {

// base: the task, and all settings that are not advised on. given: the settings among them that the
// caller set, in order. Both and the options must have been checked. If the budget ends before the
// rule does, the evidence holds what there was by then. Errors of the config, the simulator and
// memory come before on_checked (AdviceHooks), and that before any training.
Result<AdviceEvidence> gather_evidence(const Config& base, const Overrides& given,
                                       const AdviceOptions& options, AdviceBudget& total_budget,
                                       const std::function<Status()>& on_checked);

// The request, its budget, and the facts on the task, to which a rule adds.
struct Inquiry {
  const Config& base;  // with a constant rate
  const AdviceOptions& options;
  AdviceBudget& total_budget;
  AdviceEvidence& evidence;
  int jobs = 1;  // concurrent trials
};

// The rules. Errors: of memory, of given speeds, and of the trainer.

// Runs the race of the entrants, then more seeds of the best. Then it tries other shapes of the
// leader from half-way on, if asked for, and measures the leader's gradients.
Status measure_by_race(const Inquiry& inquiry, std::vector<Entrant> entrants);

// The laboratory alone: a short training at the defaults, its gradients, and a choice
// (choose_by_gradient). The rest of the budget goes to trials of that choice beside the defaults.
Status measure_by_gradient(const Inquiry& inquiry, const Entrant& defaults);

}  // namespace broadloom
