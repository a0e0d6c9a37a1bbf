// Writes a policy as a PyTorch module: a small Python file with named layers, and a state dict.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// A Python file that defines `Policy(nn.Module)` and `load()` and needs only torch. Its state dict
// has the names and shapes of the graph's arrays.
std::string torch_module(const PolicyGraph& graph);

// Views of the graph's arrays, for write_safetensors().
std::vector<TensorRef> state_dict(PolicyGraph& graph);

}  // namespace broadloom
