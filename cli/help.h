// Lines of help pages, wrapped at the width of a page.
#pragma once

#include <string>

namespace broadloom::cli {

// `name` in the left column, `text` wrapped in the right one.
std::string two_columns(const std::string& name, const std::string& text);

}  // namespace broadloom::cli
