// Registry entries of tasks on MuJoCo models.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bridges/mujoco/options.h"
#include "bridges/mujoco/task.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom::mujoco {

// A task configured by options.
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

// An entry with options of the task and its model, strata over their constants, and disturbances.
// The model is read to make environments, or for a spec with another model file. So listing
// environments needs no library.
EnvEntry task_entry(TaskKind kind);

// T has facts(), Options (a ModelOptions), a constructor from Options, and check(Options) if
// options can conflict.
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
