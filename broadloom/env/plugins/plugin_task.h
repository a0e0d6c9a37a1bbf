// A task of a plug-in: its spec under given options, and environments of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class PluginTask {
 public:
  PluginTask() = default;
  // id: "plugin:<file>:<task>". Errors of open_plugin_library(); kNotFound for an unknown task.
  static Result<PluginTask> open(const std::string& id);

  // The checked spec of the task under these options. kInvalidConfig: an unknown option, a refused
  // one (with the plug-in's message), or an invalid spec.
  Result<EnvSpec> spec(const Overrides& options) const;
  // Makes environments. Errors of spec(), and the plug-in's own.
  Result<std::unique_ptr<VecEnv>> make(const Overrides& options,
                                       const VecEnvOptions& requested) const;
  std::vector<FieldInfo> options() const;

 private:
  std::string id_;
  const PluginLibrary* library_ = nullptr;
  const broadloom_task* task_ = nullptr;
};

}  // namespace broadloom
