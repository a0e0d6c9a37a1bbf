// An environment as the registry knows it. register_environment<Env>() fills one in from a header,
// simulator_entry() from a simulator; fill one in yourself for what neither offers, such as a
// transition table of a simulator's.
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

// An environment by its functions. Each may be called from any thread, and takes the options
// (`--env.<option>`) as names and texts.
struct EnvEntry {
  EnvSpec spec;  // with default options; where it wants options, its id and why
  std::function<Result<EnvSpec>(const Overrides&)> make_spec;  // under these options
  // N environments under these options.
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;              // that there are, for `env show`
  std::function<Result<TabularModel>(const Overrides&)> table;  // empty: not tabular
  bool built_in = false;       // set by the registry; false: the program registered it
  bool wants_options = false;  // make_spec refuses the default options
};

// The entry of environment type Env, defined in the .cc beside its header.
template <class Env>
EnvEntry entry_of();

}  // namespace broadloom
