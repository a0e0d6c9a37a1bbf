// A policy as an .npz file: its arrays, and the operations as JSON. docs/formats/export.md has the
// page from which it is read.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"
#include "broadloom/record/json.h"

namespace broadloom {

// Errors: npz_file's.
Result<std::string> numpy_policy(const PolicyGraph& graph);

// The operations, without the arrays' numbers.
Json graph_json(const PolicyGraph& graph);

}  // namespace broadloom
