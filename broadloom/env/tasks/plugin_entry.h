// Registry entries of plug-in tasks (docs/plugins.md).
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom {

// Makes an entry for "plugin:<file>:<task>". Loads the library once per process. Errors of
// PluginTask::open().
Result<EnvEntry> open_plugin(const std::string& id);

}  // namespace broadloom
