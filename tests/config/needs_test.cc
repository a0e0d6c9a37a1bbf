// Settings that do nothing are refused, and help says what each key needs.
#include "broadloom/config/needs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broadloom/config/keys.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

struct Idle {
  std::string key, value;  // which do nothing
  Overrides beside;        // as the other keys stand here
  std::string because;     // the refusal's "while" and "it needs"
  Overrides acts_with;     // and do something here
};

const std::vector<Idle>& idle_settings() {
  const Overrides pqn{{"algorithm", "pqn"}}, rnd{{"algorithm", "ppo_rnd"}};
  const Overrides distill{{"algorithm", "distill"}};
  const std::string is_distill = "algorithm = distill; it needs algorithm = ppo or pqn or ppo_rnd";
  const std::string is_ppo = "algorithm = ppo; it needs algorithm = ";
  const std::string is_pqn = "algorithm = pqn; it needs algorithm = ppo or ppo_rnd";
  const std::string is_discrete = "actions = Discrete; it needs actions = Box";
  const Overrides box{{"env_id", "Pendulum-v1"}};
  const Overrides turntable{{"env_id", "Turntable-v0"}};
  const std::string one_array = "observations = one array; it needs observations = groups";
  const Overrides beta{{"env_id", "Pendulum-v1"}, {"action_distribution", "beta"}};
  const std::string is_beta =
      "action_distribution = beta; it needs action_distribution = gaussian or squashed";
  const std::string one_policy = "sapg_policies = 1; it needs sapg_policies above 1";
  const Overrides sapg{{"sapg_policies", "2"}};
  const std::string no_levels = "curriculum is not set; it needs curriculum set";
  const Overrides levels{{"curriculum", "easy,hard"},
                         {"strata.easy.half_length", "0.4..0.6"},
                         {"strata.hard.half_length", "0.05..0.1"}};
  const Overrides one_step{{"update_epochs", "1"}, {"num_minibatches", "1"}};
  const Overrides two_epochs{{"update_epochs", "2"}, {"num_minibatches", "1"}};
  const std::string is_one_step =
      "update_epochs x minibatches = 1 and norm_value = off; it needs update_epochs x minibatches "
      "above 1, or norm_value = running";
  const std::string is_one_ratio =
      "update_epochs x minibatches = 1 and norm_value = off and proximal_decay = 0; it needs "
      "update_epochs x minibatches above 1, or norm_value = running, or proximal_decay above 0";
  const std::string before_last = "(update_epochs - 1) x minibatches";
  const std::string needs_more = "; it needs " + before_last + " above 1";
  const std::string no_values = "vf_coef = 0; it needs vf_coef above 0";
  static const std::vector<Idle> all = {
      {"stagger_starts",
       "true",
       {{"num_envs", "1"}},
       "num_envs = 1 and shape_schedule is not set; it needs num_envs above 1, or shape_schedule "
       "set",
       {{"num_envs", "2"}}},
      {"gae_lambda",
       "0.9",
       {{"num_envs", "8"}, {"num_steps", "1"}, {"num_minibatches", "1"}},
       "num_steps = 1 and shape_schedule is not set; it needs num_steps above 1, or "
       "shape_schedule set",
       {{"shape_schedule", "8x1/8 @ 0, 4x2/8 @ 0.5"}}},
      {"gae_lambda",
       "0.9",
       {{"gamma", "0"}},
       "gamma = 0 and algorithm = ppo; it needs gamma above 0, or algorithm = ppo_rnd",
       {{"gamma", "0"}, {"algorithm", "ppo_rnd"}}},
      {"gae_weights", "normalised", pqn, "algorithm = pqn; it needs algorithm = ppo", {}},
      {"gae_weights", "normalised", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"gae_weights", "normalised", distill, "algorithm = distill; it needs algorithm = ppo", {}},
      {"gae_weights", "normalised", {{"gamma", "0"}}, "gamma = 0; it needs gamma above 0", {}},
      {"gae_weights",
       "normalised",
       {{"gae_lambda", "0"}},
       "gae_lambda = 0; it needs gae_lambda above 0",
       {{"gae_lambda", "1"}}},
      {"gae_weights",
       "normalised",
       {{"num_envs", "8"}, {"num_steps", "1"}, {"num_minibatches", "1"}},
       "num_steps = 1 and shape_schedule is not set; it needs num_steps above 1, or "
       "shape_schedule set",
       {{"shape_schedule", "8x1/8 @ 0, 4x2/8 @ 0.5"}}},
      {"shared_encoder", "true", pqn, is_pqn, rnd},
      {"group_encoders", "turn:mlp/4", {}, one_array, turntable},
      {"policy_groups", "image", {}, one_array, turntable},
      {"critic_groups", "image", {}, one_array, turntable},
      {"eps_start",
       "0.5",
       {{"algorithm", "pqn"}, {"eps_decay", "0"}},
       "eps_decay = 0; it needs eps_decay above 0",
       pqn},
      {"clip_coef", "0.1", one_step, is_one_ratio, two_epochs},
      {"clip_coef",
       "0.1",
       {{"update_epochs", "1"}, {"minibatch_size", "512"}},
       is_one_ratio,
       {{"update_epochs", "1"}, {"minibatch_size", "511"}}},
      {"clip_schedule", "linear", one_step, is_one_ratio, two_epochs},
      {"clip_coef",
       "0.3",
       one_step,
       is_one_ratio,
       {{"update_epochs", "1"}, {"num_minibatches", "1"}, {"proximal_decay", "0.9"}}},
      {"adam_beta1", "0.8", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"adam_beta2", "0.9", pqn, "algorithm = pqn; it needs algorithm = ppo", {}},
      {"mirror_samples", "true", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"mirror_samples",
       "true",
       {{"recurrent", "gru"}},
       "recurrent = gru; it needs recurrent = none",
       {}},
      {"mirror_coef", "0.5", {}, is_discrete, box},
      {"sapg_policies", "2", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"sapg_policies", "2", pqn, "algorithm = pqn; it needs algorithm = ppo", {}},
      {"sapg_policies",
       "2",
       {{"recurrent", "gru"}},
       "recurrent = gru; it needs recurrent = none",
       {}},
      {"sapg_policies",
       "2",
       {{"proximal_decay", "0.9"}},
       "proximal_decay = 0.9; it needs proximal_decay = 0",
       {}},
      {"sapg_policies", "2", {{"device", "cuda"}}, "device = cuda; it needs device = cpu", {}},
      {"sapg_vector_size", "8", {}, one_policy, sapg},
      {"sapg_entropy_scale", "0.1", {}, one_policy, sapg},
      {"sapg_followers", "0", {}, one_policy, sapg},
      {"sapg_clip", "paper", {}, one_policy, sapg},
      {"sapg_clip",
       "paper",
       {{"sapg_policies", "2"}, {"sapg_followers", "0"}},
       "sapg_followers = 0; it needs sapg_followers above 0",
       sapg},
      {"proximal_decay", "0.9", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"proximal_decay",
       "0.9",
       {{"recurrent", "gru"}},
       "recurrent = gru; it needs recurrent = none",
       {}},
      {"proximal_decay",
       "0.9",
       {{"device", "cuda"}},
       "device = cuda; it needs device = cpu",
       {{"device", "cpu"}}},
      {"norm_adv", "running", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"norm_adv",
       "running",
       {{"device", "cuda"}},
       "device = cuda; it needs device = cpu",
       {{"device", "cpu"}}},
      {"norm_adv_decay",
       "0.5",
       {},
       "norm_adv = minibatch; it needs norm_adv = running",
       {{"norm_adv", "running"}}},
      {"clip_schedule",
       "linear",
       {{"clip_coef", "0"}},
       "clip_coef = 0; it needs clip_coef above 0",
       {}},
      {"clip_vloss", "false", one_step, is_one_step, two_epochs},
      {"clip_vloss",
       "false",
       one_step,
       is_one_step,
       {{"update_epochs", "1"}, {"num_minibatches", "1"}, {"norm_value", "running"}}},
      {"clip_vloss", "false", {{"vf_coef", "0"}}, no_values, {}},
      {"clip_vloss_coef", "0.1", {{"vf_coef", "0"}}, no_values, {}},
      {"clip_vloss_rule", "clipped", {{"vf_coef", "0"}}, no_values, {}},
      {"clip_grads",
       "apart",
       {{"max_grad_norm", "0"}},
       "max_grad_norm = 0; it needs max_grad_norm above 0",
       {}},
      {"clip_grads", "apart", {{"vf_coef", "0"}}, no_values, {}},
      {"shuffle",
       "block",
       {{"update_epochs", "1"}},
       "update_epochs = 1; it needs update_epochs above 1",
       {}},
      {"target_kl", "0.02", {{"update_epochs", "1"}}, before_last + " = 0" + needs_more, {}},
      {"target_kl",
       "0.02",
       two_epochs,
       before_last + " = 1" + needs_more,
       {{"update_epochs", "3"}, {"num_minibatches", "1"}}},
      {"stagger_by",
       "age",
       {},
       "stagger_starts = false; it needs stagger_starts = true",
       {{"stagger_starts", "true"}}},
      {"strata_sampling",
       "stratified",
       {},
       "[strata] is not set; it needs [strata] set",
       {{"strata.easy.half_length", "0.4..0.6"}}},
      {"recurrent",
       "mingru",
       rnd,
       "algorithm = ppo_rnd; it needs algorithm = ppo or pqn or distill",
       {}},
      {"recurrent_units",
       "8",
       {{"recurrent", "mingru"}},
       "recurrent = mingru; it needs recurrent = gru or lstm",
       {{"recurrent", "gru"}}},
      {"recurrent_units",
       "8",
       {{"recurrent", "lstm"}, {"shared_encoder", "true"}},
       "shared_encoder = true; it needs shared_encoder = false",
       {{"recurrent", "lstm"}}},
      {"sequence_length",
       "64",
       {},
       "recurrent = none; it needs recurrent = mingru or gru or lstm",
       {{"recurrent", "gru"}}},
      {"norm_value", "running", rnd, "algorithm = ppo_rnd; it needs algorithm = ppo", {}},
      {"curriculum_up", "0.9", {}, no_levels, levels},
      {"curriculum_down", "0.3", {}, no_levels, levels},
      {"curriculum_episodes", "3", {}, no_levels, levels},
      {"learning_rate_end",
       "0.001",
       {{"lr_schedule", "constant"}},
       "lr_schedule = constant; it needs lr_schedule = linear",
       {}},
      {"schedule_timesteps",
       "100000",
       {{"lr_schedule", "constant"}},
       "lr_schedule = constant and clip_schedule = constant and ent_schedule = constant and "
       "algorithm = ppo; it needs lr_schedule or clip_schedule or ent_schedule = linear, or "
       "algorithm = pqn",
       {}},
      {"schedule_timesteps",
       "100000",
       {{"shape_schedule", "4x128 @ 0, 8x64 @ 0.5"}},
       "shape_schedule = 4x128 @ 0, 8x64 @ 0.5; it needs shape_schedule empty",
       {}},
      {"desired_kl",
       "0.02",
       {},
       "lr_schedule = linear; it needs lr_schedule = adaptive",
       {{"lr_schedule", "adaptive"}}},
      {"num_minibatches",
       "8",
       {{"minibatch_size", "64"}},
       "minibatch_size = 64; it needs minibatch_size = 0",
       {}},
      {"num_minibatches",
       "4",
       {{"minibatch_size", "64"}},  // the default says no less
       "minibatch_size = 64; it needs minibatch_size = 0",
       {{"minibatch_size", "0"}}},
      {"dialect", "sb3", pqn, is_pqn, {}},
      {"norm_adv", "batch", pqn, is_pqn, {}},
      {"clip_coef", "0.1", pqn, is_pqn, rnd},
      {"clip_schedule", "linear", pqn, is_pqn, {}},
      {"clip_vloss", "false", pqn, is_pqn, {}},
      {"ent_coef", "0.02", pqn, is_pqn, {}},
      {"ent_schedule", "linear", pqn, is_pqn, {}},
      {"ent_schedule",
       "linear",
       {{"ent_coef", "0"}},
       "ent_coef = 0; it needs ent_coef above 0",
       {}},
      {"target_kl", "0.02", pqn, is_pqn, {}},
      {"eps_start", "0.5", {}, is_ppo + "pqn", pqn},
      {"eps_finish", "0.01", {}, is_ppo + "pqn", pqn},
      {"eps_decay", "0.3", {}, is_ppo + "pqn", pqn},
      {"ext_coef", "1", {}, is_ppo + "ppo_rnd", rnd},
      {"int_coef", "2", {}, is_ppo + "ppo_rnd", rnd},
      {"int_gamma", "0.9", {}, is_ppo + "ppo_rnd", rnd},
      {"update_proportion", "0.5", {}, is_ppo + "ppo_rnd", rnd},
      {"num_iterations_obs_norm_init", "3", {}, is_ppo + "ppo_rnd", rnd},
      {"rnd_hidden_sizes", "32", {}, is_ppo + "ppo_rnd", rnd},
      {"rnd_outputs", "32", {}, is_ppo + "ppo_rnd", rnd},
      {"num_minibatches", "8", distill, is_distill, {}},
      {"minibatch_size", "64", distill, is_distill, {}},
      {"vf_coef", "0.3", distill, is_distill, {}},
      {"gamma", "0.5", distill, is_distill, {}},
      {"norm_reward", "true", distill, is_distill, {}},
      {"clip_reward", "5", distill, is_distill, {{"norm_reward", "true"}}},
      {"gae_lambda", "0.5", distill, is_distill, {}},
      {"truncation_mode", "zero", distill, is_distill, {}},
      {"reward_scale", "2", distill, is_distill, {}},
      {"teacher", "runs/one", {}, is_ppo + "distill", distill},
      {"teacher_reads", "critic", {}, is_ppo + "distill", distill},
      {"gradient_length", "5", {}, is_ppo + "distill", distill},
      {"distill_loss",
       "huber",
       {},
       is_ppo + "distill",
       {{"algorithm", "distill"}, {"env_id", "Pendulum-v1"}}},
      {"log_std_init",
       "-1",
       {},
       "actions = Discrete; it needs actions = Box",
       {{"env_id", "Pendulum-v1"}}},
      {"clip_obs", "5", {}, "norm_obs = false; it needs norm_obs = true", {{"norm_obs", "true"}}},
      {"obs_eps", "0.1", {}, "norm_obs = false; it needs norm_obs = true", {{"norm_obs", "true"}}},
      {"obs_eps_in",
       "deviation",
       {},
       "norm_obs = false; it needs norm_obs = true",
       {{"norm_obs", "true"}}},
      {"std_form", "scalar", {}, is_discrete, box},
      {"std_form", "scalar", beta, is_beta, box},
      {"std_max", "2", beta, is_beta, box},
      {"action_distribution", "beta", {}, is_discrete, box},
      {"std_min", "0.1", {}, is_discrete, box},
      {"std_max", "2", {}, is_discrete, box},
      {"sde_sample_freq",
       "4",
       {{"env_id", "Pendulum-v1"}},
       "std_form = log; it needs std_form = sde",
       {{"env_id", "Pendulum-v1"}, {"std_form", "sde"}}},
      {"std_max",
       "2",
       {{"env_id", "Pendulum-v1"}, {"std_form", "sde"}},
       "std_form = sde; it needs std_form = log or scalar or state_dependent",
       {{"env_id", "Pendulum-v1"}, {"std_form", "log"}}},
      {"bounds_coef", "0.1", {}, is_discrete, box},
      {"kl_estimate",
       "analytic",
       {{"env_id", "Pendulum-v1"}},
       "lr_schedule = linear; it needs lr_schedule = adaptive",
       {{"env_id", "Pendulum-v1"}, {"lr_schedule", "adaptive"}}},
      {"adapt_every",
       "epoch",
       {},
       "lr_schedule = linear; it needs lr_schedule = adaptive",
       {{"lr_schedule", "adaptive"}}},
      {"adaptive_rate_min",
       "1e-06",
       {},
       "lr_schedule = linear; it needs lr_schedule = adaptive",
       {{"lr_schedule", "adaptive"}}},
      {"clip_vloss_coef",
       "0.1",
       {{"clip_vloss", "false"}},
       "clip_vloss = false; it needs clip_vloss = true",
       {{"clip_vloss", "true"}}},
      {"clip_vloss_rule",
       "clipped",
       {{"clip_vloss", "false"}},
       "clip_vloss = false; it needs clip_vloss = true",
       {{"clip_vloss", "true"}}},
      {"clip_grads",
       "apart",
       {{"shared_encoder", "true"}},
       "shared_encoder = true; it needs shared_encoder = false",
       {{"shared_encoder", "false"}}},
      {"shuffle", "off", {{"algorithm", "pqn"}}, is_pqn, {{"algorithm", "ppo"}}},
      {"clip_reward",
       "5",
       {{"env_id", "Pendulum-v1"}, {"norm_reward", "false"}},
       "norm_reward = false; it needs norm_reward = true",
       {{"norm_reward", "true"}}},
      {"normaliser",
       "gymnasium",
       {},
       "norm_obs = false and norm_reward = false; it needs norm_obs or norm_reward = true",
       {{"norm_reward", "true"}}},
      {"eval_episodes",
       "20",
       {},
       "eval_interval = 0; it needs eval_interval above 0",
       {{"eval_interval", "5"}}},
      {"instrument_every",
       "5",
       {},
       "instruments is not set; it needs instruments set",
       {{"instruments", "policy"}}},
  };
  return all;
}

