// The values that the key `algorithm` may have. Their entries are in broadloom/setup/algorithms.h.
#pragma once

#include <string>
#include <vector>

namespace broadloom {

// The library's algorithms, then the registered ones in the order in which they came.
std::vector<std::string> algorithm_names();

// Adds a name; false if it is taken. register_algorithm() calls it. Any thread may call it.
bool add_algorithm_name(const std::string& name);

}  // namespace broadloom
