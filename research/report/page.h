// Self-contained HTML pages: style, scripts and data are all inside of the one file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

using PageParts = std::vector<std::pair<std::string_view, std::string_view>>;  // name, text

// The template with every {{name}} replaced by the part of that name. Parts are put in as they are
// and are not searched for further names. kMismatch where the template names a part that is not
// there.
Result<std::string> fill_page(std::string_view page, const PageParts& parts);

// The same JSON in a form that no HTML parser can take for the end of a <script> element.
std::string json_for_script(std::string_view json);

}  // namespace broadloom