TEST(Needs, SettingsThatDoNothingAreRefusedAndNamed) {
  for (const Idle& one : idle_settings()) {
    Overrides given = one.beside;
    given.emplace_back(one.key, one.value);
    const Status status = resolve_config(given).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_EQ(status.message().find(one.key + ": got " + one.value +
                                    ", but it does nothing while " + one.because + ". "),
              0U)
        << one.key << ": " << status.message();
    given = one.acts_with;
    given.emplace_back(one.key, one.value);
    const Result<Config> acts = resolve_config(given);
    EXPECT_TRUE(acts.ok()) << one.key << ": " << acts.status().message();
  }
}

TEST(Needs, RefusalsSayWhatToDo) {
  EXPECT_EQ(resolve_config({{"desired_kl", "0.02"}}).status().message(),
            "desired_kl: got 0.02, but it does nothing while lr_schedule = linear; it needs "
            "lr_schedule = adaptive. Set that, or leave desired_kl out");
  EXPECT_EQ(resolve_config({{"log_std_init", "-1"}}).status().message(),
            "log_std_init: got -1, but it does nothing while actions = Discrete; it needs actions "
            "= Box. Leave log_std_init out");
}

// A need of one value leaves the others alone.
TEST(Needs, ValuesHaveTheirOwn) {
  EXPECT_TRUE(resolve_config({{"shuffle", "off"}, {"update_epochs", "1"}}).ok());
  Config config;
  config.update_epochs = 1;
  config.shuffle = "block";
  EXPECT_EQ(without_idle_values(config).shuffle, "epoch");
  config.shuffle = "off";
  EXPECT_EQ(without_idle_values(config).shuffle, "off");
}

