// tests/golden/hashes.txt: "configuration  number  hash" a line, and lines of words that begin with
// #.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "tests/golden/numbers.h"

namespace broadloom::golden {

// Instruction sets of this processor that have the numbers of the file, widest first.
std::vector<std::string> golden_isas();

std::string line_text(const std::string& configuration, const Line& line);

// Lines by configuration, in the file's order. kCorrupt names the first line that is none.
Result<std::map<std::string, Lines>> parse_hashes(std::string_view text);

// "" if both are equal; else the first number that differs, and how many do.
std::string first_difference(const Lines& expected, const Lines& got);

}  // namespace broadloom::golden
