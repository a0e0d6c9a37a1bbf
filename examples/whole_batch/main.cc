// All commands of Broadloom, with your own simulator: fleet train --env_id Fleet-v0
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/program.h"
#include "fleet.h"

int main(int argc, char** argv) {
  const auto make = [](const broadloom::VecEnvOptions& options) {
    return broadloom::Result<std::unique_ptr<broadloom::VecEnv>>(std::make_unique<Fleet>(options));
  };
  return broadloom::run_program(
      argc, argv,
      {broadloom::register_environment(broadloom::simulator_entry(Fleet::make_spec(), make))});
}
