#include "broadloom/setup/resolve_config.h"

#include <algorithm>
#include <set>

#include "broadloom/config/keys.h"
#include "broadloom/env/action_scale.h"
#include "broadloom/env/staggered_starts.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// The last value of a key, or `otherwise`.
std::string last_value(const Overrides& overrides, std::string_view wanted, std::string otherwise) {
  for (const auto& [key, text] : overrides) {
    if (key == wanted) otherwise = text;
  }
  return otherwise;
}

bool sets(const Overrides& overrides, std::string_view key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const auto& entry) { return entry.first == key; });
}

// The spec with the environment's own options, because they may change its spaces, on which
// defaults depend. If the options are refused, the spec without them; check_config() then reports
// the error.
Result<EnvSpec> spec_for_defaults(const Overrides& overrides) {
  Config option_config;
  for (const auto& [key, text] : overrides) {
    if (is_env_option(key)) BROADLOOM_TRY(set_config(option_config, key, text));
  }
  const std::string id = last_value(overrides, "env_id", Config{}.env_id);
  Result<EnvSpec> spec = env_spec(id, option_config.env_options);
  if (spec.ok() || option_config.env_options.empty()) return spec;
  Result<EnvSpec> plain = env_spec(id, {});
  return plain.ok() ? plain : spec;
}

// An encoder has its published layers and ReLU unless overrides set others.
void follow_encoder(const Overrides& overrides, Config& config) {
  if (config.encoder == "mlp") return;
  if (!sets(overrides, "hidden_sizes"))
    config.hidden_sizes = published_hidden_sizes(encoder_of(config.encoder));
  if (!sets(overrides, "activation")) config.activation = "relu";
}

constexpr std::string_view kScaleOption = "scale_actions";

// A new run scales actions to the bounds of a Box that a new policy would hardly reach. An
// environment with an option of that name decides by itself.
Status scale_far_actions(const Overrides& overrides, const EnvSpec& spec, Config& config) {
  const std::string key = "env." + std::string(kScaleOption);
  if (sets(overrides, key) || is_built_in(config.env_id) || !scales_by_default(spec)) return {};
  Config scaled = config;
  BROADLOOM_TRY(set_config(scaled, key, "true"));
  const Result<EnvSpec> seen = env_spec(scaled.env_id, scaled.env_options);
  if (seen.ok() && !seen.value().action.own_low.empty()) config = std::move(scaled);
  return {};
}

// First episodes are spread by age where they have a time limit: random actions may lead to states
// without return. In a curriculum a shortened episode may count as a success.
void follow_time_limit(const Overrides& overrides, const EnvSpec& spec, Config& config) {
  if (sets(overrides, "stagger_by")) return;
  const bool is_limited = config.max_episode_steps > 0 || spec.max_episode_steps > 0;
  if (config.stagger_starts && is_limited && config.curriculum.empty()) config.stagger_by = "age";
}

// The dialect's keys that the overrides leave open. minibatch_size would make an own
// num_minibatches do nothing, and an own memory wants whole environments. An own distribution may
// have no means beyond its bounds.
Result<Overrides> open_keys(std::string_view dialect, const Overrides& overrides) {
  Result<Overrides> keys = dialect_keys(dialect);
  if (!keys.ok()) return keys;
  const bool remembers = last_value(overrides, "recurrent", "none") != "none";
  const bool is_gaussian = last_value(overrides, "action_distribution", "gaussian") == "gaussian";
  std::erase_if(keys.value(), [&](const auto& entry) {
    return sets(overrides, entry.first) || (entry.first == "bounds_coef" && !is_gaussian) ||
           (entry.first == "minibatch_size" && (remembers || sets(overrides, "num_minibatches")));
  });
  return keys;
}

// Sets keys of the dialect that do nothing here back to their values in `before`: those of Box
// actions on a Discrete task, or obs_eps with an own norm_obs = false.
Status reset_idle(const Overrides& keys, const EnvSpec& spec, const Config& before,
                  Config& config) {
  const Overrides values = to_overrides(before);
  for (const KeyUse& use : key_uses(keys, config, before, spec)) {
    if (!use.acts) BROADLOOM_TRY(set_config(config, use.key, last_value(values, use.key, "")));
  }
  return {};
}

