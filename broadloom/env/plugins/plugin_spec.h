// What a plug-in says of a task, as the library says it.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/plugins/plugin_options.h"
#include "broadloom/env/spec.h"

namespace broadloom {

struct PluginSpec {
  EnvSpec spec;
  std::size_t state_size = 0;  // bytes; 0: it cannot be saved
  std::uint32_t flags = 0;     // broadloom_flags

  bool has(broadloom_flags flag) const { return (flags & flag) != 0; }
};

// id: the whole one. kInvalidConfig: what describe() refuses, in its words; a space, state or
// function that is not as broadloom_plugin.h asks.
Result<PluginSpec> describe_plugin_task(const std::string& id, const PluginLibrary& library,
                                        const broadloom_task& task, const PluginValues& options);

// What a call of the plug-in gave: ok, or its words with who said them.
Status plugin_status(int result, const char* error, const std::string& id, const char* function);

}  // namespace broadloom
