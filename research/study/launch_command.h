// Runs another program and returns its output.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct CommandOutput {
  int exit_code = 0;  // 128 + the signal if one ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// Runs a program and waits for its end. words: the program, found in PATH, and its arguments. Its
// standard input is empty. It inherits the environment except variables that begin with an entry of
// `removed_variables` ("NAME=" or a prefix). kNotFound if there is no such program, kIo if it
// cannot be started.
Result<CommandOutput> run_command(const std::vector<std::string>& words,
                                  const std::vector<std::string>& removed_variables = {});

// The last line that is not blank, shortened if it is long; "" without one.
std::string last_line(const std::string& text);

}  // namespace broadloom
