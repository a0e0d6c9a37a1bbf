// Another program, called and listened to.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct CommandOutput {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string out;    // its standard output
  std::string err;    // its standard error
};

// Runs it to its end; words: the program, looked for in PATH, and its arguments. It has an empty
// standard input, and this process's environment but for variables that begin so ("NAME=", or the
// beginning of names). kNotFound where there is no such program, kIo where it cannot be started.
Result<CommandOutput> run_command(const std::vector<std::string>& words,
                                  const std::vector<std::string>& without = {});

// The last line that says something; "" where none does. A line that is longer is cut.
std::string last_line(const std::string& text);

}  // namespace broadloom
