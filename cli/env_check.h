// Checks a registered environment against the rules of VecEnv.
#pragma once

#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/env/conformance/conformance.h"

namespace broadloom::cli {

struct EnvCheck {
  std::string id;
  ConformanceOptions options;
  bool no_chance = false;
  bool json = false;
};

// Checks and prints. Returns the exit code: 0, that of the error, or 6 if a check fails.
int check_env(const EnvCheck& check, const Overrides& env_options);

}  // namespace broadloom::cli