// One block with more steps is enough.
TEST(Needs, EveryShapeOfARunCounts) {
  const Overrides first_alone{{"update_epochs", "1"},
                              {"shape_schedule", "4x128/256 @ 0, 4x64/256 @ 0.5"}};
  Overrides given = first_alone;
  given.emplace_back("clip_coef", "0.1");
  EXPECT_TRUE(resolve_config(given).ok());
  given = {{"update_epochs", "1"},
           {"shape_schedule", "4x128/512 @ 0, 4x64/256 @ 0.5"},
           {"clip_coef", "0.1"}};
  EXPECT_FALSE(resolve_config(given).ok());
}

// A constant that every stratum draws; the last case leaves it to one of them.
TEST(Needs, ConstantsThatEveryStratumDrawsAreRefused) {
  const auto message = [](const char* other) {
    return resolve_config({{"strata.easy.half_length", "0.4..0.6"},
                           {other, "0.2..0.3"},
                           {"env.half_length", "0.7"}})
        .status()
        .message();
  };
  EXPECT_EQ(message("strata.hard.half_length"),
            "env.half_length: got 0.7, but it does nothing while every [strata.<name>] draws "
            "half_length. Leave env.half_length out");
  EXPECT_EQ(message("strata.hard.pole_mass"), "");
}

