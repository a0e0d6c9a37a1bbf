// Converts specs of environments to and from Python dicts.
#pragma once

#include <nanobind/nanobind.h>

#include "broadloom/env/spec.h"

namespace broadloom::python {

// {"id", "observation", "critic_observation" or None, "action", "max_episode_steps",
// "reward_threshold" or None, "summary"}; a space is {"kind": "discrete", "n", "start"} or {"kind":
// "box", "low", "high" (lists), "shape", "dtype": "float32" or "uint8"}. The GIL must be held.
EnvSpec spec_from(const nanobind::dict& spec);
nanobind::dict spec_to(const EnvSpec& spec);

}  // namespace broadloom::python
