#include "broadloom/env/tasks/plugin_entry.h"

#include "broadloom/env/plugins/plugin_task.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {

Result<EnvEntry> open_plugin(const std::string& id) {
  const Result<PluginTask> opened = PluginTask::open(id);
  if (!opened.ok()) return opened.status();
  const PluginTask& task = opened.value();
  SimulatorWithOptions simulator;
  simulator.spec = [task](const Overrides& own) { return task.spec(own); };
  simulator.make = [task](const Overrides& own, const VecEnvOptions& options) {
    return task.make(own, options);
  };
  simulator.options = [task] { return task.options(); };
  return simulator_entry(id, simulator);
}

}  // namespace broadloom
