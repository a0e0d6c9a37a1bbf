// Paths that people name where a run or a checkpoint is expected: what is something else is refused
// by what it is, with what to name instead.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {

// kNotFound unless the path is the folder of a run.
Status check_run_folder(const std::string& path);

// As find_checkpoint, and kNotFound for files that are no checkpoints, whatever their names, and
// for folders that are no runs.
Result<FoundCheckpoint> find_policy(const std::string& run_or_checkpoint);

}  // namespace broadloom
