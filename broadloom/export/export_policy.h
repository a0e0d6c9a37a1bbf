// A policy as files that run without Broadloom: what `broadloom export` calls. docs/export.md says
// what they are for, docs/formats/export.md what is in them.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/export/policy_graph.h"

namespace broadloom {

struct ExportOptions {
  std::string format;      // "onnx", "torch" or "npz"; "": by the name of `out`, or onnx
  std::string out;         // ends in .onnx, .py or .npz; "": policy.onnx, ... in the run's folder
  bool with_value = true;  // what the critic makes of the observation, too
  bool force = false;      // replaces what is there
};

struct ExportedPolicy {
  std::string format;
  std::vector<std::string> files;  // as they were written, the parity file last
  PolicyGraph graph;               // that they are of
  int rows = 0;                    // of the parity file
  double difference = 0.0;         // as in Parity
  double tolerance = 0.0;
  std::vector<std::string> notes;  // sentences on what a user should know of it
};

// run_or_checkpoint: a run's folder, whose newest checkpoint is exported, or a checkpoint file; in
// float32, whatever it was trained in. Writes nothing unless the operations, worked out by
// themselves, give what the network does. kInvalidConfig, kIo where a file is there, and the errors
// of LoadedPolicy::load() and play_parity().
Result<ExportedPolicy> export_policy(const std::string& run_or_checkpoint,
                                     const ExportOptions& options);

}  // namespace broadloom
