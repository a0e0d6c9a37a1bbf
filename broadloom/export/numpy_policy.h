// Writes a policy as an .npz file: its arrays, and its operations as JSON. docs/formats/export.md
// describes it.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"
#include "broadloom/record/json.h"

namespace broadloom {

// Errors: those of npz_file.
Result<std::string> numpy_policy(const PolicyGraph& graph);

// The operations as JSON, without the numbers of arrays.
Json graph_json(const PolicyGraph& graph);

}  // namespace broadloom
