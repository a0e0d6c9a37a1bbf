// What the registry knows of a task on a MuJoCo model.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bridges/mujoco/options.h"
#include "bridges/mujoco/task.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom::mujoco {

// A task as options have made it.
struct ConfiguredTask {
  std::shared_ptr<Task> task;
  ModelOptions model;
};

struct TaskKind {
  TaskFacts facts;
  std::string default_file;
  std::function<Result<ConfiguredTask>(const Overrides&)> configure;
  std::function<std::vector<FieldInfo>()> options;
};

// Options of the task and of its model, strata over their constants, disturbances. The model is
// read when environments are made, or for a spec where options name another file: listing
// environments asks for no library.
EnvEntry task_entry(TaskKind kind);

// Of a class with facts(), Options (a ModelOptions), a constructor from these and, where options
// have to go together, check() of them.
template <class T>
EnvEntry task_entry() {
  using Options = typename T::Options;
  const auto configure = [](const Overrides& overrides) -> Result<ConfiguredTask> {
    Options options;
    for (const auto& [key, text] : overrides) {
      BROADLOOM_TRY(set_field(options, key, text, "option of " + T::facts().id));
    }
    if constexpr (requires { T::check(options); }) BROADLOOM_TRY(T::check(options));
    return ConfiguredTask{std::make_shared<T>(options), options};
  };
  return task_entry(
      {T::facts(), Options().xml_file, configure, [] { return list_fields(Options()); }});
}

}  // namespace broadloom::mujoco
