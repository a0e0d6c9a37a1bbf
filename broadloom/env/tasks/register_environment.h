// Registers your own environment under an id, which all commands and functions then accept:
//
//   int main(int argc, char** argv) {
//     return broadloom::run_program(argc, argv,
//                                   {broadloom::register_environment<MyEnv>("MyEnv-v0")});
//   }
//
// MyEnv is a type as described in env/environment.h. For a simulator that derives from VecEnv, use
// register_environment(simulator_entry(spec, make)) (env/tasks/simulator_entry.h). Without
// run_program(), register before you call anything else of the library. This header takes seconds
// to compile for each environment type, so include it in one file.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {

// Registers Env.
// - id: letters, digits, '-', '_' and '.'; replaces the id of Env::spec().
// - defaults: for a type that is registered under several ids.
// The environment gets all features of the library's own: options, strata, disturbances, seed
// families, curriculum. Errors of register_environment(EnvEntry).
template <Environment Env>
Status register_environment(const std::string& id, const typename Env::Options& defaults = {}) {
  EnvEntry entry = make_entry<Env>(defaults, [id](EnvSpec& spec) { spec.id = id; });
  entry.spec.id = id;  // if the default options are refused, no spec has set it
  return register_environment(std::move(entry));
}

}  // namespace broadloom
