// For programs that run commands as functions, such as the Python module.
#pragma once

#include <string>
#include <vector>

namespace broadloom::cli {

// Whether the command that these arguments name prints one JSON object with --json. (The --json of
// `bench` names a file.)
bool has_json(const std::vector<std::string>& arguments);

}  // namespace broadloom::cli
