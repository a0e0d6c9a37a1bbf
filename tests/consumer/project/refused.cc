// A program whose environment is refused prints the error for every command.
#include "broadloom/env/tasks/registry.h"
#include "broadloom/program.h"

int main(int argc, char** argv) {
  return broadloom::run_program(argc, argv,
                                {broadloom::register_environment(broadloom::EnvEntry{})});
}
