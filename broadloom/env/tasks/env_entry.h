// An environment in the registry. register_environment<Env>() fills in an entry from a header,
// simulator_entry() from a simulator. Fill in one yourself for the rest, such as a simulator's
// transition table.
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

// The functions of an environment. Any thread may call them. They take options (`--env.<option>`)
// as names and texts.
struct EnvEntry {
  EnvSpec spec;  // with default options; if it needs options, only id and reason
  std::function<Result<EnvSpec>(const Overrides&)> make_spec;  // spec under given options
  // Makes N environments under given options.
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;              // all options, for `env show`
  std::function<Result<TabularModel>(const Overrides&)> table;  // empty: not tabular
  bool built_in = false;       // set by the registry; false: the program registered it
  bool wants_options = false;  // make_spec refuses the default options
};

// The entry of environment type Env, defined in the .cc beside its header.
template <class Env>
EnvEntry entry_of();

}  // namespace broadloom
