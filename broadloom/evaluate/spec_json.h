// Writes an environment's spec as text, for processes that do not know the environment. See
// docs/formats/checkpoint.md.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Spaces, time limit, threshold, strata and reasons of ends: what a policy's network and config
// depend on.
std::string spec_json(const EnvSpec& spec);
// kCorrupt if it is no such text.
Result<EnvSpec> parse_spec(const std::string& text);

}  // namespace broadloom
