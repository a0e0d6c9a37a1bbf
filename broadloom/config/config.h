// The settings of one training run: every key of a TOML file, a flag and the manifest.
//
//   const EnvSpec spec = env_spec("CartPole-v1", {}).take();
//   Config config = default_config(spec);      // the environment's defaults
//   config.num_envs = 16;                      // N
//   config.num_steps = 128;                    // T; a block has N * T transitions
//   BROADLOOM_TRY(set_config(config, "learning_rate", "1e-3"));  // the same from text
//   BROADLOOM_TRY(validate(config));
//
// Keys carry CleanRL's names. Where a key exists in CleanRL, its default is that of `ppo` for
// Discrete actions and of `ppo_continuous_action` for Box actions. docs/reference/config.md has
// every key with its range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/algorithm_names.h"
#include "broadloom/config/key_table.h"
#include "broadloom/config/shape_schedule.h"
#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/core/toml_tree.h"
#include "broadloom/env/spec.h"
#include "broadloom/instruments/registry.h"

namespace broadloom {

// A plain struct: set its fields, then call validate(). Fields stand in the order of the
// documentation, not of their alignment.
struct Config {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string env_id = "CartPole-v1";
  std::string algorithm = "ppo";
  // Options of the environment, keys without the "env." prefix, "strata.<name>.<constant>" and
  // "disturb.<name>"; not part of visit_fields.
  Overrides env_options;
  std::uint64_t seed = 1;
  std::int64_t total_timesteps = 500000;
  double learning_rate = 2.5e-4;
  int num_envs = 4;
  int num_steps = 128;
  // N x T from shares of the run on; empty: num_envs x num_steps all along.
  ShapeSchedule shape_schedule;
  std::string lr_schedule = "linear";
  double desired_kl = 0.01;
  double gamma = 0.99;
  double gae_lambda = 0.95;
  int num_minibatches = 4;
  int minibatch_size = 0;
  int update_epochs = 4;
  std::string norm_adv = "minibatch";
  double clip_coef = 0.2;
  std::string clip_schedule = "constant";
  bool clip_vloss = true;
  double ent_coef = 0.01;
  std::string ent_schedule = "constant";
  double vf_coef = 0.5;
  double max_grad_norm = 0.5;
  double target_kl = 0.0;
  double adam_eps = 1e-5;
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
  double reward_scale = 1.0;
  // How learning takes a time limit: "bootstrap", "as_termination", "state_value", "zero".
  std::string truncation_mode = "bootstrap";
  std::string encoder = "mlp";
  std::string layer_norm = "off";
  std::string weight_init = "orthogonal";
  std::vector<int> hidden_sizes = {64, 64};
  std::string activation = "tanh";
  bool shared_encoder = false;
  double log_std_init = 0.0;
  bool norm_obs = false;
  bool norm_reward = false;
  // "exact", or "gymnasium": NormaliserRule (broadloom/rollout/normalizer.h).
  std::string normaliser = "exact";
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
  int checkpoint_interval = 10;
  int keep_checkpoints = 2;
  int log_interval = 1;
  bool tensorboard = true;
  std::vector<std::string> instruments;
  int instrument_every = 50;
  bool hashes = false;
  std::string device = "cpu";
  std::string isa = "auto";
  std::string precision = "fp32";
  std::int64_t memory_limit = 0;

  // B = num_envs * num_steps, the transitions of one rollout block; of the first blocks, where a
  // schedule lets others follow.
  std::int64_t batch_size() const { return std::int64_t{num_envs} * num_steps; }
  // F, seed families that the environments fall into.
  int families() const { return seed_families > 0 ? seed_families : num_envs; }
  // Gradient steps per epoch: num_minibatches, or ceil(B / minibatch_size) where that is set.
  std::int64_t minibatch_count() const {
    if (minibatch_size <= 0) return num_minibatches;
    return (batch_size() + minibatch_size - 1) / minibatch_size;
  }
  // Their sizes differ by one sample at most: ceil(B / minibatch_count()).
  std::int64_t largest_minibatch() const {
    return (batch_size() + minibatch_count() - 1) / minibatch_count();
  }

  // Blocks of the run, whole ones only: total_timesteps / B rounded down, as CleanRL does, where
  // all are of one shape.
  std::vector<Stretch> run_stretches() const;
  // How many they are: calls of Trainer::iterate() in a whole run.
  std::int64_t num_iterations() const;
  // Environment steps of all of them: what is trained of total_timesteps.
  std::int64_t trained_steps() const;
  // Gradient steps of the run, where target_kl stops none of its epochs.
  std::int64_t gradient_steps() const;
  // Environment steps that lie behind when an iteration, 1 being the first, begins.
  std::int64_t steps_before(std::int64_t iteration) const;

