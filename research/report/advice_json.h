// advice.json and advice.html. docs/formats/advice.md describes the file.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/json.h"
#include "research/advise/advise.h"

namespace broadloom {

// command: the arguments that gave it.
Json advice_json(const AdviceResult& result, const std::vector<std::string>& command);

// The speeds in such a file, of the candidates that have one. kNotFound, kIo; kCorrupt where it is
// no advice.json.
Result<std::vector<KnownSpeed>> read_speeds(const std::string& path);

// The page of such a text. Errors: as make_data_page().
Result<std::string> advice_page(const std::string& json);

}  // namespace broadloom
