#include "broadloom/env/tasks/simulator_entry.h"

#include <utility>

#include "broadloom/env/disturbance.h"

namespace broadloom {
namespace {

// Options of the simulator's own, and what is put around it.
struct Asked {
  Overrides own;
  Disturbance disturbance;
};

Result<Asked> split(const Overrides& overrides) {
  Asked out;
  Overrides disturbances;
  for (const auto& option : overrides) {
    (is_disturbance_key(option.first) ? disturbances : out.own).push_back(option);
  }
  Result<Disturbance> disturbance = make_disturbance(disturbances);
  if (!disturbance.ok()) return disturbance.status();
  out.disturbance = disturbance.take();
  return out;
}

Status refuse_all(const Overrides& own) {
  return own.empty() ? Status() : unknown_key_error("option", own.front().first, {});
}

EnvEntry entry_with(const SimulatorWithOptions& simulator) {
  EnvEntry entry;
  entry.options = simulator.options;
  entry.make_spec = [simulator](const Overrides& overrides) -> Result<EnvSpec> {
    const Result<Asked> asked = split(overrides);
    if (!asked.ok()) return asked.status();
    Result<EnvSpec> spec = simulator.spec(asked.value().own);
    if (!spec.ok()) return spec;
    BROADLOOM_TRY(describe_disturbance(asked.value().disturbance, spec.value()));
    return spec;
  };
  if (!simulator.make) return entry;  // without a factory, which the registry refuses
  entry.make = [make_spec = entry.make_spec, simulator](
                   const Overrides& overrides,
                   const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    const Result<EnvSpec> allowed = make_spec(overrides);
    if (!allowed.ok()) return allowed.status();
    const Asked asked = split(overrides).take();
    Result<std::unique_ptr<VecEnv>> envs = simulator.make(asked.own, options);
    if (!envs.ok() || envs.value() == nullptr || !asked.disturbance.any()) return envs;
    return disturb(envs.take(), asked.disturbance, options);
  };
  return entry;
}

}  // namespace

EnvEntry simulator_entry(const std::string& id, const SimulatorWithOptions& simulator) {
  EnvEntry entry = entry_with(simulator);
  Result<EnvSpec> spec = simulator.spec({});
  entry.wants_options = !spec.ok();
  if (spec.ok()) {
    entry.spec = spec.take();
  } else {
    entry.spec.id = id;
    entry.spec.summary = "Wants options: " + spec.status().message();
  }
  return entry;
}

EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make) {
  SimulatorWithOptions simulator;
  simulator.spec = [spec](const Overrides& own) -> Result<EnvSpec> {
    BROADLOOM_TRY(refuse_all(own));
    return spec;
  };
  if (make) {
    simulator.make = [make](const Overrides&, const VecEnvOptions& options) {
      return make(options);
    };
  }
  simulator.options = [] { return std::vector<FieldInfo>(); };
  EnvEntry entry = entry_with(simulator);
  entry.spec = spec;
  return entry;
}

}  // namespace broadloom
