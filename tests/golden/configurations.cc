#include "tests/golden/configurations.h"

#include "tests/golden/measure.h"

namespace broadloom::golden {

// Sizes are odd wherever they can be: the ends of vectors, tiles and shards are where sums go
// wrong.
const std::vector<Run>& training_runs() {
  static const std::vector<Run> runs = {
      {"cartpole", {{"env_id", "CartPole-v1"}, {"max_episode_steps", "19"}}},
      {"cartpole_shared",
       {{"env_id", "CartPole-v1"},
        {"shared_encoder", "true"},
        {"activation", "relu"},
        {"lr_schedule", "constant"},
        {"norm_obs", "true"},
        {"norm_reward", "true"},
        {"stagger_starts", "true"},
        {"max_episode_steps", "19"},
        {"truncation_mode", "state_value"}}},
      {"cartpole_strata",
       {{"env_id", "CartPole-v1"},
        {"num_envs", "36"},
        {"seed_families", "4"},
        {"strata_sampling", "stratified"},
        {"strata.wide.half_length", "0.2..1"},
        {"strata.wide.weight", "3"},
        {"strata.narrow.half_length", "0.45..0.55"},
        {"strata.narrow.force", "9..11"}}},
      {"cartpole_disturbed",
       {{"env_id", "CartPole-v1"},
        {"num_envs", "36"},
        {"num_steps", "40"},
        {"curriculum", "easy,hard"},
        {"curriculum_episodes", "2"},
        {"strata.easy.half_length", "0.4..0.6"},
        {"strata.hard.half_length", "0.05..0.1"},
        {"max_episode_steps", "20"},
        {"disturb.obs_noise", "0.1"},
        {"disturb.action_delay", "2"},
        {"disturb.push_interval", "20"}}},
      {"cartpole_schedules",
       {{"env_id", "CartPole-v1"},
        {"shape_schedule", "37x26 @ 0, 13x33/50 @ 0.15, 50x7 @ 0.2"},
        {"clip_schedule", "linear"},
        {"ent_schedule", "linear"},
        {"norm_obs", "true"},
        {"norm_reward", "true"},
        {"max_episode_steps", "19"}}},
      {"cartpole_instruments",
       {{"env_id", "CartPole-v1"},
        {"num_envs", "129"},
        {"max_episode_steps", "19"},
        {"shared_encoder", "true"},
        {"norm_obs", "true"},
        {"instruments", "gradient,plasticity,policy,coverage,audit"},
        {"instrument_every", "1"}}},
      {"cartpole_pqn",
       {{"env_id", "CartPole-v1"},
        {"algorithm", "pqn"},
        {"num_envs", "37"},
        {"num_steps", "26"},
        {"num_minibatches", "3"},
        {"hidden_sizes", "33,17"},
        {"eps_decay", "0.5"},
        {"reward_scale", "0.1"},
        {"max_episode_steps", "19"},
        {"instruments", "plasticity,coverage"},
        {"instrument_every", "1"}}},
      {"cartpole_pqn_he_normal",
       {{"env_id", "CartPole-v1"},
        {"algorithm", "pqn"},
        {"weight_init", "he_normal"},
        {"hidden_sizes", "33,17"},
        {"max_episode_steps", "19"}},
       1},
      {"cartpole_lecun_normal",
       {{"env_id", "CartPole-v1"}, {"weight_init", "lecun_normal"}, {"max_episode_steps", "19"}},
       1},
      {"cartpole_rnd",
       {{"env_id", "CartPole-v1"},
        {"algorithm", "ppo_rnd"},
        {"num_iterations_obs_norm_init", "2"},
        {"rnd_hidden_sizes", "21,11"},
        {"rnd_outputs", "13"},
        {"max_episode_steps", "19"},
        {"instruments", "plasticity,policy,coverage,audit"},
        {"instrument_every", "1"}}},
      {"breakout_rnd",
       {{"env_id", "MinAtar/Breakout-v1"},
        {"algorithm", "ppo_rnd"},
        {"num_iterations_obs_norm_init", "1"},
        {"rnd_hidden_sizes", "21"},
        {"rnd_outputs", "13"},
        {"max_episode_steps", "19"}},
       1},
      {"cartpole_layer_norm",
       {{"env_id", "CartPole-v1"},
        {"layer_norm", "all"},
        {"activation", "relu"},
        {"norm_obs", "true"},
        {"max_episode_steps", "19"}}},
      {"cartpole_thousands",
       {{"env_id", "CartPole-v1"},
        {"num_envs", "4096"},
        {"num_steps", "4"},
        {"update_epochs", "1"},
        {"norm_obs", "true"},
        {"norm_reward", "true"}},
       1},
      {"acrobot",
       {{"env_id", "Acrobot-v1"},
        {"activation", "elu"},
        {"lr_schedule", "adaptive"},
        {"norm_adv", "batch"},
        {"max_episode_steps", "17"},
        {"truncation_mode", "as_termination"}}},
      {"mountain_car",
       {{"env_id", "MountainCar-v0"},
        {"norm_adv", "off"},
        {"clip_vloss", "false"},
        {"max_episode_steps", "17"},
        {"truncation_mode", "zero"},
        {"target_kl", "0.0001"}}},
      {"mountain_car_continuous",
       {{"env_id", "MountainCarContinuous-v0"},
        {"shared_encoder", "true"},
        {"activation", "elu"},
        {"lr_schedule", "adaptive"},
        {"log_std_init", "-0.5"},
        {"ent_coef", "0.01"},
        {"max_episode_steps", "17"}}},
      {"pendulum",
       {{"env_id", "Pendulum-v1"},
        {"norm_obs", "true"},
        {"norm_reward", "true"},
        {"max_episode_steps", "23"},
        {"strata.a.max_torque", "1..3"},
        {"strata.a.mass", "0.8..1.2"}}},
      {"pendulum_instruments",
       {{"env_id", "Pendulum-v1"},
        {"num_envs", "129"},
        {"activation", "relu"},
        {"max_episode_steps", "7"},
        {"instruments", "gradient,plasticity,policy,coverage,audit"},
        {"instrument_every", "1"}}},
      {"pendulum_wide",
       {{"env_id", "Pendulum-v1"},
        {"num_steps", "13"},
        {"hidden_sizes", "130,70"},
        {"activation", "elu"},
        {"norm_obs", "true"},
        {"lr_schedule", "constant"}},
       1},
      {"frozen_lake",
       {{"env_id", "FrozenLake-v1"}, {"seed_families", "1"}, {"activation", "relu"}}},
      {"frozen_lake_8x8", {{"env_id", "FrozenLake8x8-v1"}, {"norm_reward", "true"}}},
      {"cliff_walking",
       {{"env_id", "CliffWalking-v1"}, {"max_episode_steps", "29"}, {"activation", "elu"}}},
      {"taxi", {{"env_id", "Taxi-v3"}, {"shared_encoder", "true"}, {"max_episode_steps", "29"}}},
      {"breakout", {{"env_id", "MinAtar/Breakout-v0"}, {"max_episode_steps", "61"}}},
      {"breakout_minimal", {{"env_id", "MinAtar/Breakout-v1"}, {"max_episode_steps", "19"}}, 1},
      {"breakout_frames",
       {{"env_id", "MinAtar/Breakout-v1"},
        {"env.frame_stack", "3"},
        {"encoder", "minatar"},
        {"shared_encoder", "true"},
        {"hidden_sizes", "19"},
        {"max_episode_steps", "9"},
        {"instruments", "policy,coverage"},
        {"instrument_every", "1"}}},
      {"asterix", {{"env_id", "MinAtar/Asterix-v0"}, {"max_episode_steps", "61"}}},
      {"asterix_minimal", {{"env_id", "MinAtar/Asterix-v1"}, {"max_episode_steps", "19"}}, 1},
      {"freeway", {{"env_id", "MinAtar/Freeway-v0"}, {"max_episode_steps", "61"}}},
      {"freeway_minimal", {{"env_id", "MinAtar/Freeway-v1"}, {"max_episode_steps", "19"}}, 1},
      {"seaquest", {{"env_id", "MinAtar/Seaquest-v0"}, {"max_episode_steps", "61"}}},
      {"seaquest_minimal", {{"env_id", "MinAtar/Seaquest-v1"}, {"max_episode_steps", "19"}}, 1},
      {"space_invaders", {{"env_id", "MinAtar/SpaceInvaders-v0"}, {"max_episode_steps", "61"}}},
      {"space_invaders_minimal",
       {{"env_id", "MinAtar/SpaceInvaders-v1"}, {"max_episode_steps", "19"}},
       1},
  };
  return runs;
}

Result<Config> config_of(const Run& run, const std::string& isa) {
  Overrides all{{"num_envs", "37"},         {"num_steps", "26"},      {"num_minibatches", "3"},
                {"update_epochs", "2"},     {"hidden_sizes", "19,8"}, {"learning_rate", "0.003"},
                {"total_timesteps", "1e6"}, {"hashes", "true"},       {"isa", isa}};
  all.insert(all.end(), run.overrides.begin(), run.overrides.end());
  Result<Config> config = resolve_config(all);
  // Half of the budget, so that a learning rate that falls is neither at its start nor at 0.
  if (config.ok())
    config.value().total_timesteps = 2 * run.iterations * config.value().batch_size();
  return config;
}

const std::vector<Configuration>& configurations() {
  static const std::vector<Configuration> all = [] {
    std::vector<Configuration> list;
    list.push_back({"functions", measure_functions});
    for (const Run& run : training_runs()) {
      list.push_back({run.name, [&run](const std::string& isa) { return measure_run(run, isa); }});
    }
    for (const auto& [name, at_limit] :
         {std::pair{"", AtLimit::kEnd}, {"_past_limit", AtLimit::kAsTrained}}) {
      const AtLimit at = at_limit;
      list.push_back({std::string("gradients_cartpole") + name,
                      [at](const std::string& isa) { return measure_gradients(isa, at); }});
      list.push_back({std::string("gradients_exact") + name,
                      [at](const std::string& isa) { return measure_exact_gradients(isa, at); }});
    }
    list.push_back({"study", measure_study});
    return list;
  }();
  return all;
}

}  // namespace broadloom::golden
