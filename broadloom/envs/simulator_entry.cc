#include "broadloom/envs/simulator_entry.h"

#include <utility>

#include "broadloom/env/disturbance.h"

namespace broadloom {
namespace {

// All that a simulator without options takes.
Result<Disturbance> disturbance_of(const Overrides& overrides) {
  for (const auto& [key, text] : overrides) {
    if (!is_disturbance_key(key)) return unknown_key_error("option", key, {});
  }
  return make_disturbance(overrides);
}

}  // namespace

EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make) {
  EnvEntry entry;
  entry.spec = spec;
  entry.make_spec = [spec](const Overrides& overrides) -> Result<EnvSpec> {
    const Result<Disturbance> disturbance = disturbance_of(overrides);
    if (!disturbance.ok()) return disturbance.status();
    EnvSpec disturbed = spec;
    BROADLOOM_TRY(describe_disturbance(disturbance.value(), disturbed));
    return disturbed;
  };
  entry.options = [] { return std::vector<FieldInfo>(); };
  if (!make) return entry;  // without a factory, which the registry refuses
  entry.make = [make_spec = entry.make_spec, make](
                   const Overrides& overrides,
                   const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    const Result<EnvSpec> allowed = make_spec(overrides);
    if (!allowed.ok()) return allowed.status();
    const Disturbance disturbance = disturbance_of(overrides).take();
    Result<std::unique_ptr<VecEnv>> envs = make(options);
    if (!envs.ok() || envs.value() == nullptr || !disturbance.any()) return envs;
    return disturb(envs.take(), disturbance, options);
  };
  return entry;
}

}  // namespace broadloom
