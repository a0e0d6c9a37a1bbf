// How an action's environment counts its choices.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/env/spec.h"

namespace broadloom {

// The first choice of each number of an action as its environment counts, in the order of rows; {}
// if all count from 0.
std::vector<std::int64_t> first_choices(const Space& action);

}  // namespace broadloom
