#include "broadloom/config/config.h"

#include <utility>

#include "broadloom/config/keys.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"

namespace broadloom {
namespace {

constexpr std::string_view kEnvPrefix = "env.";

Status set_env_option(Config& config, std::string_view option, std::string_view text) {
  if (option.empty()) {
    return invalid("key 'env.': the option's name is missing; expected env.<option>");
  }
  for (auto& [name, value] : config.env_options) {
    if (name == option) {
      value = std::string(text);
      return {};
    }
  }
  config.env_options.emplace_back(std::string(option), std::string(text));
  return {};
}

Status set_anneal_lr(Config& config, std::string_view text) {
  bool anneal = false;
  const Status status = parse_text(text, anneal);
  if (!status.ok()) return invalid("anneal_lr: " + status.message());
  config.lr_schedule = anneal ? "linear" : "constant";
  return {};
}

}  // namespace

Config default_config(const EnvSpec& spec) {
  Config config;
  config.env_id = spec.id;
  if (!spec.action.has_box()) return config;
  config.total_timesteps = 1000000;
  config.learning_rate = 3e-4;
  config.num_envs = 1;
  config.num_steps = 2048;
  config.num_minibatches = 32;
  config.update_epochs = 10;
  config.ent_coef = 0.0;
  config.norm_obs = spec.observation.dtype == Dtype::kF32;  // images are divided by 255 instead
  config.norm_reward = true;
  return config;
}

Status set_config(Config& config, std::string_view key, std::string_view text) {
  if (key.substr(0, kEnvPrefix.size()) == kEnvPrefix) {
    return set_env_option(config, key.substr(kEnvPrefix.size()), text);
  }
  if (is_strata_key(key)) {
    BROADLOOM_TRY(check_strata_key(key));
    return set_env_option(config, key, plain_strata_text(std::string(text)));
  }
  if (is_disturbance_key(key)) {
    BROADLOOM_TRY(make_disturbance({{std::string(key), std::string(text)}}).status());
    return set_env_option(config, key, text);
  }
  if (key == "anneal_lr") return set_anneal_lr(config, text);
  if (key == "device" && text.starts_with("cuda:")) {
    const std::string value(text), number(text.substr(text.find(':') + 1));
    return invalid("device: got '" + value +
                   "', expected cpu or cuda, the first GPU that the process sees; to choose "
                   "another, set the variable CUDA_VISIBLE_DEVICES to " +
                   number + " and device to cuda");
  }
  bool normalise = false;
  if (key == "norm_adv" && parse_text(text, normalise).ok()) {
    config.norm_adv = normalise ? "minibatch" : "off";
    return {};
  }
  return set_field(config, key, text);
}

Overrides env_options_in(const Overrides& keys) {
  Config config;
  for (const auto& [key, text] : keys) {
    if (is_env_option(key)) static_cast<void>(set_config(config, key, text).ok());
  }
  return config.env_options;
}

Overrides to_overrides(const Config& config) {
  Overrides overrides;
  for (FieldInfo& field : list_fields(config)) {
    overrides.emplace_back(std::move(field.name), std::move(field.value_text));
  }
  for (const auto& [name, value] : config.env_options) {
    const bool whole = is_strata_key(name) || is_disturbance_key(name);
    const std::string_view prefix = whole ? "" : kEnvPrefix;
    overrides.emplace_back(std::string(prefix) + name, value);
  }
  return overrides;
}

}  // namespace broadloom