  // Phases of shape_schedule; 1 where there is none.
  std::size_t phase_count() const {
    return shape_schedule.empty() ? 1 : shape_schedule.phases.size();
  }
  // The same run with all blocks as in one phase: N, T and minibatches are those, and there is no
  // schedule.
  Config of_phase(std::size_t phase) const;
  // As the block is that begins with so many steps behind.
  Config at_step(std::int64_t global_step) const;
  // Environments that there are: N, or the most of any phase.
  int most_envs() const;

  // Every key: name, field, role (broadloom/core/key_role.h; later(...) for a new one, .needs(...)
  // for one that only acts beside another's value), range, help.
  template <class Visitor>
  void visit_fields(Visitor&& visitor);

  // What Stable-Baselines3, RLlib, rl_games, Spinning Up and habit call our keys. They are not
  // taken, since values may mean something else there, but named in the message.
  static std::span<const Alias> aliases();
};

// The defaults for an environment: CleanRL's `ppo` for Discrete actions, `ppo_continuous_action`
// for Box actions; env_id is spec.id.
Config default_config(const EnvSpec& spec);

// Sets one key, "env.<option>", "strata.<name>.<constant>" and "disturb.<name>" included (kept as
// text; the environment checks them when it is made).
// CleanRL's anneal_lr (true: linear, false: constant) and boolean norm_adv are understood too.
// kInvalidConfig, with the nearest key or the range, leaves `config` as it was.
Status set_config(Config& config, std::string_view key, std::string_view text);

// The overrides in a TOML file: flat keys, an [env] table and [strata.<name>] tables, in file order
// by line. Keys, types
// and ranges are checked here, where the line is known: errors read "file:line: what". kNotFound
// when there is no such file, kIo when it cannot be read, kInvalidConfig for the rest.
Result<Overrides> read_toml_overrides(const std::string& path);
// The same with the line that each stands on, for errors that only a whole config shows.
struct TomlOverrides {
  Overrides overrides;          // in file order
  std::vector<unsigned> lines;  // of each
};
// Errors as read_toml_overrides().
Result<TomlOverrides> read_toml_lines(const std::string& path);
// The same from text; `name` stands where the file name would in messages.
Result<Overrides> parse_toml_overrides(std::string_view text, const std::string& name);
// The same from a table that is part of a larger file.
Result<Overrides> toml_overrides(const TomlNode& table, const std::string& name);

// Ranges of single fields and rules between fields; kInvalidConfig says what was got, what was
// expected and what to change. Knows nothing of which environments exist.
Status validate(const Config& config);

// That lr_schedule = adaptive can move the learning rate: it has one within the bounds, and a
// gradient step that sees what an earlier one of the block did. Apart from validate(), for runs are
// there that began without this check.
Status check_adaptive_rate(const Config& config);

// Every key with its exact text, env options last: applying them to any Config gives this one back
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
    "What learns: how it acts, what it learns from a block, and how it updates.");
  v("seed", seed, Role::kSeed, Range{0}, "Every random number of the run follows from it.");
  v("total_timesteps", total_timesteps, Role::kBudget, Range{1},
    "Environment steps of the run, over all environments; whole blocks only.");
  v("num_envs", num_envs, Role::kShape, Range{1, kMany}, "N, environments stepped side by side.");
  v("num_steps", num_steps, Role::kShape, Range{1, kMany},
    "T, steps per environment in a rollout block.");
  v("shape_schedule", shape_schedule, later(Role::kShape),
    "N x T from shares of the run on: 8x128 @ 0, 64x16 @ 0.3 (64x16/256: M, too); none: off.");
  v("stagger_starts", stagger_starts, Role::kLearning,
    "Spread the environments' first episodes in phase, so that they do not end together.");
  v("stagger_by", stagger_by, later(Role::kLearning).needs("stagger_starts", "true"),
    Choices{{"actions", "age"}},
    "How: by random actions, or by time limits that come earlier for the first episode.");
  v("max_episode_steps", max_episode_steps, Role::kTask, Range{0},
    "Time limit of an episode; 0: the environment's own.");
  v("seed_families", seed_families, later(Role::kLearning), Range{0, kMany},
    "F, a divisor of num_envs: environments of one family draw the same; 0: all independent.");
  v("strata_sampling", strata_sampling, later(Role::kLearning).needs("[strata]", kIsSet),
    Choices{{"sampled", "stratified"}},
    "How episodes draw from [strata.<name>]: independently, or each bin equally often.");
  v("curriculum", curriculum, later(Role::kLearning),
    "Strata that each environment goes through by its success, the easiest first; none: off.");
  v("curriculum_up", curriculum_up, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{0.0, 1.0},
    "Share of successes, in so many episodes, from which on an environment goes a level up.");
  v("curriculum_down", curriculum_down, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{0.0, 1.0}, "Share of successes below which it goes a level down.");
  v("curriculum_episodes", curriculum_episodes, later(Role::kLearning).needs("curriculum", kIsSet),
    Range{1},
    "Episodes of an environment that a decision is over; 1: a success up, a failure down.");

  v.group("Optimiser");
  v("learning_rate", learning_rate, Role::kLearning, Range{0.0, 10.0},
    "Adam's step size at the start.");
  v("lr_schedule", lr_schedule, Role::kLearning, Choices{{"linear", "constant", "adaptive"}},
    "linear: to 0 over the run; adaptive: follows desired_kl.");
  v("desired_kl", desired_kl, KeyMark(Role::kLearning).needs("lr_schedule", "adaptive"),
    Range{1e-8, 100.0}, "KL per update that lr_schedule=adaptive seeks.");
  v("adam_eps", adam_eps, Role::kLearning, Range{0.0, 1.0}, "Adam's epsilon.");
  v("max_grad_norm", max_grad_norm, Role::kLearning, Range{1e-6},
    "Gradients longer than this, over all parameters, are shortened to it.");

  v.group("Advantages and loss");
  v("gamma", gamma, Role::kLearning, Range{0.0, 1.0}, "Discount per step.");
  v("gae_lambda", gae_lambda, Role::kLearning, Range{0.0, 1.0},
    "Lambda of generalised advantage estimation, and of PQN's Q(lambda).");
  v("truncation_mode", truncation_mode, Role::kLearning,
    Choices{{"bootstrap", "as_termination", "state_value", "zero"}},
    "At a time limit: V(final observation); as a true end, as CleanRL; V(s_t); no TD error.");
  v("num_minibatches", num_minibatches,
    KeyMark(Role::kMinibatches).stands_only_with("minibatch_size", "0"), Range{1},
    "Gradient steps per epoch.");
  v("minibatch_size", minibatch_size, Role::kMinibatches, Range{0},
    "M, samples per gradient step; 0: from num_minibatches, otherwise it decides.");
  v("update_epochs", update_epochs, Role::kMinibatches, Range{1, 10000},
    "K, passes over each block.");
  v("norm_adv", norm_adv, for_ppo(Role::kLearning), Choices{{"minibatch", "batch", "off"}},
    "Over what advantages are normalised.");
  v("clip_coef", clip_coef, for_ppo(Role::kLearning), Range{0.0, 100.0},
    "Clip range of the policy ratio, and of the value.");
  v("clip_schedule", clip_schedule, for_ppo(later(Role::kLearning)),
    Choices{{"constant", "linear"}}, "linear: clip_coef falls to 0 over the run.");
  v("clip_vloss", clip_vloss, for_ppo(Role::kLearning), "Clip the value loss too.");
  v("ent_coef", ent_coef, for_ppo(Role::kLearning), Range{0.0, 100.0},
    "Weight of the entropy bonus.");
  v("ent_schedule", ent_schedule, for_ppo(later(Role::kLearning)).needs("ent_coef", kAboveZero),
    Choices{{"constant", "linear"}}, "linear: ent_coef falls to 0 over the run.");
  v("vf_coef", vf_coef, Role::kLearning, Range{0.0, 1000.0}, "Weight of the value loss.");
  v("target_kl", target_kl, for_ppo(Role::kLearning), Range{0.0, 100.0},
    "Stop a block's epochs once the KL exceeds this; 0: off.");

  v.group("Exploration of PQN");
  v("eps_start", eps_start, later(Role::kLearning).needs("algorithm", "pqn"), Range{0.0, 1.0},
    "First share of actions that are drawn from all, instead of the best one.");
  v("eps_finish", eps_finish, later(Role::kLearning).needs("algorithm", "pqn"), Range{0.0, 1.0},
    "The last one, from eps_decay on.");
  v("eps_decay", eps_decay, later(Role::kLearning).needs("algorithm", "pqn"), Range{0.0, 1.0},
    "Share of the run in which it goes from the one to the other, linearly.");

  v.group("Exploration of RND");
  v("ext_coef", ext_coef, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1e6},
    "Weight of the advantages of rewards.");
  v("int_coef", int_coef, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1e6},
    "Weight of the advantages of intrinsic rewards.");
  v("int_gamma", int_gamma, later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0.0, 1.0},
    "Discount per step of intrinsic rewards, over the ends of episodes.");
  v("update_proportion", update_proportion, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    Range{1e-6, 1.0}, "Share of each minibatch that trains the predictor.");
  v("num_iterations_obs_norm_init", num_iterations_obs_norm_init,
    later(Role::kLearning).needs("algorithm", "ppo_rnd"), Range{0, 1e6},
    "Blocks of random play that observation statistics begin with.");
  v("rnd_hidden_sizes", rnd_hidden_sizes, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    "Hidden layers of predictor and target, after the convolutions of encoder.");
  v("rnd_outputs", rnd_outputs, later(Role::kLearning).needs("algorithm", "ppo_rnd"),
    Range{1, 65536}, "Numbers of the target that are predicted.");

  v.group("Network");
  v("encoder", encoder, later(Role::kNetwork), Choices{{"mlp", "minatar", "nature", "impala"}},
    "Convolutions before the hidden layers; hidden_sizes and activation follow it, if not set.");
  v("layer_norm", layer_norm, later(Role::kNetwork), Choices{{"off", "channels", "all"}},
    "Normalise before each activation: over a pixel's channels, or over the whole layer.");
  v("weight_init", weight_init, later(Role::kNetwork),
    Choices{{"orthogonal", "he_normal", "lecun_normal"}},
    "How weights of hidden layers begin; action values are lecun_normal with the last two.");
  v("hidden_sizes", hidden_sizes, Role::kNetwork, "Width of each hidden layer.");
  v("activation", activation, Role::kNetwork, Choices{{"tanh", "relu", "elu"}},
    "Hidden activation.");
  v("shared_encoder", shared_encoder, Role::kNetwork,
    "One body for policy and value instead of two.");
  v("log_std_init", log_std_init, KeyMark(Role::kLearning).needs("actions", "Box"),
    Range{-20.0, 2.0}, "First log standard deviation of a Gaussian policy.");

  v.group("Normalisation");
  v("norm_obs", norm_obs, Role::kLearning, "Normalise observations by running mean and variance.");
  v("norm_reward", norm_reward, Role::kLearning,
    "Scale rewards by the running deviation of discounted returns.");
  v("normaliser", normaliser,
    later(Role::kLearning).needs("norm_obs or norm_reward", "true").was("gymnasium"),
    Choices{{"exact", "gymnasium"}},
    "How those statistics are made: exact, of what was seen alone; gymnasium, as its wrappers do.");
  v("clip_obs", clip_obs, KeyMark(Role::kLearning).needs("norm_obs", "true"), Range{1e-6},
    "Normalised observations are clipped to +- this.");
  v("clip_reward", clip_reward, KeyMark(Role::kLearning).needs("norm_reward", "true"), Range{1e-6},
    "Scaled rewards are clipped to +- this.");
  v("reward_scale", reward_scale, later(Role::kLearning), Range{1e-9, 1e9},
    "Rewards are learnt from times this; episodes' returns stay as they are.");

  v.group("Records and machine");
  v("eval_interval", eval_interval, Role::kRecord, Range{0},
    "Evaluate every so many iterations; 0: never during training.");
  v("eval_episodes", eval_episodes, KeyMark(Role::kMeasure).needs("eval_interval", kAboveZero),
    Range{1, kMany}, "Episodes of one such evaluation.");
  v("checkpoint_interval", checkpoint_interval, Role::kRecord, Range{1},
    "Save every so many iterations, and at the end.");
  v("keep_checkpoints", keep_checkpoints, Role::kRecord, Range{0},
    "Newest checkpoints that stay in the folder; 0: all of them.");
  v("log_interval", log_interval, Role::kRecord, Range{1},
    "Record metrics every so many iterations.");
  v("tensorboard", tensorboard, Role::kRecord,
    "Write a TensorBoard event file beside metrics.jsonl.");
  v("instruments", instruments, Role::kMeasure, Choices{instrument_names()},
    "What else is measured as training goes on; the run's bits stay the same.");
  v("instrument_every", instrument_every, KeyMark(Role::kMeasure).needs("instruments", kIsSet),
    Range{1}, "Measure every so many iterations, and in the last.");
  v("hashes", hashes, later(Role::kRecord),
    "Write content hashes of every block beside the metrics, for `broadloom diff`.");
  v("device", device, later(Role::kMachine), Choices{{"cpu", "cuda"}},
    "cuda: environments, rollout and update run on a GPU; what it cannot do yet is refused.");
  v("isa", isa, Role::kMachine, Choices{{"auto", "avx512", "avx2", "neon", "sse4", "exact"}},
    "Instruction set of the arithmetic; auto: the widest this processor has.");
  v("precision", precision, Role::kLearning, Choices{{"fp32", "tf32"}},
    "tf32: a GPU rounds the inputs of hidden layers' products to TF32; sums stay float32.");
  v("memory_limit", memory_limit, later(Role::kMachine), Range{0, 1e12},
    "MB (10^6 bytes) that the run may plan to hold; 0: what the machine has.");
}

}  // namespace broadloom
