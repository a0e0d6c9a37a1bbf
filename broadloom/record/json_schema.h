// Checks JSON against the part of JSON Schema (2020-12) that Broadloom's own schemas use.
#pragma once

#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

// Checks the keywords type, enum, properties, required, additionalProperties, items, minimum,
// maximum, minLength and maxLength. Ignores $schema, title and description, and refuses a schema
// with any other keyword. kMismatch names the first value that does not fit, as in
// "result.episodes: got \"many\", expected integer".
Status check_json(std::string_view json, std::string_view schema);

}  // namespace broadloom
