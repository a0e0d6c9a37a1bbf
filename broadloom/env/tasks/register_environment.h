// Environments of one's own, made known to the library in one line each:
//
//   register_environment<MyEnv>("MyEnv-v0");             // a header as env/environment.h has it
//   register_environment(simulator_entry(spec, make));   // a simulator behind VecEnv
//
// What is registered has every command of run_program() (broadloom/program.h). Slow to compile for
// each environment type: include it in one file.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {

// id: its name, whatever Env::spec calls it. defaults: other than Env::Options{} where one type is
// registered twice. The environment gets what the library's own get: options, strata, disturbances,
// families, curriculum. Errors as register_environment(EnvEntry).
template <Environment Env>
Status register_environment(const std::string& id, const typename Env::Options& defaults = {}) {
  EnvEntry entry = make_entry<Env>(defaults, [id](EnvSpec& spec) { spec.id = id; });
  entry.spec.id = id;  // where the default options are refused, there is no spec to have it
  return register_environment(std::move(entry));
}

}  // namespace broadloom