// Also where the task's default for a Box would be to normalise.
TEST(Needs, StudentsDoNotNormaliseRewards) {
  for (const char* algorithm : {"distill", "ppo"}) {
    const Result<Config> config =
        resolve_config({{"env_id", "Pendulum-v1"}, {"algorithm", algorithm}});
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config.value().norm_reward, config.value().algorithm == "ppo");
  }
}

// A dialect's keys that a user's own leave without effect are not the user's fault.
TEST(Needs, DialectsAreTaken) {
  const Result<Config> config = resolve_config(
      {{"dialect", "rsl_rl"}, {"update_epochs", "1"}, {"max_grad_norm", "0"}, {"gamma", "0"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config.value().clip_grads, "together");
  EXPECT_EQ(config.value().shuffle, "epoch");
}

// Every key with a need must be in the list above, so that it is tested.
TEST(Needs, EveryKeyThatNeedsSomethingIsTriedAbove) {
  for (const FieldInfo& field : list_fields(Config{})) {
    if (field.facts.needs[0].keys == nullptr) continue;
    bool tried = false;
    for (const Idle& one : idle_settings()) tried = tried || one.key == field.name;
    EXPECT_TRUE(tried) << field.name;
  }
}

// Files that name every key, and flags made of a manifest, hold defaults that do nothing.
TEST(Needs, WholeConfigsAreTaken) {
  for (const Overrides& given :
       {Overrides{}, Overrides{{"env_id", "Pendulum-v1"}}, Overrides{{"algorithm", "pqn"}},
        Overrides{{"env_id", "MinAtar/Breakout-v1"}, {"algorithm", "ppo_rnd"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"norm_obs", "false"}, {"norm_reward", "false"}}}) {
    const Result<Config> config = resolve_config(given);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const Result<Config> again = resolve_config(to_overrides(config.value()));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(to_overrides(again.value()), to_overrides(config.value()));
  }
}

// Older versions accepted such settings, and their runs can be resumed and rerun.
TEST(Needs, RecordsAreTakenAsTheyAre) {
  for (const Idle& one : idle_settings()) {
    Overrides given = one.beside;
    given.emplace_back(one.key, one.value);
    const Result<Config> config = resolve_record(given);
    EXPECT_TRUE(config.ok()) << one.key << ": " << config.status().message();
  }
}

TEST(Needs, RecordsWithoutANormaliserHadGymnasiums) {
  const Overrides before{{"env_id", "Pendulum-v1"}};
  EXPECT_EQ(resolve_record(before).take().normaliser, "gymnasium");
  EXPECT_EQ(resolve_config(before).take().normaliser, "exact");
  // Without normalisation, the record does not have the key, which keeps its default.
  EXPECT_EQ(resolve_record({{"env_id", "CartPole-v1"}}).take().normaliser, "exact");
  EXPECT_EQ(resolve_record({{"normaliser", "exact"}}).take().normaliser, "exact");
}

// Only a registered algorithm knows which keys it uses.
TEST(Needs, AnAlgorithmOfAProgramMayUseAnyKey) {
  const EnvSpec spec = env_spec("CartPole-v1", {}).take();
  Config config;
  config.algorithm = "a2c";
  config.int_coef = 3.0;
  const std::vector<KeyUse> uses = key_uses({{"int_coef", "3"}}, config, Config{}, spec);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_TRUE(uses[0].acts);
  EXPECT_EQ(uses[0].refusal, "");
}

TEST(Needs, ConfigsThatTrainAlikeBecomeEqual) {
  Config one, other;
  one.stagger_by = "age";
  one.desired_kl = 1.0;
  one.minibatch_size = other.minibatch_size = 64;
  one.num_minibatches = 7;
  EXPECT_NE(to_overrides(one), to_overrides(other));
  EXPECT_EQ(to_overrides(without_idle_values(one)), to_overrides(without_idle_values(other)));
  other.lr_schedule = "adaptive";
  other.desired_kl = 1.0;
  EXPECT_EQ(without_idle_values(other).desired_kl, 1.0);
  other.num_envs = 1;
  other.stagger_starts = true;
  EXPECT_TRUE(without_idle_values(other).stagger_starts);
}

TEST(Needs, AreNamedInASentence) {
  EXPECT_EQ(needs_sentence(facts_of("desired_kl")), "Needs lr_schedule = adaptive.");
  EXPECT_EQ(needs_sentence(facts_of("ent_schedule")),
            "Needs algorithm = ppo or ppo_rnd, and ent_coef above 0.");
  EXPECT_EQ(needs_sentence(facts_of("normaliser")), "Needs norm_obs or norm_reward = true.");
  EXPECT_EQ(needs_sentence(facts_of("curriculum_up")), "Needs curriculum set.");
  EXPECT_EQ(needs_sentence(facts_of("shuffle")),
            "Needs algorithm = ppo or ppo_rnd, and update_epochs above 1 for block.");
  EXPECT_EQ(needs_sentence(facts_of("target_kl")),
            "Needs algorithm = ppo or ppo_rnd, and (update_epochs - 1) x minibatches above 1.");
  EXPECT_EQ(needs_sentence(facts_of("gamma")), "Needs algorithm = ppo or pqn or ppo_rnd.");
  EXPECT_EQ(needs_sentence(facts_of("schedule_timesteps")),
            "Needs lr_schedule or clip_schedule or ent_schedule = linear, or algorithm = pqn, and "
            "shape_schedule empty.");
  EXPECT_EQ(needs_sentence(facts_of("learning_rate")), "");
}

}  // namespace
}  // namespace broadloom
