// Finds, loads and checks a shared library of simulators (broadloom_plugin.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/plugins/broadloom_plugin.h"

namespace broadloom {

// The two parts of an id "plugin:<file>:<task>".
struct PluginId {
  std::string file, task;
};
inline constexpr std::string_view kPluginPrefix = "plugin:";

// Splits an id. The task is empty if the id names none.
PluginId split_plugin_id(const std::string& id);

// A loaded library. It is loaded once per process and never unloaded, since code may still use its
// functions.
struct PluginLibrary {
  std::string file;  // as named in ids
  std::string path;  // where it was found, absolute
  std::string hash;  // hash of its bytes, see core/hash.h
  const broadloom_plugin* plugin = nullptr;

  // Finds a task. kNotFound lists the tasks and suggests the nearest id.
  Result<const broadloom_task*> task(const std::string& id) const;
};

// Loads a library. kNotFound: no such file; lists the searched places. kInvalidConfig: not allowed
// (allowed_code.h), not a library, no broadloom_get_plugin(), another ABI, or an invalid table.
Result<const PluginLibrary*> open_plugin_library(const std::string& file);

}  // namespace broadloom
