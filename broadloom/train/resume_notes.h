// Notes in the manifest of a run that goes on with another device, engine, plug-in or bits.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/train/run.h"
#include "broadloom/train/started_run.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

std::string device_of(const Trainer& trainer);  // "": the CPU trains

// Change the manifest in memory; true if they did. note_bits: common bits became other bits.
bool note_device(StartedRun& run, const Trainer& trainer);
bool note_engine(StartedRun& run, const Trainer& trainer, const RunHooks& hooks);
bool note_bits(StartedRun& run, const RunHooks& hooks);

// Write the manifest, too: the step at which unsaved episodes were lost, and a changed plug-in.
Status record_new_episodes(StartedRun& run, const Trainer& trainer, const RunHooks& hooks);
Status record_plugin(StartedRun& run, const Trainer& trainer, const RunHooks& hooks);

}  // namespace broadloom
