// What a run was started as: its folder, its manifest, and the config that the manifest holds.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {

struct StartedRun {
  RunFolder folder;
  Manifest manifest;
  Config config;
};

// kNotFound where there is no run; kIo and kCorrupt of its manifest; the errors of resolve_config.
Result<StartedRun> open_started_run(const std::string& run_dir);

// What the record says of a run's bits: "common" where every processor and device would give the
// same, "own" where isa, precision or simulator make them its own, "none" where they do not come
// again.
std::string bits_of(const Config& config, const std::string& isa, const VecEnvTraits& simulator);

}  // namespace broadloom
