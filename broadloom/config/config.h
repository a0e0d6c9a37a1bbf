// The settings of one training run: every key of a TOML file, a flag and the manifest.
//
//   const EnvSpec spec = env_spec("CartPole-v1", {}).take();
//   Config config = default_config(spec);      // the environment's defaults
//   config.num_envs = 16;                      // N
//   config.num_steps = 128;                    // T; a block has N * T transitions
//   BROADLOOM_TRY(set_config(config, "learning_rate", "1e-3"));  // the same from text
//   BROADLOOM_TRY(validate(config));
//
// Keys have CleanRL's names. If a key exists in CleanRL, its default is that of `ppo` for
// Discrete actions and of `ppo_continuous_action` for Box actions. docs/reference/config.md has
// every key with its range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/algorithm_names.h"
#include "broadloom/config/dialects.h"
#include "broadloom/config/key_table.h"
#include "broadloom/config/shape_schedule.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/optional_number.h"
#include "broadloom/core/status.h"
#include "broadloom/core/toml_tree.h"
#include "broadloom/env/spec.h"
#include "broadloom/instruments/registry.h"

namespace broadloom {

// A plain struct: set its fields, then call validate(). Fields are in the documentation's order,
// not ordered by alignment.
struct Config {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string env_id = "CartPole-v1";
  std::string algorithm = "ppo";
  // The origin of other keys' values. Only resolve_config() acts on it.
  std::string dialect = "none";
  // Options of the environment: keys without the "env." prefix, "strata.<name>.<constant>" and
  // "disturb.<name>". Not part of visit_fields.
  Overrides env_options;
  std::uint64_t seed = 1;
  std::int64_t total_timesteps = 500000;
  std::int64_t schedule_timesteps = 0;
  double learning_rate = 2.5e-4;
  int num_envs = 4;
  int num_steps = 128;
  // N x T, each from a share of the run on; empty: always num_envs x num_steps.
  ShapeSchedule shape_schedule;
  std::string lr_schedule = "linear";
  double learning_rate_end = 0.0;
  double desired_kl = 0.01;
  std::string kl_estimate = "samples";
  std::string adapt_every = "minibatch";
  double adaptive_rate_min = 1e-5;
  double gamma = 0.99;
  double gae_lambda = 0.95;
  std::string gae_weights = "geometric";
  int num_minibatches = 4;
  int minibatch_size = 0;
  int update_epochs = 4;
  std::string norm_adv = "minibatch";
  double norm_adv_decay = 0.9;
  double proximal_decay = 0.0;
  double clip_coef = 0.2;
  std::string clip_schedule = "constant";
  bool clip_vloss = true;
  double clip_vloss_coef = 0.0;
  std::string clip_vloss_rule = "larger";
  double ent_coef = 0.01;
  std::string ent_schedule = "constant";
  double vf_coef = 0.5;
  double bounds_coef = 0.0;
  bool mirror_samples = false;
  double mirror_coef = 0.0;
  double max_grad_norm = 0.5;
  int sapg_policies = 1;
  int sapg_vector_size = 32;
  double sapg_entropy_scale = 0.0;
  int sapg_followers = 1;
  std::string sapg_clip = "code";
  std::string clip_grads = "together";
  std::string shuffle = "epoch";
  double target_kl = 0.0;
  double adam_eps = 1e-5;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double eps_start = 1.0;
  double eps_finish = 0.05;
  double eps_decay = 0.1;
  double ext_coef = 2.0;
  double int_coef = 1.0;
  double int_gamma = 0.99;
  double update_proportion = 0.25;
  int num_iterations_obs_norm_init = 50;
  std::vector<int> rnd_hidden_sizes = {64, 64};
  int rnd_outputs = 64;
  // A run or checkpoint whose policy a student copies.
  std::string teacher;
  std::string teacher_reads = "auto";
  std::string distill_loss = "mse";
  int gradient_length = 15;
  double reward_scale = 1.0;
  // The TD error at a time limit: "bootstrap", "as_termination", "state_value", "zero".
  std::string truncation_mode = "bootstrap";
  std::string encoder = "mlp";
  // Groups of observations (EnvSpec): "image:nature/256". Empty: the defaults.
  std::vector<std::string> group_encoders;
  std::vector<std::string> policy_groups, critic_groups;
  std::string layer_norm = "off";
  std::string weight_init = "orthogonal";
  std::vector<int> hidden_sizes = {64, 64};
  std::string activation = "tanh";
  bool shared_encoder = false;
  std::string recurrent = "none";
  int recurrent_units = 0;
  int sequence_length = 0;
  std::string action_distribution = "gaussian";
  double log_std_init = 0.0;
  std::string std_form = "log";
  double std_min = 0.0;
  double std_max = 0.0;
  int sde_sample_freq = -1;
  bool norm_obs = false;
  bool norm_reward = false;
  std::string norm_value = "off";
  // "exact", or "gymnasium": NormaliserRule (broadloom/rollout/normalizer.h).
  std::string normaliser = "exact";
  double obs_eps = 1e-8;
  std::string obs_eps_in = "variance";
  double clip_obs = 10.0;
  double clip_reward = 10.0;
  bool stagger_starts = false;
  std::string stagger_by = "actions";
  int max_episode_steps = 0;
  int seed_families = 0;
  std::string strata_sampling = "sampled";
  std::vector<std::string> curriculum;
  double curriculum_up = 0.8;
  double curriculum_down = 0.4;
  int curriculum_episodes = 1;
  int eval_interval = 0;
  int eval_episodes = 10;
  std::string eval_actions = "most_likely";
  int checkpoint_interval = 10;
  int keep_checkpoints = 2;
  // A mean return that ends the run; none: it goes on to its end.
  OptionalNumber stop_at_return;
  int log_interval = 1;
  bool tensorboard = true;
  std::vector<std::string> instruments;
  int instrument_every = 50;
  bool hashes = false;
  std::string device = "cpu";
  std::string isa = "auto";
  std::string precision = "fp32";
  std::int64_t memory_limit = 0;

