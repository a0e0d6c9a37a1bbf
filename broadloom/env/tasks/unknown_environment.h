// The error for an unknown id.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// kNotFound, with the nearest known id, or with the way to get such an environment.
Status unknown_environment(const std::string& id, const std::vector<std::string>& known);

// kNotFound for an environment of which only a checkpoint's description is known.
Status not_registered(const std::string& id);

}  // namespace broadloom
