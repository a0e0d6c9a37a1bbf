// The values of the key `algorithm`. Their entries are in broadloom/setup/algorithms.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

// The library's algorithms, then the registered ones in order of registration.
std::vector<std::string> algorithm_names();

// Whether it is one of the library's algorithms, whose keys are known (broadloom/config/needs.h).
bool is_built_in_algorithm(std::string_view name);

// Whether each gradient step of the algorithm takes the next gradient_length steps of all
// environments (AlgorithmEntry::learns_in_order): its minibatches then have another size.
bool learns_in_order(std::string_view name);

// Adds a name; false if it is taken. register_algorithm() calls it. Any thread may call it.
bool add_algorithm_name(const std::string& name, bool learns_in_order);

}  // namespace broadloom
