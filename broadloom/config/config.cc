#include "broadloom/config/config.h"

#include <algorithm>
#include <utility>

#include "broadloom/config/schedule.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"
#include "broadloom/nn/chain.h"

namespace broadloom {
namespace {

constexpr std::string_view kEnvPrefix = "env.";

// Hyphens and letter case do not count.
constexpr Alias kAliases[] = {
    {"env", "env_id"},
    {"env_name", "env_id"},
    {"environment", "env_id"},
    {"task", "env_id"},
    {"timesteps", "total_timesteps"},
    {"num_timesteps", "total_timesteps"},
    {"total_steps", "total_timesteps"},
    {"steps", "total_timesteps"},
    {"lr", "learning_rate"},
    {"step_size", "learning_rate"},
    {"n_envs", "num_envs"},
    {"envs", "num_envs"},
    {"num_actors", "num_envs"},
    {"n_steps", "num_steps"},
    {"horizon", "num_steps"},
    {"horizon_length", "num_steps"},
    {"rollout_length", "num_steps"},
    {"epochs", "update_epochs"},
    {"n_epochs", "update_epochs"},
    {"num_epochs", "update_epochs"},
    {"mini_epochs", "update_epochs"},
    {"batch_size", "minibatch_size"},
    {"n_minibatches", "num_minibatches"},
    {"clip", "clip_coef"},
    {"clip_range", "clip_coef"},
    {"clip_ratio", "clip_coef"},
    {"e_clip", "clip_coef"},
    {"eps_clip", "clip_coef"},
    {"entropy_coef", "ent_coef"},
    {"entropy_coeff", "ent_coef"},
    {"value_coef", "vf_coef"},
    {"critic_coef", "vf_coef"},
    {"discount", "gamma"},
    {"lam", "gae_lambda"},
    {"lambda", "gae_lambda"},
    {"tau", "gae_lambda"},
    {"grad_norm", "max_grad_norm"},
    {"kl_target", "target_kl"},
    {"net_arch", "hidden_sizes"},
    {"hidden_size", "hidden_sizes"},
    {"layers", "hidden_sizes"},
    {"time_limit", "max_episode_steps"},
    {"frame_stack", "env.frame_stack"},
    {"num_stack", "env.frame_stack"},
    {"stack_num", "env.frame_stack"},
    {"stack_size", "env.frame_stack"},
    {"frame_padding", "env.frame_padding"},
};

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

Status check_hidden_sizes(const std::string& key, const std::vector<int>& sizes) {
  constexpr std::size_t kDeepest = 16;
  constexpr int kWidest = 1 << 16;
  if (sizes.empty() || sizes.size() > kDeepest) {
    return invalid(key + ": got " + std::to_string(sizes.size()) +
                   " layers, expected 1 to 16, such as 64,64");
  }
  for (const int size : sizes) {
    if (size < 1 || size > kWidest) {
      return invalid(key + ": got a layer of " + to_text(size) + ", expected 1 to 65536");
    }
  }
  return {};
}

std::string block_words(const Config& config) {
  return "num_envs * num_steps = " + to_text(config.num_envs) + " * " + to_text(config.num_steps) +
         " = " + to_text(config.batch_size());
}

// Samples are numbered with 32 bits, and loops over them look up to a tile ahead.
constexpr std::int64_t kLargestBlock = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

Status check_batch(const Config& config) {
  const std::int64_t batch = config.batch_size();
  if (batch > kLargestBlock) {
    return invalid("the rollout block is too large: " + block_words(config) +
                   ", expected at most " + to_text(kLargestBlock) +
                   "; lower num_envs or num_steps");
  }
  if (config.total_timesteps < batch) {
    return invalid("total_timesteps: got " + to_text(config.total_timesteps) +
                   ", less than one rollout block (" + block_words(config) +
                   "); raise total_timesteps, or lower num_envs or num_steps");
  }
  if (config.minibatch_size > batch) {
    return invalid("minibatch_size: got " + to_text(config.minibatch_size) +
                   ", expected at most the block (" + block_words(config) + ")");
  }
  if (config.minibatch_size == 0 && config.num_minibatches > batch) {
    return invalid("num_minibatches: got " + to_text(config.num_minibatches) +
                   ", expected at most the block (" + block_words(config) + ")");
  }
  return {};
}

// An episode that was cut short may pass for a success, which no policy has earned.
Status check_ages(const Config& config) {
  if (!config.stagger_starts || config.stagger_by != "age" || config.curriculum.empty()) return {};
  return invalid(
      "stagger_by: got age with a curriculum, whose first decisions would be about episodes that "
      "were cut short; set stagger_by = actions, or leave the curriculum out");
}

Status check_families(const Config& config) {
  if (config.num_envs % config.families() == 0) return {};
  return invalid("seed_families: got " + to_text(config.seed_families) +
                 ", expected a divisor of num_envs (" + to_text(config.num_envs) +
                 "), or 0 for as many families as environments");
}

// A single advantage has no deviation to be divided by.
Status check_normalised(const Config& config) {
  const std::int64_t smallest = config.norm_adv == "minibatch"
                                    ? config.batch_size() / config.minibatch_count()
                                    : config.batch_size();
  if (config.norm_adv == "off" || smallest >= 2) return {};
  return invalid("norm_adv: '" + config.norm_adv +
                 "' needs at least 2 samples to normalise over, " + "got a block of " +
                 to_text(config.batch_size()) + " in " + to_text(config.minibatch_count()) +
                 " minibatches; use fewer minibatches, a larger block, or norm_adv=off");
}

// What depends on the shape of the block.
Status check_shape(const Config& config) {
  BROADLOOM_TRY(check_batch(config));
  BROADLOOM_TRY(check_families(config));
  return check_normalised(config);
}

// The first blocks are num_envs x num_steps, every phase could be a run's own shape, and has a
// block at least: one without would only seem to be tried.
Status check_schedule(const Config& config) {
  ShapeSchedule parsed;  // one that was not parsed may hold anything
  BROADLOOM_TRY(parse_text(to_text(config.shape_schedule), parsed));
  const std::vector<ShapePhase>& phases = config.shape_schedule.phases;
  const BlockShape& first = phases[0].shape;
  if (first.num_envs != config.num_envs || first.num_steps != config.num_steps) {
    return invalid(
        "shape_schedule: begins with " + to_text(phases[0]) + ", but " + block_words(config) +
        "; leave num_envs and num_steps out, which are those of the first entry then, or "
        "make them " +
        to_text(first.num_envs) + " and " + to_text(first.num_steps));
  }
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const Status status = check_shape(config.of_phase(p));
    if (!status.ok())
      return invalid("shape_schedule: " + to_text(phases[p]) + ": " + status.message());
  }
  std::vector<bool> reached(phases.size());
  for (const Stretch& stretch : config.run_stretches()) reached[stretch.phase] = true;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    if (reached[p]) continue;
    return invalid("shape_schedule: no block begins in " + to_text(phases[p]) +
                   " with total_timesteps = " + to_text(config.total_timesteps) +
                   "; leave it out, put the starts further apart, or raise total_timesteps");
  }
  return {};
}

