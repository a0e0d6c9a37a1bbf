// Writes advice.json and advice.html. docs/formats/advice.md describes the file.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/json.h"
#include "research/advise/advise.h"

namespace broadloom {

// command: the arguments of the program.
Json advice_json(const AdviceResult& result, const std::vector<std::string>& command);

// Reads the speeds of candidates, and whose they are, from such a file. kNotFound, kIo; kCorrupt if
// it is not an advice.json with speeds.
Result<KnownSpeeds> read_speeds(const std::string& path);

// The page for that JSON text. Errors: those of make_data_page().
Result<std::string> advice_page(const std::string& json);

}  // namespace broadloom
