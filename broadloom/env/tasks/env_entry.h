// What the registry knows of an environment.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// The functions have the environment's type inside. make_entry.h makes one from an environment's
// header, simulator_entry.h from what makes a VecEnv.
struct EnvEntry {
  EnvSpec spec;  // with default options
  std::function<Result<EnvSpec>(const Overrides&)> make_spec;
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;
  std::function<Result<TabularModel>(const Overrides&)> table;  // empty: not tabular
  bool built_in = false;  // set by the registry; false: the program registered it
};

// The entry of environment type Env, defined in the .cc beside its header.
template <class Env>
EnvEntry entry_of();

}  // namespace broadloom