// No CPU rounds to TF32: the run would only seem to have it.
Status check_precision(const Config& config) {
  if (config.precision == "tf32" && config.device == "cpu") {
    return invalid(
        "precision: got 'tf32' with device 'cpu', expected device 'cuda'; only a GPU rounds to "
        "TF32. Use device=cuda, or precision=fp32");
  }
  return {};
}

}  // namespace

std::span<const Alias> Config::aliases() { return kAliases; }

Config default_config(const EnvSpec& spec) {
  Config config;
  config.env_id = spec.id;
  if (spec.action.kind == SpaceKind::kDiscrete) return config;
  config.total_timesteps = 1000000;
  config.learning_rate = 3e-4;
  config.num_envs = 1;
  config.num_steps = 2048;
  config.num_minibatches = 32;
  config.update_epochs = 10;
  config.ent_coef = 0.0;
  config.norm_obs = true;
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
  bool normalise = false;
  if (key == "norm_adv" && parse_text(text, normalise).ok()) {
    config.norm_adv = normalise ? "minibatch" : "off";
    return {};
  }
  return set_field(config, key, text);
}

Status validate(const Config& config) {
  BROADLOOM_TRY(check_fields(config));
  BROADLOOM_TRY(check_hidden_sizes("hidden_sizes", config.hidden_sizes));
  BROADLOOM_TRY(check_hidden_sizes("rnd_hidden_sizes", config.rnd_hidden_sizes));
  BROADLOOM_TRY(check_ages(config));
  BROADLOOM_TRY(config.shape_schedule.empty() ? check_shape(config) : check_schedule(config));
  return check_precision(config);
}

std::vector<Stretch> Config::run_stretches() const {
  if (!shape_schedule.empty()) return stretches(shape_schedule, total_timesteps);
  const std::int64_t batch = batch_size();
  const std::int64_t blocks = batch > 0 ? total_timesteps / batch : 0;
  return blocks > 0 ? std::vector<Stretch>{{0, 0, blocks, batch}} : std::vector<Stretch>();
}

std::int64_t Config::num_iterations() const {
  std::int64_t blocks = 0;
  for (const Stretch& stretch : run_stretches()) blocks += stretch.blocks;
  return blocks;
}

std::int64_t Config::trained_steps() const {
  const std::vector<Stretch> all = run_stretches();
  return all.empty() ? 0 : all.back().end_step();
}

std::int64_t Config::gradient_steps() const {
  std::int64_t minibatches = 0;
  for (const Stretch& stretch : run_stretches()) {
    minibatches += stretch.blocks * of_phase(stretch.phase).minibatch_count();
  }
  return minibatches * update_epochs;
}

std::int64_t Config::steps_before(std::int64_t iteration) const {
  std::int64_t left = iteration - 1, steps = 0;
  for (const Stretch& stretch : run_stretches()) {
    steps = stretch.first_step + std::min(left, stretch.blocks) * stretch.batch;
    left -= stretch.blocks;
    if (left <= 0) break;
  }
  return steps;
}

Config Config::of_phase(std::size_t phase) const {
  Config config = *this;
  if (shape_schedule.empty()) return config;
  const ShapePhase& now = shape_schedule.phases[phase];
  config.shape_schedule = {};
  config.num_envs = now.shape.num_envs;
  config.num_steps = now.shape.num_steps;
  if (now.minibatch_size > 0) config.minibatch_size = now.minibatch_size;
  return config;
}

Config Config::at_step(std::int64_t global_step) const {
  return of_phase(shape_schedule.phase_at(global_step, total_timesteps));
}

int Config::most_envs() const {
  int most = num_envs;
  for (const ShapePhase& phase : shape_schedule.phases) {
    most = std::max(most, phase.shape.num_envs);
  }
  return most;
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
