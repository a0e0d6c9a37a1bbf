// Writes a policy as C++17: one header with its parameters as arrays, and a program that compares
// it with the recorded states. The header allocates and throws nothing and needs only <array>,
// <cmath> and <cstddef>, so that a robot's own computer can compile it.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/export/parity.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// kInvalidConfig unless the name is an identifier, or several with "::" between them.
Status check_cpp_namespace(const std::string& name);

// graph: without the critic's values, which a robot does not need. cpp_namespace: of the header's
// names, a valid one. The computation is in float32; docs/formats/export.md has the formulas.
std::string cpp_header(const PolicyGraph& graph, const std::string& cpp_namespace);

// A program that plays the parity's states by the header named `header`, prints the largest
// difference, and ends with 1 if it exceeds the parity's tolerance.
std::string cpp_parity_program(const PolicyGraph& graph, const Parity& parity,
                               const std::string& cpp_namespace, const std::string& header);

}  // namespace broadloom
