#include "bridges/mujoco/task_entry.h"

#include <fmt/core.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "bridges/mujoco/task_envs.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"

namespace broadloom::mujoco {
namespace {

// The overrides of an environment, sorted.
struct Asked {
  ConfiguredTask task;
  Disturbance disturbance;
};

Result<Asked> asked_for(const TaskKind& kind, const Overrides& overrides) {
  Overrides own, strata, disturbance;
  for (const auto& entry : overrides) {
    const bool disturbs = is_disturbance_key(entry.first);
    (disturbs ? disturbance : is_strata_key(entry.first) ? strata : own).push_back(entry);
  }
  const Result<Strata> none = make_strata(strata, {}, kind.facts.id);
  if (!strata.empty() && !none.ok()) return none.status();
  Result<ConfiguredTask> task = kind.configure(own);
  if (!task.ok()) return task.status();
  const Result<Disturbance> disturbed = make_disturbance(disturbance);
  if (!disturbed.ok()) return disturbed.status();
  return Asked{task.take(), disturbed.value()};
}

// As Gymnasium's: a path, or the name of one of its own files.
Result<std::string> path_of(const std::string& file) {
  if (file.starts_with('/') || file.starts_with('.')) return file;
  if (!file.starts_with('~')) return find_asset(file);
  const char* home = std::getenv("HOME");
  return (home == nullptr ? "" : home) + file.substr(1);
}

Sizes sizes_of(const mjModel& model) {
  return {static_cast<int>(model.nq), static_cast<int>(model.nv), static_cast<int>(model.nu),
          static_cast<int>(model.nbody)};
}

std::string words(const Sizes& sizes) {
  return fmt::format("{} positions, {} speeds, {} actuators and {} bodies", sizes.nq, sizes.nv,
                     sizes.nu, sizes.nbody);
}

// A model that belongs to the task and is another one would be another task under its name.
Result<std::shared_ptr<Model>> model_of(const TaskKind& kind, const ConfiguredTask& task) {
  if (const auto found = library(); !found.ok()) return found.status();
  const std::string& file = task.model.xml_file;
  const Result<std::string> path = path_of(file);
  if (!path.ok()) return path.status();
  Result<std::shared_ptr<Model>> model = Model::load(path.value());
  if (!model.ok()) return model;
  const Sizes sizes = sizes_of(model.value()->get());
  if (file == kind.default_file && !(sizes == kind.facts.sizes)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} has {}; expected {}, as in Gymnasium 1.4.0: install that version",
                              path.value(), words(sizes), words(kind.facts.sizes)));
  }
  const Status bound = task.task->bind(*model.value());
  if (!bound.ok())
    return Status(bound.kind(),
                  fmt::format("{} on {}: {}", kind.facts.id, path.value(), bound.message()));
  return model;
}

Space actions(const mjModel& model) {
  std::vector<float> low, high;
  for (int a = 0; a < model.nu; ++a) {
    const bool limited = model.actuator_ctrllimited[a] != 0;
    const float infinity = std::numeric_limits<float>::infinity();
    low.push_back(limited ? static_cast<float>(model.actuator_ctrlrange[2 * a]) : -infinity);
    high.push_back(limited ? static_cast<float>(model.actuator_ctrlrange[2 * a + 1]) : infinity);
  }
  return Space::box(std::move(low), std::move(high));
}

Space actions(const TaskFacts& facts) {
  const auto count = static_cast<std::size_t>(facts.sizes.nu);
  return Space::box(std::vector<float>(count, -facts.control_limit),
                    std::vector<float>(count, facts.control_limit));
}

Space observations(int size) {
  const float infinity = std::numeric_limits<float>::infinity();
  return Space::box(std::vector<float>(static_cast<std::size_t>(size), -infinity),
                    std::vector<float>(static_cast<std::size_t>(size), infinity));
}

// model: null for the one that the task is made for.
EnvSpec spec_of(const TaskKind& kind, const Asked& asked, const Model* model) {
  const TaskFacts& facts = kind.facts;
  EnvSpec spec;
  spec.id = facts.id;
  spec.action = model == nullptr ? actions(facts) : actions(model->get());
  const Sizes sizes = model == nullptr ? facts.sizes : sizes_of(model->get());
  spec.observation = observations(asked.task.task->observation_size(sizes));
  spec.max_episode_steps = facts.max_episode_steps;
  spec.has_reward_threshold = facts.reward_threshold.has_value();
  spec.reward_threshold = facts.reward_threshold.value_or(0.0);
  spec.reward_terms = asked.task.task->reward_terms();
  spec.upstream = "Gymnasium 1.4.0 mujoco/" + facts.upstream;
  spec.summary = facts.summary;
  spec.end_reasons = facts.end_reasons;
  spec.end_reasons.insert(spec.end_reasons.end(), {"unstable", "time_limit"});
  if (model != nullptr) {
    spec.engine = fmt::format("MuJoCo {}, {} {}", model->library().version_string(), model->name(),
                              model->text_hash());
  }
  return spec;
}

OnUnstable on_unstable(const std::string& word) {
  if (word == "stop") return OnUnstable::kStop;
  return word == "go_on" ? OnUnstable::kGoOn : OnUnstable::kReset;
}

Result<EnvSpec> make_spec(const TaskKind& kind, const Overrides& overrides) {
  const Result<Asked> asked = asked_for(kind, overrides);
  if (!asked.ok()) return asked.status();
  std::shared_ptr<Model> model;
  if (asked.value().task.model.xml_file != kind.default_file) {
    Result<std::shared_ptr<Model>> loaded = model_of(kind, asked.value().task);
    if (!loaded.ok()) return loaded.status();
    model = loaded.take();
  }
  EnvSpec spec = spec_of(kind, asked.value(), model.get());
  BROADLOOM_TRY(describe_disturbance(asked.value().disturbance, spec));
  return spec;
}

Result<std::unique_ptr<VecEnv>> make_envs(const TaskKind& kind, const Overrides& overrides,
                                          const VecEnvOptions& options) {
  const Result<Asked> asked = asked_for(kind, overrides);
  if (!asked.ok()) return asked.status();
  const ConfiguredTask& task = asked.value().task;
  Result<std::shared_ptr<Model>> model = model_of(kind, task);
  if (!model.ok()) return model.status();
  EnvSpec spec = spec_of(kind, asked.value(), model.value().get());
  BROADLOOM_TRY(check_curriculum(options.curriculum, spec, options.strata_sampling));
  const auto setup = std::make_shared<TaskSetup>(TaskSetup{model.take(), task.task, std::move(spec),
                                                           kind.facts.view, task.model.frame_skip,
                                                           on_unstable(task.model.on_unstable)});
  Result<std::unique_ptr<VecEnv>> envs = TaskEnvs::make(setup, options);
  const Disturbance& disturbance = asked.value().disturbance;
  if (!envs.ok() || !disturbance.any()) return envs;
  EnvSpec disturbed = envs.value()->spec();
  BROADLOOM_TRY(describe_disturbance(disturbance, disturbed));
  return disturb(envs.take(), disturbance, options);
}

}  // namespace

EnvEntry task_entry(TaskKind kind) {
  const auto shared = std::make_shared<const TaskKind>(std::move(kind));
  EnvEntry entry;
  entry.make_spec = [shared](const Overrides& overrides) { return make_spec(*shared, overrides); };
  entry.make = [shared](const Overrides& overrides, const VecEnvOptions& options) {
    return make_envs(*shared, overrides, options);
  };
  entry.options = shared->options;
  entry.spec = entry.make_spec({}).take();
  return entry;
}

}  // namespace broadloom::mujoco
