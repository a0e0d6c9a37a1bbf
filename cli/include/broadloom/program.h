// The whole program as a function. Link broadloom::program to add your own environments:
//
//   int main(int argc, char** argv) {
//     return broadloom::run_program(argc, argv,
//                                   {broadloom::register_environment<MyEnv>("MyEnv-v0")});
//   }
//
// Your program then has every command: my_program train --env_id MyEnv-v0 --out runs/mine.
#pragma once

#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Parses the command line, runs the sub-command, and returns the exit code
// (docs/reference/exit_codes.md). Help and errors name the program by the last part of argv[0];
// messages of the library say `broadloom`. Prints, and handles SIGINT, SIGTERM, SIGHUP, SIGUSR1,
// SIGXCPU and SIGXFSZ. before: results of register_environment(); the first error is printed and
// returned.
int run_program(int argc, char** argv, const std::vector<Status>& before = {});

}  // namespace broadloom
