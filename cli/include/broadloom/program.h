// The whole program as a function, for a program of your own with environments of your own: link
// broadloom::program.
//
//   int main(int argc, char** argv) {
//     return broadloom::run_program(argc, argv,
//                                   {broadloom::register_environment<MyEnv>("MyEnv-v0")});
//   }
//
// It then has every command: my_program train --env_id MyEnv-v0 --out runs/mine.
#pragma once

#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Reads the command line, runs the sub-command that it names, and gives the exit code, as
// docs/reference/exit_codes.md lists them. Help and errors name the program by the last part of
// argv[0]; texts of the library speak of `broadloom`. Prints, and handles SIGINT, SIGTERM,
// SIGHUP, SIGUSR1 and SIGXCPU. `before`: results of registering environments; the first error is
// printed, and ends it.
int run_program(int argc, char** argv, const std::vector<Status>& before = {});

}  // namespace broadloom
