// Flags of other programs for which Broadloom has no key.
#pragma once

#include <string>

namespace broadloom::cli {

// Says what to do instead of using this flag; "" for an unknown flag. name: without leading dashes.
// Hyphens, letter case and a leading "no" make no difference.
std::string foreign_flag_hint(const std::string& name);

}  // namespace broadloom::cli
