#include "bridges/mujoco/task_entry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "bridges/mujoco/task_envs.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/drawn_params.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/strata_formulas.h"

namespace broadloom::mujoco {
namespace {

// The parsed overrides of an environment.
struct ParsedOptions {
  ConfiguredTask task;
  std::vector<double> constants;  // of the physics, then of the task
  Strata strata;                  // over the constants
  Disturbance disturbance;
};

std::vector<double> constants_of(const ConfiguredTask& task) {
  std::vector<double> all(kPhysicsConstants);
  std::memcpy(all.data(), &task.model.physics, sizeof(PhysicsConstants));
  const std::vector<double> own = task.task->constants();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<ParamField> constant_fields(const Task& task) {
  std::vector<ParamField> all = fields_of_params<PhysicsConstants>();
  for (ParamField field : task.constant_fields()) {
    field.offset += sizeof(PhysicsConstants);
    all.push_back(std::move(field));
  }
  return all;
}

// The constants with all of a stratum's draws at their low ends, and at their high ends.
ConstantRange range_of(const ParsedOptions& parsed, const Stratum& stratum) {
  ConstantRange out{parsed.constants, parsed.constants};
  for (const StratumRange& range : stratum.ranges) {
    set_param(out.low.data(), range.offset, range.low);
    set_param(out.high.data(), range.offset, range.high);
  }
  return out;
}

// The range of the task's own constants over all strata.
ConstantRange own_range(const ParsedOptions& parsed) {
  const std::vector<Stratum>& strata = parsed.strata.all();
  ConstantRange all = strata.empty() ? ConstantRange{parsed.constants, parsed.constants}
                                     : range_of(parsed, strata.front());
  for (const Stratum& stratum : strata) {
    const ConstantRange one = range_of(parsed, stratum);
    for (std::size_t i = 0; i < all.low.size(); ++i) {
      all.low[i] = std::min(all.low[i], one.low[i]);
      all.high[i] = std::max(all.high[i], one.high[i]);
    }
  }
  for (auto* ends : {&all.low, &all.high})
    ends->erase(ends->begin(), ends->begin() + kPhysicsConstants);
  return all;
}

// Runs check(low, high) on the constants from options, and on each stratum's low and high ends.
template <class Check>
Status check_ends(const ParsedOptions& parsed, const Check& check) {
  BROADLOOM_TRY(check(parsed.constants.data(), parsed.constants.data()));
  for (const Stratum& stratum : parsed.strata.all()) {
    const ConstantRange ends = range_of(parsed, stratum);
    const Status fits = check(ends.low.data(), ends.high.data());
    if (!fits.ok()) return invalid("strata." + stratum.name + ": " + fits.message());
  }
  return {};
}

Result<ParsedOptions> asked_for(const TaskKind& kind, const Overrides& overrides) {
  Overrides own, strata_keys, disturbance;
  for (const auto& entry : overrides) {
    const bool disturbs = is_disturbance_key(entry.first);
    (disturbs ? disturbance : is_strata_key(entry.first) ? strata_keys : own).push_back(entry);
  }
  Result<ConfiguredTask> task = kind.configure(own);
  if (!task.ok()) return task.status();
  Result<Strata> strata =
      make_strata(strata_keys, constant_fields(*task.value().task), kind.facts.id);
  if (!strata.ok()) return strata.status();
  const Result<Disturbance> disturbed = make_disturbance(disturbance);
  if (!disturbed.ok()) return disturbed.status();
  std::vector<double> constants = constants_of(task.value());
  ParsedOptions parsed{task.take(), std::move(constants), strata.take(), disturbed.value()};
  const auto check = [&](const double* low, const double* high) -> Status {
    BROADLOOM_TRY(parsed.task.task->check_constants(low + kPhysicsConstants));
    return parsed.task.task->check_constants(high + kPhysicsConstants);
  };
  BROADLOOM_TRY(check_ends(parsed, check));
  return parsed;
}

// Whether a stratum or an option changes constants of the physics.
bool changes_physics(const ParsedOptions& parsed) {
  if (!(physics_of(parsed.constants.data()) == PhysicsConstants{})) return true;
  for (const Stratum& stratum : parsed.strata.all()) {
    for (const StratumRange& range : stratum.ranges) {
      if (range.offset < sizeof(PhysicsConstants)) return true;
    }
  }
  return false;
}

Result<WorldSetup> worlds_of(const ParsedOptions& parsed, const Model& model) {
  WorldSetup worlds{parsed.constants, parsed.strata, {}};
  if (!changes_physics(parsed)) return worlds;
  worlds.fields = PhysicsFields(model.get());
  const auto check = [&](const double* low, const double* high) {
    return worlds.fields.check(physics_of(low), physics_of(high));
  };
  BROADLOOM_TRY(check_ends(parsed, check));
  return worlds;
}

Sizes sizes_of(const mjModel& model) {
  return {static_cast<int>(model.nq), static_cast<int>(model.nv), static_cast<int>(model.nu),
          static_cast<int>(model.nbody)};
}

std::string words(const Sizes& sizes) {
  return fmt::format("{} positions, {} speeds, {} actuators and {} bodies", sizes.nq, sizes.nv,
                     sizes.nu, sizes.nbody);
}

// Checks a task's own model: with other sizes, the id would name another task.
Result<std::shared_ptr<Model>> model_of(const TaskKind& kind, const ConfiguredTask& task) {
  if (const auto found = library(); !found.ok()) return found.status();
  const std::string& file = task.model.xml_file;
  Result<std::shared_ptr<Model>> model = task.task->read(file);
  if (!model.ok()) return model;
  const Sizes sizes = sizes_of(model.value()->get());
  if (file == kind.default_file && !(sizes == kind.facts.sizes)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} has {}; expected {}, as in Gymnasium 1.4.0: install that version",
                              file, words(sizes), words(kind.facts.sizes)));
  }
  const Status bound = task.task->bind(*model.value());
  if (!bound.ok())
    return Status(bound.kind(), fmt::format("{} on {}: {}", kind.facts.id, file, bound.message()));
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

Space actions(int actuators, float limit) {
  const auto count = static_cast<std::size_t>(actuators);
  return Space::box(std::vector<float>(count, -limit), std::vector<float>(count, limit));
}

Space observations(int size) {
  const float infinity = std::numeric_limits<float>::infinity();
  return Space::box(std::vector<float>(static_cast<std::size_t>(size), -infinity),
                    std::vector<float>(static_cast<std::size_t>(size), infinity));
}

// model: null for the task's own model.
EnvSpec spec_of(const TaskKind& kind, const ParsedOptions& parsed, const Model* model) {
  const TaskFacts& facts = kind.facts;
  EnvSpec spec;
  spec.id = facts.id;
  const Sizes sizes = model == nullptr ? facts.sizes : sizes_of(model->get());
  const Task& task = *parsed.task.task;
  const bool of_controls = model != nullptr && !facts.makes_controls;
  spec.action = of_controls ? actions(model->get()) : actions(sizes.nu, facts.control_limit);
  spec.observation = observations(task.observation_size(sizes));
  if (const int size = task.critic_observation_size(sizes); size > 0)
    spec.critic_observation = observations(size);
  spec.max_episode_steps = facts.max_episode_steps;
  spec.has_reward_threshold = facts.reward_threshold.has_value();
  spec.reward_threshold = facts.reward_threshold.value_or(0.0);
  spec.reward_terms = task.reward_terms();
  spec.counts_reward_terms = true;
  spec.measures = task.measures();
  const std::string& file = parsed.task.model.xml_file;
  const std::string model_words =
      file == kind.default_file ? facts.own_model : std::filesystem::path(file).filename().string();
  spec.upstream =
      model_words.empty() ? facts.upstream : fmt::format("{}, on {}", facts.upstream, model_words);
  spec.summary = facts.summary;
  spec.end_reasons = facts.end_reasons;
  spec.end_reasons.insert(spec.end_reasons.end(), {"unstable", "time_limit"});
  spec.names_success = facts.names_success;
  for (const Stratum& stratum : parsed.strata.all()) spec.strata.push_back(stratum.name);
  task.describe(own_range(parsed), spec);
  if (model != nullptr) {
    spec.engine =
        fmt::format("MuJoCo {}, {} {}", model->library().version_string(),
                    std::filesystem::path(model->name()).filename().string(), model->text_hash());
  }
  return spec;
}

OnUnstable on_unstable(const std::string& word) {
  if (word == "stop") return OnUnstable::kStop;
  return word == "go_on" ? OnUnstable::kGoOn : OnUnstable::kReset;
}

Result<EnvSpec> make_spec(const TaskKind& kind, const Overrides& overrides) {
  const Result<ParsedOptions> parsed = asked_for(kind, overrides);
  if (!parsed.ok()) return parsed.status();
  std::shared_ptr<Model> model;
  if (parsed.value().task.model.xml_file != kind.default_file) {
    Result<std::shared_ptr<Model>> loaded = model_of(kind, parsed.value().task);
    if (!loaded.ok()) return loaded.status();
    model = loaded.take();
  }
  EnvSpec spec = spec_of(kind, parsed.value(), model.get());
  BROADLOOM_TRY(describe_disturbance(parsed.value().disturbance, spec));
  return spec;
}

Result<std::unique_ptr<VecEnv>> make_envs(const TaskKind& kind, const Overrides& overrides,
                                          const VecEnvOptions& options) {
  const Result<ParsedOptions> parsed = asked_for(kind, overrides);
  if (!parsed.ok()) return parsed.status();
  const ConfiguredTask& task = parsed.value().task;
  Result<std::shared_ptr<Model>> model = model_of(kind, task);
  if (!model.ok()) return model.status();
  EnvSpec spec = spec_of(kind, parsed.value(), model.value().get());
  BROADLOOM_TRY(check_curriculum(options.curriculum, spec, options.strata_sampling));
  Result<WorldSetup> worlds = worlds_of(parsed.value(), *model.value());
  if (!worlds.ok()) return worlds.status();
  const auto setup = std::make_shared<TaskSetup>(
      TaskSetup{model.take(), task.task, std::move(spec), worlds.take(), kind.facts.view,
                task.model.frame_skip, on_unstable(task.model.on_unstable)});
  Result<std::unique_ptr<VecEnv>> envs = TaskEnvs::make(setup, options);
  const Disturbance& disturbance = parsed.value().disturbance;
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
