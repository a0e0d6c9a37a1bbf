// `broadloom advise`: probes the task and the machine, and says how many environments, steps,
// minibatches and epochs to train with, and at which rate. docs/advise.md has the method.
#pragma once

#include <functional>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "research/advise/advice.h"
#include "research/advise/advise_options.h"
#include "research/advise/evidence.h"
#include "research/advise/purse.h"

namespace broadloom {

struct AdviceHooks {
  AdviceProgress on_progress;         // may be empty
  std::function<bool()> should_stop;  // may be empty; asked often, from any thread
};

struct AdviceResult {
  AdviceEvidence evidence;
  Advice advice;
  Config advised;  // to train with; `base` where nothing is advised
};

// base: the task, and all that is not advised on; given: what the caller set of it, in order (keys
// of N, T, M, K and the rate among it are held). set_isa() was given what base asks for. Asked to
// stop, it answers from what it has. With a budget of steps the same for any number of threads.
// Errors: of the config, the simulator and memory, before anything is trained.
Result<AdviceResult> give_advice(const Config& base, const Overrides& given,
                                 const AdviceOptions& options, const AdviceHooks& hooks);

}  // namespace broadloom
