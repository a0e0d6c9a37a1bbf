// Evaluates a policy's operations slowly, in double precision, by their formulas. Exported files
// are compared with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "broadloom/export/policy_graph.h"

namespace broadloom {

// observations: `rows` rows [rows, D] as the environment gives them (an index if Discrete). masks:
// [rows, M] of a graph with mask_size M, 0 for invalid actions; else empty. states: [rows, S]
// before these rows, of a graph with state_size S; else empty. Returns every value by name, [rows,
// shape], including intermediate ones. Cost: all multiplications in plain loops.
std::map<std::string, std::vector<double>> replay(const PolicyGraph& graph,
                                                  const std::vector<double>& observations, int rows,
                                                  const std::vector<double>& masks = {},
                                                  const std::vector<double>& states = {});

}  // namespace broadloom
