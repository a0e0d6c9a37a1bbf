// `broadloom gradients --study windows`: what windows of backpropagation do to a policy with
// memory.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/windows.h"

namespace broadloom::cli {

struct WindowsCommand {
  std::string source;  // run folder or checkpoint
  std::string folder;  // of windows.json
  std::vector<std::string> arguments;
  WindowSettings settings;
  bool quiet = false;
};

// Prints the table and writes windows.json. The exit code.
Result<int> measure_windows(const WindowsCommand& command);

}  // namespace broadloom::cli