  // B = num_envs * num_steps, the transitions of one rollout block; with a schedule, of the first
  // blocks.
  std::int64_t batch_size() const { return std::int64_t{num_envs} * num_steps; }
  // Followers from whose samples SAPG's leader learns, too.
  int relabelled_followers() const { return sapg_policies > 1 ? sapg_followers : 0; }
  // Samples of an epoch: B, and SAPG's relabelled ones.
  std::int64_t learnt_samples() const {
    const int envs = num_envs / std::max(1, sapg_policies);
    return batch_size() + std::int64_t{relabelled_followers()} * envs * num_steps;
  }
  bool is_recurrent() const { return recurrent != "none"; }
  // F, the number of seed families.
  int families() const { return seed_families > 0 ? seed_families : num_envs; }
  // Gradient steps per epoch: num_minibatches, or ceil(learnt_samples() / minibatch_size) if that
  // is set.
  std::int64_t minibatch_count() const {
    if (learns_in_order(algorithm)) return std::max(1, num_steps / gradient_length);
    if (minibatch_size <= 0) return num_minibatches;
    return (learnt_samples() + minibatch_size - 1) / minibatch_size;
  }
  // L, the steps of a recurrent network's sequences.
  int sequence_steps() const {
    if (learns_in_order(algorithm)) return gradient_length;
    return sequence_length > 0 ? sequence_length : num_steps;
  }
  // ceil(learnt_samples() / minibatch_count()). Minibatch sizes differ by at most one sample, or
  // with a recurrent network by one sequence.
  std::int64_t largest_minibatch() const {
    const int unit = is_recurrent() ? sequence_steps() : 1;
    return (learnt_samples() / unit + minibatch_count() - 1) / minibatch_count() * unit;
  }

  // The whole blocks of the run. Without a schedule: total_timesteps / B, rounded down, as in
  // CleanRL.
  std::vector<Stretch> run_stretches() const;
  // Their number: calls of Trainer::iterate() in a whole run.
  std::int64_t num_iterations() const;
  // Their environment steps: the part of total_timesteps that is trained.
  std::int64_t trained_steps() const;
  // Environment steps over which schedules reach their ends: the trained part of
  // schedule_timesteps, or of total_timesteps if that is 0.
  std::int64_t schedule_steps() const;
  // Gradient steps of the run if target_kl stops no epoch.
  std::int64_t gradient_steps() const;
  // Environment steps before an iteration. The first iteration is 1.
  std::int64_t steps_before(std::int64_t iteration) const;

  // Phases of shape_schedule; 1 without a schedule.
  std::size_t phase_count() const {
    return shape_schedule.empty() ? 1 : shape_schedule.phases.size();
  }
  // The config with N, T and minibatches of one phase and without a schedule.
  Config of_phase(std::size_t phase) const;
  // The phase config of the block that begins after global_step steps.
  Config at_step(std::int64_t global_step) const;
  // Number of environments to make: N, or the largest N of any phase.
  int most_envs() const;

