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
  // id: "plugin:<file>:<task>". Errors as open_plugin_library, and kNotFound for an unknown task.
  static Result<PluginTask> open(const std::string& id);

  // What describe() says of the task under these options, checked. kInvalidConfig: an option that
  // there is not or that is refused, with the plug-in's words; a spec that is none.
  Result<EnvSpec> spec(const Overrides& options) const;
  // Errors as spec(), and the plug-in's own.
  Result<std::unique_ptr<VecEnv>> make(const Overrides& options, const VecEnvOptions& asked) const;
  std::vector<FieldInfo> options() const;

 private:
  std::string id_;
  const PluginLibrary* library_ = nullptr;
  const broadloom_task* task_ = nullptr;
};

}  // namespace broadloom
