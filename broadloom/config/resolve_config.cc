// From overrides to a whole config; the part of the config that knows which environments exist.
#include "broadloom/config/config.h"
#include "broadloom/config/settings.h"
#include "broadloom/envs/registry.h"

namespace broadloom {
namespace {

std::string last_env_id(const Overrides& overrides) {
  std::string id = Config{}.env_id;
  for (const auto& [key, text] : overrides) {
    if (key == "env_id") id = text;
  }
  return id;
}

}  // namespace

Result<Config> assemble_config(const Overrides& overrides) {
  const Result<EnvSpec> spec = env_spec(last_env_id(overrides), {});
  if (!spec.ok()) return spec.status();
  Config config = default_config(spec.value());
  for (const auto& [key, text] : overrides) BROADLOOM_TRY(set_config(config, key, text));
  return config;
}

Status check_config(const Config& config) {
  BROADLOOM_TRY(validate(config));
  // The options are the environment's to judge.
  const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
  if (!spec.ok()) return spec.status();
  return check_curriculum(curriculum_options(config), spec.value(),
                          strata_sampling(config.strata_sampling));
}

Result<Config> resolve_config(const Overrides& overrides) {
  Result<Config> config = assemble_config(overrides);
  if (config.ok()) BROADLOOM_TRY(check_config(config.value()));
  return config;
}

}  // namespace broadloom
