// The whole program as a function, for a program of one's own: link broadloom::program.
//
//   int main(int argc, char** argv) {
//     return broadloom::run_program(argc, argv,
//     {broadloom::register_environment<MyEnv>("MyEnv-v0")});
//   }
#pragma once

#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Reads the command line, runs the sub-command that it names, and gives the exit code, as
// docs/reference/exit_codes.md lists them. Help and errors name the program by the last part of
// argv[0]; texts of the library speak of `broadloom`. Prints, and handles SIGINT, SIGTERM and
// SIGHUP. `before`: what registering environments came to; the first error is printed, and ends it.
int run_program(int argc, char** argv, const std::vector<Status>& before = {});

}  // namespace broadloom
