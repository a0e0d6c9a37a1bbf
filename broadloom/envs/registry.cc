#include "broadloom/envs/registry.h"

#include <fmt/core.h>

#include <string>

#include "broadloom/envs/env_entry.h"

namespace broadloom {

// One line an environment.
constexpr EnvEntry (*kEntries[])() = {
    entry_of<struct CartPole>,      entry_of<struct Acrobot>,
    entry_of<struct MountainCar>,   entry_of<struct MountainCarContinuous>,
    entry_of<struct Pendulum>,      entry_of<struct FrozenLake>,
    entry_of<struct FrozenLake8x8>, entry_of<struct CliffWalking>,
    entry_of<struct Taxi>,
};

namespace {

const std::vector<EnvEntry>& registry() {
  static const std::vector<EnvEntry> entries = [] {
    std::vector<EnvEntry> list;
    for (const auto& entry : kEntries) list.push_back(entry());
    return list;
  }();
  return entries;
}

Result<const EnvEntry*> find(const std::string& id) {
  std::vector<std::string> ids;
  for (const EnvEntry& entry : registry()) {
    if (entry.spec.id == id) return &entry;
    ids.push_back(entry.spec.id);
  }
  Status status = unknown_key_error("environment", id, ids);
  return Status(ErrorKind::kNotFound,
                status.message() + "; `broadloom env list` names all of them");
}

}  // namespace

Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options) {
  if (options.num_envs < 1) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("num_envs is {}; expected at least 1", options.num_envs));
  }
  if (options.max_episode_steps < 0) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("max_episode_steps is {}; expected at least 0 (0: the environment's own)",
                    options.max_episode_steps));
  }
  if (options.seed_families < 0 || options.num_envs % options.families() != 0) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("seed_families is {}; expected a divisor of num_envs, which is {}, or 0 for as "
                    "many families as environments",
                    options.seed_families, options.num_envs));
  }
  Result<const EnvEntry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  return entry.value()->make(env_options, options);
}

std::vector<EnvSpec> list_envs() {
  std::vector<EnvSpec> specs;
  for (const EnvEntry& entry : registry()) specs.push_back(entry.spec);
  return specs;
}

Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps) {
  Result<const EnvEntry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  Result<EnvSpec> spec = entry.value()->make_spec(env_options);
  if (spec.ok()) spec.value().set_time_limit(max_episode_steps);
  return spec;
}

Result<std::vector<FieldInfo>> list_env_options(const std::string& id) {
  Result<const EnvEntry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  return entry.value()->options();
}

Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options) {
  Result<const EnvEntry*> found = find(id);
  if (!found.ok()) return found.status();
  if (found.value()->table) return found.value()->table(env_options);
  std::string tabular;
  for (const EnvEntry& entry : registry()) {
    if (!entry.table) continue;
    tabular += (tabular.empty() ? "" : ", ") + entry.spec.id;
  }
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("{} is not tabular; expected one of {}", id, tabular));
}

}  // namespace broadloom
