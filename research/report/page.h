// Self-contained HTML pages: style, scripts and data are all inside of the one file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

using PageParts = std::vector<std::pair<std::string_view, std::string_view>>;  // name, text

// Replaces every {{name}} in the template by the part of that name. Parts are not searched for
// further names. kMismatch if a part is missing.
Result<std::string> fill_page(std::string_view page, const PageParts& parts);

// The same JSON, but without "<", so that it cannot end a <script> element.
std::string json_for_script(std::string_view json);

}  // namespace broadloom
