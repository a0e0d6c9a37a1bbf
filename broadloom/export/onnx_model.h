// A policy as an ONNX model: a serialised ModelProto (onnx.proto3), written without a library.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// Old enough for every runtime, and the first that has layer normalisation.
inline constexpr int kOnnxOpset = 17;

// Input and outputs are those of the graph, with rows [N, ...]; `about` is its metadata. kIo where
// it would be larger than the 2 GiB of a message.
Result<std::string> onnx_model(const PolicyGraph& graph);

}  // namespace broadloom
