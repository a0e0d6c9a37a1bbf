// A plug-in's description of a task, as an EnvSpec.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/plugins/plugin_options.h"
#include "broadloom/env/spec.h"

namespace broadloom {

struct PluginSpec {
  EnvSpec spec;
  std::size_t state_size = 0;  // bytes; 0: cannot be saved
  std::uint32_t flags = 0;     // broadloom_flags

  bool has(broadloom_flags flag) const { return (flags & flag) != 0; }
};

// Calls describe() and checks the result. id: "plugin:<file>:<task>". kInvalidConfig: describe()
// refused, with its message; or a space, state or function violates broadloom_plugin.h.
Result<PluginSpec> describe_plugin_task(const std::string& id, const PluginLibrary& library,
                                        const broadloom_task& task, const PluginValues& options);

// The result of a plug-in's function as a Status, with its message, id and function name.
Status plugin_status(int result, const char* error, const std::string& id, const char* function);

}  // namespace broadloom
