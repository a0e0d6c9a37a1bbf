// What a program within another asks of the commands before it runs one.
#pragma once

#include <string>
#include <vector>

namespace broadloom::cli {

// Whether the command that these words name, without the program's, answers with one JSON object
// when it is told --json. That of `bench` names a file.
bool has_json(const std::vector<std::string>& arguments);

}  // namespace broadloom::cli
