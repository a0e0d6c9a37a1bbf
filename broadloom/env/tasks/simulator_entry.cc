#include "broadloom/env/tasks/simulator_entry.h"

#include <utility>

#include "broadloom/env/disturbance.h"

namespace broadloom {
namespace {

// Options, split into the simulator's own and the disturbance around it.
struct SplitOptions {
  Overrides own;
  Disturbance disturbance;
};

Result<SplitOptions> split(const Overrides& overrides) {
  SplitOptions out;
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
    const Result<SplitOptions> parts = split(overrides);
    if (!parts.ok()) return parts.status();
    Result<EnvSpec> spec = simulator.spec(parts.value().own);
    if (!spec.ok()) return spec;
    BROADLOOM_TRY(describe_disturbance(parts.value().disturbance, spec.value()));
    return spec;
  };
  if (!simulator.make) return entry;  // the registry refuses an entry without a factory
  entry.make = [make_spec = entry.make_spec, simulator](
                   const Overrides& overrides,
                   const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    const Result<EnvSpec> allowed = make_spec(overrides);
    if (!allowed.ok()) return allowed.status();
    const SplitOptions parts = split(overrides).take();
    Result<std::unique_ptr<VecEnv>> envs = simulator.make(parts.own, options);
    if (!envs.ok() || envs.value() == nullptr || !parts.disturbance.any()) return envs;
    return disturb(envs.take(), parts.disturbance, options);
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
    entry.spec.summary = "Needs options: " + spec.status().message();
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
