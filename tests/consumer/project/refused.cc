// A program whose environment is refused says so, whatever it was asked for.
#include "broadloom/env/tasks/registry.h"
#include "broadloom/program.h"

int main(int argc, char** argv) {
  return broadloom::run_program(argc, argv,
                                {broadloom::register_environment(broadloom::EnvEntry{})});
}
