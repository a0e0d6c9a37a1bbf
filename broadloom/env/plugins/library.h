// A shared library with simulators in it, found, loaded and held to broadloom_plugin.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/plugins/broadloom_plugin.h"

namespace broadloom {

// The two parts of "plugin:<file>:<task>", as an id names a task of a plug-in.
struct PluginId {
  std::string file, task;
};
inline constexpr std::string_view kPluginPrefix = "plugin:";

// Both parts as they stand; the task is empty where the id names none.
PluginId split_plugin_id(const std::string& id);

// Loaded once a process, and never unloaded: functions of it may be anywhere.
struct PluginLibrary {
  std::string file;  // as ids name it
  std::string path;  // where it was found
  std::string hash;  // of its bytes, as core/hash.h has it
  const broadloom_plugin* plugin = nullptr;

  // kNotFound, with the tasks that there are, the nearest first named.
  Result<const broadloom_task*> task(const std::string& id) const;
};

// kNotFound: no such file, with the places that were looked at. kInvalidConfig: not allowed
// (allowed_code.h), no library, no broadloom_get_plugin(), another ABI, or a table that is none.
Result<const PluginLibrary*> open_plugin_library(const std::string& file);

}  // namespace broadloom
