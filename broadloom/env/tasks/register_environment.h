// Makes an environment of your own known by its id, so that everything that takes an id takes it:
//
//   int main(int argc, char** argv) {
//     return broadloom::run_program(argc, argv,
//                                   {broadloom::register_environment<MyEnv>("MyEnv-v0")});
//   }
//
// MyEnv is a header as env/environment.h says. A simulator behind VecEnv is registered with
// register_environment(simulator_entry(spec, make)) (env/tasks/simulator_entry.h). Without
// run_program(), call it before anything else of the library. This header takes seconds to compile
// for each environment type: include it in one file.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {

// id: its name, whatever Env::spec calls it, with letters, digits, '-', '_' and '.'. defaults: for
// a type that is registered under several ids. The environment has what the library's own have:
// options, strata, disturbances, seed families, curriculum. Errors: register_environment(EnvEntry).
template <Environment Env>
Status register_environment(const std::string& id, const typename Env::Options& defaults = {}) {
  EnvEntry entry = make_entry<Env>(defaults, [id](EnvSpec& spec) { spec.id = id; });
  entry.spec.id = id;  // where the default options are refused, there is no spec to have it
  return register_environment(std::move(entry));
}

}  // namespace broadloom
