// What the operations of a policy come to, worked out slowly, in double precision, by their
// formulas alone: what exported files are held against.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "broadloom/export/policy_graph.h"

namespace broadloom {

// Of `rows` observations [rows, D] as the environment shows them (an index, where they are
// Discrete): every value by its name, [rows, of its shape], also those on the way. Its cost is that
// of as many multiplications in plain loops.
std::map<std::string, std::vector<double>> replay(const PolicyGraph& graph,
                                                  const std::vector<double>& observations,
                                                  int rows);

}  // namespace broadloom
