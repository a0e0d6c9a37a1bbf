// Tasks of plug-ins, as the registry has environments: docs/plugins.md.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom {

// Of an id "plugin:<file>:<task>": loads the library, once a process. Errors as PluginTask::open.
Result<EnvEntry> open_plugin(const std::string& id);

}  // namespace broadloom
