// Evidence for advice, from its beginning to its end: the task is looked at, and a rule measures.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"
#include "research/advise/portfolio.h"
#include "research/advise/purse.h"

namespace broadloom {

// base: the task, and all that is not advised on; given: what the caller set of it, in order. Both
// and the options were checked. Where the purse is over before the rule is, the evidence is what
// was there by then. Errors: of the config, the simulator and memory, before anything is trained.
Result<AdviceEvidence> gather_evidence(const Config& base, const Overrides& given,
                                       const AdviceOptions& options, Purse& purse);

// What was asked, what may be spent on it, and what is known of the task, to which a rule adds.
struct Inquiry {
  const Config& base;  // at a constant rate
  const AdviceOptions& options;
  Purse& purse;
  AdviceEvidence& evidence;
  int jobs = 1;  // trials at once
};

// The rules. Errors: of memory, the speeds that were given, and the trainer.

// The race of the entrants, and more seeds of the best; then, of the one that is ahead, other
// shapes from half-way on where that was asked for, and its gradients.
Status measure_by_race(const Inquiry& inquiry, std::vector<Entrant> entrants);

// The laboratory alone: a short training at the defaults, its gradients, a choice
// (choose_by_gradient), and what is left of the budget for trials of that choice beside the
// defaults.
Status measure_by_gradient(const Inquiry& inquiry, const Entrant& defaults);

}  // namespace broadloom