  // Visits every key: name, field, role (broadloom/core/key_role.h), range, help. Use later(...)
  // for a new key, and .needs(...) for a key that needs another key's value.
  template <class Visitor>
  void visit_fields(Visitor&& visitor);

  // Names of our keys in Stable-Baselines3, RLlib, rl_games, Spinning Up and common use. They are
  // refused, because values may mean something else there; the message names our key.
  static std::span<const Alias> aliases();
};

// The defaults for an environment: CleanRL's `ppo` for Discrete actions, `ppo_continuous_action`
// for Box actions; env_id is spec.id.
Config default_config(const EnvSpec& spec);

// Sets one key, also "env.<option>", "strata.<name>.<constant>" and "disturb.<name>" (kept as text;
// the environment checks them when it is made). Accepts CleanRL's anneal_lr (true: linear, false:
// constant) and boolean norm_adv. kInvalidConfig names the nearest key or the range and does not
// change `config`.
Status set_config(Config& config, std::string_view key, std::string_view text);
// Config::env_options as these keys set them, without those that set_config() refuses.
Overrides env_options_in(const Overrides& keys);

// Reads the overrides of a TOML file in file order: flat keys, an [env] table and [strata.<name>]
// tables. Checks keys, types and ranges; errors begin with "file:line: ". kNotFound if the file
// does not exist, kIo if it cannot be read, else kInvalidConfig.
Result<Overrides> read_toml_overrides(const std::string& path);
// Overrides with their lines, for errors that only a complete config shows.
struct TomlOverrides {
  Overrides overrides;          // in file order
  std::vector<unsigned> lines;  // line of each
};
// Errors as read_toml_overrides().
Result<TomlOverrides> read_toml_lines(const std::string& path);
// The same from text. Messages use `name` as the file name.
Result<Overrides> parse_toml_overrides(std::string_view text, const std::string& name);
// The same from a table of a larger file.
Result<Overrides> toml_overrides(const TomlNode& table, const std::string& name);

// Checks ranges of fields and rules between fields. Messages of kInvalidConfig name the value, the
// expected values and the key to change. Does not look up environments.
Status validate(const Config& config);

// Checks that lr_schedule = adaptive can change the learning rate: the rate is within the bounds,
// and a block has at least two gradient steps. Not part of validate(), because older runs began
// without this check.
Status check_adaptive_rate(const Config& config);

// Every key with its exact text, env options last. Applied to any Config, they give this one back
// bit for bit.
Overrides to_overrides(const Config& config);

template <class Visitor>
void Config::visit_fields(Visitor&& visitor) {
  constexpr double kMany = 1 << 20;
  KeyTable v(visitor);
  const auto for_ppo = [](const KeyMark& mark) {
    return mark.needs("algorithm", "ppo or ppo_rnd");
  };

  v.group("Task and rollout");
  v("env_id", env_id, Role::kTask, "Environment to train on; `broadloom env list` names them.");
  v("algorithm", algorithm, later(Role::kLearning), Choices{algorithm_names()},
    "Learning algorithm: how it acts, and how it learns from a block.");
  v("dialect", dialect, for_ppo(later(Role::kLearning)), Choices{dialect_names()},
    "Another library's choices for PPO, all at once; your own keys win over them.");
  v("seed", seed, Role::kSeed, Range{0}, "Determines every random number of the run.");
  v("total_timesteps", total_timesteps, Role::kBudget, Range{1},
    "Environment steps of the run, over all environments; whole blocks only.");
  v("stop_at_return", stop_at_return, later(Role::kBudget),
    "Stop when an evaluation (without evaluations: 100 episodes) has this mean return; none: off.");
  v("num_envs", num_envs, Role::kShape, Range{1, kMany}, "N, environments stepped in parallel.");
  v("num_steps", num_steps, Role::kShape, Range{1, kMany},
    "T, steps per environment in a rollout block.");
  v("shape_schedule", shape_schedule, later(Role::kShape),
    "N x T, and the share of the run at which each starts: 8x128 @ 0, 64x16 @ 0.3. 64x16/256 also "
    "sets M. none: off.");
  v("stagger_starts", stagger_starts,
    KeyMark(Role::kLearning).needs("num_envs or shape_schedule = set", "above 1"),
    "Spread the phases of the environments' first episodes, so that they do not end together.");
  v("stagger_by", stagger_by, later(Role::kLearning).needs("stagger_starts", "true").was("actions"),
    Choices{{"actions", "age"}},
    "How to spread the first episodes: by random actions, or by shorter time limits. If you do not "
    "set it: age if episodes have a time limit and there is no curriculum.");
  v("max_episode_steps", max_episode_steps, Role::kTask, Range{0},
    "Time limit of an episode; 0: the environment's own.");
  v("seed_families", seed_families, later(Role::kLearning), Range{0, kMany},
    "F, a divisor of num_envs: a family's environments draw the same numbers; 0: independent.");
  v("strata_sampling", strata_sampling, later(Role::kLearning).needs("[strata]", kIsSet),
    Choices{{"sampled", "stratified"}},
    "How episodes draw from [strata.<name>]: independently, or equally often from equal parts of "
    "each range.");
  v("curriculum", curriculum, later(Role::kLearning),
    "Strata, easiest first; each environment moves through them by its success; none: off.");
  v("curriculum_up", curriculum_up, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{0.0, 1.0}, "Smallest share of successful episodes that moves an environment a level up.");
  v("curriculum_down", curriculum_down, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{0.0, 1.0}, "An environment moves a level down below this share of successful episodes.");
  v("curriculum_episodes", curriculum_episodes, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{1}, "Episodes per decision; 1: each success moves up, each failure down.");

  v.group("Optimiser");
  v("learning_rate", learning_rate, Role::kLearning, Range{0.0, 10.0},
    "Adam's step size at the start.");
  v("lr_schedule", lr_schedule, Role::kLearning, Choices{{"linear", "constant", "adaptive"}},
    "linear: changes to learning_rate_end over the run; adaptive: follows desired_kl.");
  v("learning_rate_end", learning_rate_end, later(Role::kLearning).needs("lr_schedule", "linear"),
    Range{0.0, 10.0}, "Adam's step size at the end of the run.");
  v("schedule_timesteps", schedule_timesteps,
    later(Role::kLearning)
        .needs("lr_schedule or clip_schedule or ent_schedule or algorithm = pqn", "linear")
        .needs("shape_schedule", kIsEmpty),
    Range{0}, "Steps after which scheduled values stay at their ends; 0: total_timesteps.");
  v("desired_kl", desired_kl, KeyMark(Role::kLearning).needs("lr_schedule", "adaptive"),
    Range{1e-8, 100.0}, "Target KL per update of lr_schedule=adaptive.");
  v("kl_estimate", kl_estimate,
    later(Role::kLearning).needs("lr_schedule", "adaptive").needs("actions", "Box"),
    Choices{{"samples", "analytic"}},
    "KL that the adaptive rate follows: mean of (r - 1) - log r, or that of the Gaussians "
    "(RSL-RL).");
  v("adapt_every", adapt_every, later(Role::kLearning).needs("lr_schedule", "adaptive"),
    Choices{{"minibatch", "epoch"}},
    "When the adaptive rate changes: each minibatch, or by the mean KL of an epoch (skrl).");
  v("adaptive_rate_min", adaptive_rate_min, later(Role::kLearning).needs("lr_schedule", "adaptive"),
    Range{0.0, 1e-2}, "Least adaptive rate; the largest is 0.01.");
  v("adam_eps", adam_eps, Role::kLearning, Range{0.0, 1.0}, "Adam's epsilon.");
  const KeyMark for_adam = later(Role::kLearning).needs("algorithm", "ppo");
  v("adam_beta1", adam_beta1, for_adam, Range{0.0, 0.999999}, "Decay of Adam's mean of gradients.");
  v("adam_beta2", adam_beta2, for_adam, Range{0.0, 0.999999},
    "Decay of Adam's mean of squared gradients.");
  v("max_grad_norm", max_grad_norm, Role::kLearning, Range{0.0},
    "Clip gradients to this norm; 0: off.");
  v("clip_grads", clip_grads,
    later(Role::kLearning)
        .needs("algorithm", "ppo")
        .needs("shared_encoder", "false")
        .needs("max_grad_norm", kAboveZero)
        .needs("vf_coef", kAboveZero),
    Choices{{"together", "apart"}},
    "together: one norm over all parameters; apart: one each for actor and critic (RSL-RL).");
  v("shuffle", shuffle,
    for_ppo(later(Role::kLearning)).value_needs("block", "update_epochs", "above 1"),
    Choices{{"epoch", "block", "off"}},
    "Order of samples: drawn each epoch, once a block (RSL-RL), or time-major (skrl).");

  const auto for_drawn = [](const KeyMark& mark) {
    return mark.needs("algorithm", "ppo or pqn or ppo_rnd");
  };
  v.group("Advantages and loss");
  v("gamma", gamma, for_drawn(Role::kLearning), Range{0.0, 1.0}, "Discount per step.");
  v("gae_lambda", gae_lambda,
    for_drawn(Role::kLearning)
        .needs("gamma or algorithm = ppo_rnd", kAboveZero)
        .needs("num_steps or shape_schedule = set", "above 1"),
    Range{0.0, 1.0}, "Lambda of generalised advantage estimation, and of PQN's Q(lambda).");
  v("gae_weights", gae_weights,
    later(Role::kLearning)
        .needs("algorithm", "ppo")
        .needs("gamma", kAboveZero)
        .needs("gae_lambda", kAboveZero)
        .needs("num_steps or shape_schedule = set", "above 1"),
    Choices{{"geometric", "normalised"}},
    "Weights of k-step advantages: geometric leaves the longest all of the rest; normalised "
    "divides "
    "each by their sum (arXiv 2602.03386).");
  v("truncation_mode", truncation_mode, for_drawn(Role::kLearning),
    Choices{{"bootstrap", "as_termination", "state_value", "zero"}},
    "At a time limit, bootstrap adds V(final observation), as_termination no value (like CleanRL), "
    "state_value V(s_t); zero sets the TD error to 0.");
  v("num_minibatches", num_minibatches,
    for_drawn(Role::kMinibatches).stands_only_with("minibatch_size", "0"), Range{1},
    "Gradient steps per epoch.");
  v("minibatch_size", minibatch_size, for_drawn(Role::kMinibatches), Range{0},
    "M, samples per gradient step; 0: num_minibatches decides.");
  v("update_epochs", update_epochs, Role::kMinibatches, Range{1, 10000},
    "K, passes over each block.");
  v("norm_adv", norm_adv,
    for_ppo(Role::kLearning)
        .value_needs("running", "algorithm", "ppo")
        .value_needs("running", "device", "cpu"),
    Choices{{"minibatch", "batch", "running", "off"}},
    "Samples over which advantages are normalised; running: those of earlier blocks, too.");
  v("norm_adv_decay", norm_adv_decay, later(Role::kLearning).needs("norm_adv", "running"),
    Range{0.0, 1.0}, "A block's factor of the weights of earlier ones.");
  const auto for_host_ppo = [](const KeyMark& mark) {
    return mark.needs("algorithm", "ppo").needs("device", "cpu");
  };
  v("proximal_decay", proximal_decay,
    for_host_ppo(later(Role::kLearning))
        .needs("recurrent", "none")
        .needs("mirror_samples", "false"),
    Range{0.0, 1.0},
    "Above 0: clip ratios against averaged parameters (PPO-EWMA); a step's factor of earlier "
    "weights.");
  // Before a block's first step, ratios are 1 and values are the old ones: nothing is clipped. With
  // norm_value = running, values are those of other statistics.
  const auto for_later_steps = [for_ppo](const KeyMark& mark) {
    return for_ppo(mark).needs("update_epochs x minibatches or norm_value = running", "above 1");
  };
  const KeyMark for_mirror = later(Role::kLearning)
                                 .needs("algorithm", "ppo")
                                 .needs("device", "cpu")
                                 .needs("recurrent", "none");
  const auto for_clipped_values = [for_later_steps](const KeyMark& mark) {
    return for_later_steps(mark).needs("vf_coef", kAboveZero);
  };
  const auto for_clipped_ratios = [for_ppo](const KeyMark& mark) {
    return for_ppo(mark).needs(
        "update_epochs x minibatches or norm_value = running or proximal_decay = above 0",
        "above 1");
  };
  v("clip_coef", clip_coef, for_clipped_ratios(Role::kLearning), Range{0.0, 100.0},
    "Clip range of the policy ratio, and of the value.");
  v("clip_schedule", clip_schedule,
    for_clipped_ratios(later(Role::kLearning)).needs("clip_coef", kAboveZero),
    Choices{{"constant", "linear"}}, "linear: clip_coef falls to 0 over the run.");
  v("clip_vloss", clip_vloss, for_clipped_values(Role::kLearning), "Clip the value loss too.");
  v("clip_vloss_coef", clip_vloss_coef,
    for_clipped_values(later(Role::kLearning)).needs("clip_vloss", "true"), Range{0.0, 1e6},
    "Clip range of the value; 0: clip_coef.");
  v("clip_vloss_rule", clip_vloss_rule,
    for_clipped_values(later(Role::kLearning)).needs("clip_vloss", "true"),
    Choices{{"larger", "clipped"}},
    "Value loss: the larger of both, or the clipped value's (Stable-Baselines3, skrl).");
  v("ent_coef", ent_coef, for_ppo(Role::kLearning), Range{0.0, 100.0},
    "Weight of the entropy bonus.");
  v("ent_schedule", ent_schedule, for_ppo(later(Role::kLearning)).needs("ent_coef", kAboveZero),
    Choices{{"constant", "linear"}}, "linear: ent_coef falls to 0 over the run.");
  v("vf_coef", vf_coef, for_drawn(Role::kLearning), Range{0.0, 1000.0},
    "Weight of the value loss.");
  v("bounds_coef", bounds_coef, for_ppo(later(Role::kLearning)).needs("actions", "Box"),
    Range{0.0, 1e6}, "Weight of the mean actions' squared excess over 1.1 (rl_games); 0: off.");
  v("mirror_samples", mirror_samples, for_mirror, "Learn from each sample's mirror image, too.");
  v("mirror_coef", mirror_coef, for_mirror.needs("actions", "Box"), Range{0.0, 1e6},
    "Weight of the squared distance from a mirrored state's mean action to its image; 0: off.");
  v("sapg_policies", sapg_policies,
    for_host_ppo(later(Role::kNetwork)).needs("recurrent", "none").needs("proximal_decay", "0"),
    Range{1, kMany},
    "SAPG's policies: a leader and its followers, each in as many environments; 1: PPO.");
  const auto for_sapg = [](const KeyMark& mark) { return mark.needs("sapg_policies", "above 1"); };
  v("sapg_vector_size", sapg_vector_size, for_sapg(later(Role::kNetwork)), Range{1, 4096},
    "Size of each policy's learnt vector, an input of the network that tells which policy acts.");
  v("sapg_entropy_scale", sapg_entropy_scale, for_sapg(later(Role::kLearning)), Range{0.0, 100.0},
    "Policy i of M, counted from 0, has ent_coef + this x 0.5 x (1 - i / (M - 1)). The last is the "
    "leader.");
  v("sapg_followers", sapg_followers, for_sapg(later(Role::kLearning)), Range{0, kMany},
    "Number of followers from whose samples the leader also learns; drawn at random each block.");
  v("sapg_clip", sapg_clip, for_sapg(later(Role::kLearning)).needs("sapg_followers", kAboveZero),
    Choices{{"code", "paper"}},
    "Ratios of followers' samples are clipped around 1 (code), or around the old leader's "
    "probability divided by the follower's (paper).");
  v("target_kl", target_kl,
    for_ppo(Role::kLearning).needs("(update_epochs - 1) x minibatches", "above 1"),
    Range{0.0, 100.0}, "Stop a block's epochs when the KL exceeds this; 0: off.");

  v.group("Exploration of PQN");
  v("eps_start", eps_start,
    later(Role::kLearning).needs("algorithm", "pqn").needs("eps_decay", kAboveZero),
    Range{0.0, 1.0}, "Initial share of random actions.");
  v("eps_finish", eps_finish, later(Role::kLearning).needs("algorithm", "pqn"), Range{0.0, 1.0},
    "Final share of random actions, after eps_decay.");
  v("eps_decay", eps_decay, later(Role::kLearning).needs("algorithm", "pqn"), Range{0.0, 1.0},
    "Share of the run in which random actions fall linearly from eps_start to eps_finish.");

  v.group("Exploration of RND");
  v("ext_coef", ext_coef, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1e6},
    "Weight of the advantages of rewards.");
  v("int_coef", int_coef, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1e6},
    "Weight of the advantages of intrinsic rewards.");
  v("int_gamma", int_gamma, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1.0},
    "Discount per step of intrinsic rewards; continues across episode ends.");
  v("update_proportion", update_proportion, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    Range{1e-6, 1.0}, "Share of each minibatch that trains the predictor.");
  v("num_iterations_obs_norm_init", num_iterations_obs_norm_init,
    later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0, 1e6},
    "Blocks of random play before the run, for observation statistics.");
  v("rnd_hidden_sizes", rnd_hidden_sizes, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    "Hidden layers of predictor and target, after the encoder's convolutions.");
  v("rnd_outputs", rnd_outputs, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    Range{1, 65536}, "Outputs of target and predictor.");

  v.group("Distillation");
  const auto for_distill = [](const KeyMark& mark) { return mark.needs("algorithm", "distill"); };
  v("teacher", teacher, for_distill(later(Role::kLearning)),
    "Run or checkpoint whose policy the student copies; it stays as it is.");
  v("teacher_reads", teacher_reads, for_distill(later(Role::kLearning)),
    Choices{{"auto", "policy", "critic"}},
    "Observation that the teacher reads: the policy's or the critic's; auto: the one that fits.");
  v("distill_loss", distill_loss, for_distill(later(Role::kLearning)).needs("actions", "Box"),
    Choices{{"mse", "huber"}},
    "Loss of the student's mean action: squared distance to the teacher's, or Huber's. Discrete "
    "actions have cross entropy.");
  v("gradient_length", gradient_length, for_distill(later(Role::kLearning)), Range{1, kMany},
    "Steps of all environments in each gradient step, in order of time. Must divide num_steps; "
    "truncates backpropagation through time.");

  v.group("Network");
  v("encoder", encoder, later(Role::kNetwork), Choices{{"mlp", "minatar", "nature", "impala"}},
    "Convolutions before the hidden layers; sets hidden_sizes and activation if you do not.");
  v("group_encoders", group_encoders, later(Role::kNetwork).needs("observations", "groups"),
    "Layers of single groups of observations: image:nature/256, state:mlp/64. Others: images by "
    "`encoder`, vectors as they are.");
  v("policy_groups", policy_groups, later(Role::kNetwork).needs("observations", "groups"),
    "Groups of observations that the policy reads; none: all.");
  v("critic_groups", critic_groups, later(Role::kNetwork).needs("observations", "groups"),
    "Groups of observations that the critic reads; none: all.");
  v("layer_norm", layer_norm, later(Role::kNetwork), Choices{{"off", "channels", "all"}},
    "Normalise before each activation: over a pixel's channels, or over the whole layer.");
  v("weight_init", weight_init, later(Role::kNetwork),
    Choices{{"orthogonal", "he_normal", "lecun_normal", "torch", "torch_weights", "lecun_uniform"}},
    "Initial weights of hidden layers. With he_normal or lecun_normal, action values use "
    "lecun_normal. Uniform ones set heads, too: torch's, the same with biases 0, or JAX's.");
  v("hidden_sizes", hidden_sizes, Role::kNetwork, "Width of each hidden layer.");
  v("activation", activation, Role::kNetwork, Choices{{"tanh", "relu", "elu"}},
    "Hidden activation.");
  v("shared_encoder", shared_encoder, for_ppo(Role::kNetwork),
    "One body for policy and value instead of two.");
  v("recurrent", recurrent,
    later(Role::kNetwork).needs("algorithm", "ppo or pqn or distill").needs("device", "cpu"),
    Choices{{"none", "mingru", "gru", "lstm"}},
    "Recurrent cell, by default after the hidden layers; minibatches are then sequences.");
  v("recurrent_units", recurrent_units,
    later(Role::kNetwork).needs("recurrent", "gru or lstm").needs("shared_encoder", "false"),
    Range{0, 65536},
    "Units of a cell before the hidden layers; 0: it follows them, as wide as the last.");
  v("sequence_length", sequence_length,
    for_drawn(later(Role::kLearning)).needs("recurrent", "mingru or gru or lstm"), Range{0},
    "Steps of a sequence, which gradients do not leave; divides num_steps; 0: num_steps.");
  const auto for_gaussian = [](const KeyMark& mark) {
    return mark.needs("actions", "Box").needs("action_distribution", "gaussian or squashed");
  };
  v("action_distribution", action_distribution, later(Role::kNetwork).needs("actions", "Box"),
    Choices{{"gaussian", "squashed", "beta"}},
    "Policy of a Box: a Gaussian clipped to the bounds, its tanh scaled to them, or a Beta.");
  v("log_std_init", log_std_init, for_gaussian(Role::kLearning), Range{-20.0, 2.0},
    "Initial log standard deviation of a Gaussian policy.");
  v("std_form", std_form, for_gaussian(later(Role::kNetwork)),
    Choices{{"log", "scalar", "state_dependent", "sde"}},
    "Deviation: a parameter's exponential, a parameter (RSL-RL), an output's exponential, or that "
    "of noise linear in the features (Stable-Baselines3's use_sde).");
  const auto for_bounds = [for_gaussian](const KeyMark& mark) {
    return for_gaussian(mark).needs("std_form", "log or scalar or state_dependent");
  };
  v("std_min", std_min, for_bounds(later(Role::kNetwork)), Range{0.0, 1e6},
    "Least standard deviation; 0: none, but 1e-6 for scalar.");
  v("std_max", std_max, for_bounds(later(Role::kNetwork)), Range{0.0, 1e6},
    "Largest standard deviation; 0: none.");
  v("sde_sample_freq", sde_sample_freq, later(Role::kLearning).needs("std_form", "sde"),
    Range{-1, 1 << 20}, "Steps between two draws of the noise; -1: one draw per block.");

  v.group("Normalisation");
  v("norm_obs", norm_obs, Role::kLearning, "Normalise observations by running mean and variance.");
  v("norm_reward", norm_reward, for_drawn(Role::kLearning),
    "Scale rewards by the running standard deviation of discounted returns.");
  v("norm_value", norm_value, later(Role::kLearning).needs("algorithm", "ppo"),
    Choices{{"off", "running", "popart"}},
    "The critic learns values in units of their running statistics (rl_games, skrl); popart also "
    "keeps its values when these change.");
  v("normaliser", normaliser,
    later(Role::kLearning).needs("norm_obs or norm_reward", "true").was("gymnasium"),
    Choices{{"exact", "gymnasium"}},
    "Statistics for norm_obs and norm_reward: exact (of observed data only), or gymnasium (like "
    "its wrappers).");
  v("obs_eps", obs_eps, later(Role::kLearning).needs("norm_obs", "true"), Range{1e-12, 1.0},
    "Small number that is added to an observation's variance or deviation.");
  v("obs_eps_in", obs_eps_in, later(Role::kLearning).needs("norm_obs", "true"),
    Choices{{"variance", "deviation"}},
    "obs_eps is added to the variance, or to its root (RSL-RL, skrl).");
  v("clip_obs", clip_obs, KeyMark(Role::kLearning).needs("norm_obs", "true"), Range{0.0},
    "Normalised observations are clipped to +- this; 0: not.");
  v("clip_reward", clip_reward, for_drawn(Role::kLearning).needs("norm_reward", "true"),
    Range{1e-6}, "Scaled rewards are clipped to +- this.");
  v("reward_scale", reward_scale, for_drawn(later(Role::kLearning)), Range{1e-9, 1e9},
    "Factor of the rewards that the update learns from; reported returns do not change.");

  v.group("Records and machine");
  v("eval_interval", eval_interval, Role::kRecord, Range{0},
    "Evaluate every so many iterations; 0: never during training.");
  v("eval_episodes", eval_episodes, KeyMark(Role::kMeasure).needs("eval_interval", kAboveZero),
    Range{1, kMany}, "Episodes per evaluation.");
  v("eval_actions", eval_actions, later(Role::kMeasure), Choices{{"most_likely", "sampled"}},
    "Actions of evaluations, also of eval and watch: most_likely, or sampled as in training.");
  v("checkpoint_interval", checkpoint_interval, Role::kRecord, Range{1},
    "Save every so many iterations, and at the end.");
  v("keep_checkpoints", keep_checkpoints, Role::kRecord, Range{0},
    "Number of newest checkpoints to keep; 0: all.");
  v("log_interval", log_interval, Role::kRecord, Range{1},
    "Record metrics every so many iterations.");
  v("tensorboard", tensorboard, Role::kRecord, "Also write a TensorBoard event file.");
  v("instruments", instruments, Role::kMeasure, Choices{instrument_names()},
    "Further measurements during training; the run's bits do not change.");
  v("instrument_every", instrument_every, KeyMark(Role::kMeasure).needs("instruments", kIsSet),
    Range{1}, "Measure every so many iterations, and in the last.");
  v("hashes", hashes, later(Role::kRecord),
    "Write content hashes of every block for `broadloom diff`.");
  v("device", device, later(Role::kMachine), Choices{{"cpu", "cuda"}},
    "cuda: a GPU collects and learns; it refuses unsupported settings (docs/gpu.md).");
  v("isa", isa, Role::kMachine, Choices{{"auto", "avx512", "avx2", "neon", "sse4", "exact"}},
    "Instruction set of the arithmetic; auto: the widest of this processor.");
  v("precision", precision, Role::kLearning, Choices{{"fp32", "tf32"}},
    "tf32: a GPU rounds the inputs of hidden layers' products to TF32; sums stay float32.");
  v("memory_limit", memory_limit, later(Role::kMachine), Range{0, 1e12},
    "Memory that the run may use, MB (10^6 bytes); 0: all that it can get.");
}

}  // namespace broadloom
