// Exports a policy as files that run without Broadloom, as `broadloom export` does. docs/export.md
// shows their use, docs/formats/export.md their contents.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

struct ExportOptions {
  std::string format;  // "onnx", "torch", "npz" or "cpp"; "": from the name of `out`, or onnx
  std::string out;     // ends in .onnx, .py, .npz or .h; "": policy.onnx, ... in the run's folder
  bool with_value = true;     // also exports the critic's values; "cpp" never does
  bool force = false;         // replaces existing files
  std::string cpp_namespace;  // of "cpp"; "": policy
};

struct ExportedPolicy {
  std::string format;
  std::vector<std::string> files;  // in the order of writing, the parity file last
  PolicyGraph graph;               // in these files
  int rows = 0;                    // of the parity file
  double difference = 0.0;         // as in Parity
  double tolerance = 0.0;
  std::vector<std::string> notes;  // sentences for the user
};

// run_or_checkpoint: a run's folder, whose newest checkpoint is exported, or a checkpoint file. The
// files are in float32, even if the run trained in another precision. Writes nothing unless the
// exported operations reproduce the network's outputs. kInvalidConfig, kIo if a file exists, and
// the errors of LoadedPolicy::load() and play_parity().
Result<ExportedPolicy> export_policy(const std::string& run_or_checkpoint,
                                     const ExportOptions& options);

}  // namespace broadloom
