// Checks paths that should name a run or checkpoint. Errors say what a path is, and what to name
// instead.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {

// kNotFound unless the path is the folder of a run.
Status check_run_folder(const std::string& path);

// Like find_checkpoint, but also kNotFound for files that are not checkpoints and folders that are
// not runs.
Result<FoundCheckpoint> find_policy(const std::string& run_or_checkpoint);

}  // namespace broadloom
