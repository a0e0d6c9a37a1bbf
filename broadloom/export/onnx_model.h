// Writes a policy as an ONNX model: a serialised ModelProto (onnx.proto3), without a library.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

// The first opset with layer normalisation, which every runtime supports.
inline constexpr int kOnnxOpset = 17;

// Input and outputs are the graph's, with rows [N, ...]; `about` becomes metadata. kIo if the model
// would exceed 2 GiB, the limit of a message.
Result<std::string> onnx_model(const PolicyGraph& graph);

}  // namespace broadloom
