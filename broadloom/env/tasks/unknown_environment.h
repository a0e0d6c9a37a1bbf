// What is said of an id that names no environment of this program.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// kNotFound, with the nearest of the known ids, or where such an environment may be had.
Status unknown_environment(const std::string& id, const std::vector<std::string>& known);

}  // namespace broadloom
