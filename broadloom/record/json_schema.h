// Checks JSON against the part of JSON Schema (2020-12) that Broadloom's own schemas use.
#pragma once

#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

// Keywords: type, enum, properties, required, additionalProperties, items, minimum, maximum,
// minLength, maxLength; $schema, title and description say nothing. A schema with any other keyword
// is refused, so that nothing is taken for checked that is not. kMismatch names the first place
// that does not fit, as in "result.episodes: got \"many\", expected integer".
Status check_json(std::string_view json, std::string_view schema);

}  // namespace broadloom