// num_envs and num_steps default to the first entry of the shape schedule.
Result<Config> assemble(const Overrides& overrides, std::string_view dialect) {
  const Result<EnvSpec> spec = spec_for_defaults(overrides);
  if (!spec.ok()) return spec.status();
  Config config = default_config(spec.value());
  config.algorithm = last_value(overrides, "algorithm", config.algorithm);
  set_algorithm_defaults(spec.value(), config);
  const Config before = config;
  const Result<Overrides> chosen = open_keys(dialect, overrides);
  if (!chosen.ok()) return chosen.status();
  for (const auto& [key, text] : chosen.value()) BROADLOOM_TRY(set_config(config, key, text));
  for (const auto& [key, text] : overrides) BROADLOOM_TRY(set_config(config, key, text));
  BROADLOOM_TRY(reset_idle(chosen.value(), spec.value(), before, config));
  follow_encoder(overrides, config);
  BROADLOOM_TRY(scale_far_actions(overrides, spec.value(), config));
  follow_time_limit(overrides, spec.value(), config);
  if (config.shape_schedule.empty()) return config;
  const BlockShape& first = config.shape_schedule.phases[0].shape;
  if (!sets(overrides, "num_envs")) config.num_envs = first.num_envs;
  if (!sets(overrides, "num_steps")) config.num_steps = first.num_steps;
  return config;
}

}  // namespace

Result<Config> assemble_config(const Overrides& overrides) {
  return assemble(overrides, last_value(overrides, "dialect", ""));
}

namespace {

// Checks of every run, also of recorded ones.
Status check_run(const Config& config) {
  BROADLOOM_TRY(validate(config));
  // The environment checks its own options.
  const Result<EnvSpec> spec =
      env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!spec.ok()) return spec.status();
  if (config.stagger_starts && config.stagger_by == "age") {
    BROADLOOM_TRY(check_has_ages(spec.value()));
  }
  return check_curriculum(curriculum_options(config), spec.value(),
                          strata_sampling(config.strata_sampling));
}

}  // namespace

Status check_config(const Config& config) {
  BROADLOOM_TRY(check_run(config));
  return check_adaptive_rate(config);
}

Config usual_config(const Config& config) {
  Overrides first = to_overrides(config);
  std::erase_if(first, [](const auto& entry) {
    const std::string& key = entry.first;
    const bool is_option = key.find('.') != std::string::npos;
    return !is_option && key != "env_id" && key != "algorithm" && key != "encoder" &&
           key != "dialect";
  });
  Result<Config> usual = assemble_config(first);
  return usual.ok() ? usual.take() : Config{};
}

Result<std::vector<KeyUse>> key_uses(const Overrides& overrides, const Config& config) {
  const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
  if (!spec.ok()) return spec.status();
  Config plain = config;  // without the dialect, which does something by keys that differ
  plain.dialect = Config{}.dialect;
  return key_uses(overrides, config, usual_config(plain), spec.value());
}

Result<Config> resolve_config(const Overrides& overrides) {
  Result<Config> config = assemble_config(overrides);
  if (!config.ok()) return config;
  BROADLOOM_TRY(check_config(config.value()));
  const Result<std::vector<KeyUse>> uses = key_uses(overrides, config.value());
  if (!uses.ok()) return uses.status();
  for (const KeyUse& use : uses.value()) {
    if (!use.refusal.empty()) return invalid(use.refusal);
  }
  BROADLOOM_TRY(check_noise_is_seen(config.value().env_id, config.value().env_options));
  return config;
}

Result<Config> resolve_record(const Overrides& record) {
  // Without its dialect: a record's values stay what they were if the dialect's file changes.
  Result<Config> config = assemble(record, "");
  if (!config.ok()) return config;
  const std::set<std::string> idle = idle_keys(config.value());
  for (const FieldInfo& field : list_fields(Config{})) {
    const char* const before = field.facts.before;
    if (before == nullptr || sets(record, field.name) || idle.count(field.name) > 0) continue;
    BROADLOOM_TRY(set_config(config.value(), field.name, before));
  }
  if (!sets(record, "env." + std::string(kScaleOption))) {
    std::erase_if(config.value().env_options,
                  [](const auto& option) { return option.first == kScaleOption; });
  }
  BROADLOOM_TRY(check_run(config.value()));
  return config;
}

}  // namespace broadloom
