#include "broadloom/env/plugins/plugin_task.h"

#include <utility>

#include "broadloom/env/plugins/plugin_envs.h"
#include "broadloom/env/plugins/plugin_options.h"
#include "broadloom/env/plugins/plugin_spec.h"

namespace broadloom {

Result<PluginTask> PluginTask::open(const std::string& id) {
  const PluginId parts = split_plugin_id(id);
  const Result<const PluginLibrary*> library = open_plugin_library(parts.file);
  if (!library.ok()) return library.status();
  const Result<const broadloom_task*> task = library.value()->task(parts.task);
  if (!task.ok()) return task.status();
  PluginTask out;
  out.id_ = id;
  out.library_ = library.value();
  out.task_ = task.value();
  return out;
}

Result<EnvSpec> PluginTask::spec(const Overrides& options) const {
  const Result<PluginValues> values = read_plugin_options(*task_, options);
  if (!values.ok()) return values.status();
  Result<PluginSpec> described = describe_plugin_task(id_, *library_, *task_, values.value());
  if (!described.ok()) return described.status();
  return std::move(described.value().spec);
}

Result<std::unique_ptr<VecEnv>> PluginTask::make(const Overrides& options,
                                                 const VecEnvOptions& requested) const {
  const Result<PluginValues> values = read_plugin_options(*task_, options);
  if (!values.ok()) return values.status();
  Result<PluginSpec> described = describe_plugin_task(id_, *library_, *task_, values.value());
  if (!described.ok()) return described.status();
  return PluginEnvs::make(*library_, *task_, values.value(), described.take(), requested);
}

std::vector<FieldInfo> PluginTask::options() const { return list_plugin_options(*task_); }

}  // namespace broadloom
