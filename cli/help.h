// Lines of a help page, wrapped to its width.
#pragma once

#include <string>

namespace broadloom::cli {

// Puts `name` in the left column and `text`, wrapped, in the right one.
std::string two_columns(const std::string& name, const std::string& text);

}  // namespace broadloom::cli
