// Finds settings that do nothing in silence. Each key of the task, the block, learning and the
// network is tried beside every "switch" of the others: each word of a choice, each number at its
// off value or its end. A key that a configuration takes must change what a small run learns. If
// its bits stay the same, the key lacks a need (broadloom/config/config.h), or this file says why
// both values mean the same.
//
//   fuzz_idle          every scene and switch: 80,000 runs, some 4 minutes
//   fuzz_idle quick    the part that ctest plays
//   fuzz_idle pqn      scenes whose names contain this
#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace {

using namespace broadloom;

using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

void set(Overrides& keys, const std::string& key, const std::string& value) {
  std::erase_if(keys, [&](const auto& one) { return one.first == key; });
  // Both say how many minibatches there are.
  if (key == "minibatch_size")
    std::erase_if(keys, [](const auto& one) { return one.first == "num_minibatches"; });
  keys.emplace_back(key, value);
}

struct Scene {
  std::string name;
  Overrides keys;
  bool is_quick = false;
};

// A checkpoint of an untrained policy, for students; removed at the end.
class Teacher {
 public:
  explicit Teacher(const std::string& env_id)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("fuzz_idle_{}_{}.safetensors", getpid(), env_id)) {
    const Result<Config> config = resolve_config({{"env_id", env_id}, {"hidden_sizes", "5"}});
    Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 1);
    const Status saved = save_checkpoint(path_, *trainer.value(), {});
    if (!saved.ok()) fmt::print(stderr, "{}\n", saved.message());
  }
  ~Teacher() { std::filesystem::remove(path_); }
  Teacher(const Teacher&) = delete;
  Teacher& operator=(const Teacher&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Small runs in which limits are reached: episodes end, ratios are clipped, gradients are large.
std::vector<Scene> all_scenes() {
  const auto scene = [](const char* name, const char* task, const Overrides& more,
                        bool is_quick = false) {
    Overrides keys = {
        {"env_id", task},           {"num_envs", "4"},           {"num_steps", "8"},
        {"total_timesteps", "128"}, {"num_minibatches", "2"},    {"update_epochs", "3"},
        {"hidden_sizes", "5,6"},    {"max_episode_steps", "11"}, {"learning_rate", "0.05"}};
    for (const auto& [key, value] : more) set(keys, key, value);
    return Scene{name, keys, is_quick};
  };
  const Overrides rnd = {{"algorithm", "ppo_rnd"},
                         {"num_iterations_obs_norm_init", "1"},
                         {"rnd_hidden_sizes", "5"},
                         {"rnd_outputs", "4"}};
  const auto rnd_with = [rnd](const Overrides& more) {
    Overrides keys = rnd;
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  };
  static const Teacher cart("CartPole-v1"), pendulum("Pendulum-v1");
  const auto distill = [](const Teacher& teacher, const Overrides& more) {
    Overrides keys{{"algorithm", "distill"},
                   {"teacher", teacher.path()},
                   {"num_minibatches", "4"},  // the default, for distill has none
                   {"gradient_length", "4"},
                   {"seed", "2"}};  // as for groups
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  };
  return {
      scene("ppo", "CartPole-v1", {}, true),
      scene("ppo box", "Pendulum-v1",
            {{"log_std_init", "-1"}, {"learning_rate", "0.3"}, {"seed", "2"}}, true),
      scene("ppo adaptive box", "Pendulum-v1",
            {{"lr_schedule", "adaptive"}, {"learning_rate", "0.01"}, {"desired_kl", "1e-4"}}),
      scene("pqn", "CartPole-v1", {{"algorithm", "pqn"}}, true),
      scene("distill", "CartPole-v1", distill(cart, {})),
      scene("distill box", "Pendulum-v1", distill(pendulum, {{"log_std_init", "-0.5"}}), true),
      scene("ppo_rnd", "CartPole-v1", rnd, true),
      scene("ppo_rnd box", "Pendulum-v1", rnd_with({})),
      scene("ppo sapg", "Pendulum-v1",
            {{"sapg_policies", "4"},
             {"log_std_init", "-1"},
             {"learning_rate", "0.3"},
             {"seed", "2"}}),
      scene("ppo gru", "CartPole-v1", {{"recurrent", "gru"}}),
      scene("ppo strata", "CartPole-v1",
            {{"strata.a.half_length", "0.4..0.6"},
             {"strata.b.half_length", "0.2..0.9"},
             {"curriculum", "a,b"}}),
      scene("ppo choices", "Dials-v0", {}),
      scene("ppo hybrid", "Golf-v0", {{"seed", "2"}}),  // with 1, all drawn delays are 0
      scene("ppo masks", "TicTacToe-v0", {}),
      // With seed 1, one family draws delays of 0 only; at this rate, all of impala's ReLUs die.
      scene("ppo groups", "Turntable-v0", {{"seed", "2"}, {"activation", "tanh"}}),
      scene("ppo table", "Taxi-v3", {}),
      scene("ppo images", "MinAtar/Breakout-v1", {{"encoder", "minatar"}, {"hidden_sizes", "8"}}),
  };
}

// Values that act if anything does: tight limits, large coefficients.
const Values& tried_values() {
  static const Values kValues = {
      {"num_envs", {"2"}},
      {"num_steps", {"4"}},
      {"total_timesteps", {}},  // how long, not what is learnt
      {"max_episode_steps", {"5"}},
      {"seed_families", {"2", "1"}},
      {"curriculum_up", {"1", "0"}},
      {"curriculum_down", {"1", "0"}},
      {"curriculum_episodes", {"2"}},
      {"learning_rate", {"0.001"}},
      {"learning_rate_end", {"0.001"}},
      {"schedule_timesteps", {"64", "100000"}},
      {"desired_kl", {"1e-6", "1e-4", "0.1"}},
      {"adaptive_rate_min", {"0.0099"}},
      {"adam_eps", {"0.1"}},
      {"adam_beta1", {"0.5"}},
      {"adam_beta2", {"0.9"}},
      {"norm_adv_decay", {"0.5"}},
      {"proximal_decay", {"0.99"}},
      {"max_grad_norm", {"0.001"}},
      {"gamma", {"0.5"}},
      {"gae_lambda", {"0.5", "0"}},
      {"reward_scale", {"0.1", "7"}},
      {"num_minibatches", {"3", "1"}},
      {"minibatch_size", {"8", "32"}},
      {"update_epochs", {"1", "2"}},
      {"recurrent_units", {"4"}},
      {"sequence_length", {"2", "1"}},
      {"clip_coef", {"0.001", "0.5"}},
      {"clip_vloss_coef", {"0.0001", "0.3"}},
      {"ent_coef", {"0.3", "0"}},
      {"vf_coef", {"0.1", "0"}},
      {"bounds_coef", {"100"}},
      {"mirror_coef", {"100"}},
      {"mirror_obs", {}},  // a fact of the environment, which mirror_samples uses
      {"mirror_action", {}},
      {"mirror_critic", {}},
      {"sapg_policies", {"2", "4"}},
      {"sapg_vector_size", {"3"}},
      {"sapg_entropy_scale", {"0.5"}},
      {"sapg_followers", {"0", "3"}},
      {"target_kl", {"1e-9"}},
      {"eps_start", {"0.5"}},
      {"eps_finish", {"0.7"}},
      {"eps_decay", {"0.7", "0"}},
      {"ext_coef", {"0.5", "0"}},
      {"int_coef", {"0.3", "0"}},
      {"int_gamma", {"0.5"}},
      {"update_proportion", {"0.9"}},
      {"num_iterations_obs_norm_init", {"2", "0"}},
      {"gradient_length", {"2", "8"}},
      {"rnd_hidden_sizes", {"7"}},
      {"rnd_outputs", {"3"}},
      {"hidden_sizes", {"7"}},
      {"group_encoders", {"turn:mlp/5"}},
      {"policy_groups", {"image"}},
      {"critic_groups", {"turn"}},
      {"log_std_init", {"-0.5", "1"}},
      {"sde_sample_freq", {"2"}},
      {"std_min", {"0.3678"}},  // the scene's first deviation is exp(-1)
      {"std_max", {"0.3679"}},
      {"obs_eps", {"0.1"}},
      {"clip_obs", {"0.1"}},
      {"clip_reward", {"0.001"}},
      {"frame_stack", {"2"}},
      {"frame_stack_of", {"turn:2"}},
      {"obs_noise", {"0.1"}},
      {"obs_noise_of", {"0..0:0.1", "turn:0.1"}},
      {"obs_delay_of", {"turn:2"}},
      {"action_delay", {"2"}},
      {"push_interval", {"3"}},
      {"push_steps", {"2"}},
  };
  return kValues;
}

// Values at which a number switches something off, or leaves no room.
const Values& switch_values() {
  static const Values kValues = {
      {"num_envs", {"1"}},
      {"num_steps", {"1"}},
      {"total_timesteps", {}},
      {"max_episode_steps", {"0"}},
      {"seed_families", {"1"}},
      {"curriculum_up", {"0", "1"}},
      {"curriculum_down", {"0", "1"}},
      {"learning_rate", {}},  // with 0 nothing is learnt
      {"learning_rate_end", {"0.05"}},
      {"schedule_timesteps", {"64"}},
      {"desired_kl", {"100", "1e-8"}},
      {"adaptive_rate_min", {"0.003"}},
      {"adam_eps", {"0", "1"}},
      {"adam_beta1", {"0"}},
      {"adam_beta2", {"0"}},
      {"norm_adv_decay", {"0", "1"}},
      {"proximal_decay", {"0.99"}},
      {"gamma", {"0", "1"}},
      {"gae_lambda", {"0", "1"}},
      {"reward_scale", {"1e-9"}},
      {"num_minibatches", {"1", "32"}},
      {"minibatch_size", {"1", "32"}},
      {"update_epochs", {"1", "2"}},
      {"clip_coef", {"0", "100"}},
      {"sapg_policies", {"2"}},
      {"sapg_vector_size", {"1"}},
      {"sapg_entropy_scale", {"1"}},
      {"sapg_followers", {"0"}},
      {"target_kl", {"1e-9", "100"}},
      {"update_proportion", {"1e-6", "1"}},
      {"gradient_length", {"1", "8"}},
      {"rnd_hidden_sizes", {"1"}},
      {"rnd_outputs", {"1"}},
      {"hidden_sizes", {"1"}},
      {"log_std_init", {"-20", "2"}},
      {"std_min", {"0.3678"}},
      {"std_max", {"0.3679"}},
      {"obs_eps", {"1"}},
      {"clip_obs", {"0", "0.1"}},
      {"clip_reward", {"1e-6"}},
  };
  return kValues;
}

// Two switches that together leave no room.
const std::vector<Overrides>& pairs() {
  static const std::vector<Overrides> kPairs = {
      {{"update_epochs", "1"}, {"num_minibatches", "1"}},
      {{"update_epochs", "2"}, {"num_minibatches", "1"}},
      {{"update_epochs", "3"}, {"num_minibatches", "1"}},
      {{"num_envs", "1"}, {"num_steps", "1"}},
      {{"shared_encoder", "true"}, {"vf_coef", "0"}},
      {{"norm_obs", "true"}, {"norm_reward", "true"}},
      {{"norm_obs", "true"}, {"clip_obs", "0"}},
      {{"lr_schedule", "constant"}, {"clip_schedule", "linear"}},
      {{"lr_schedule", "constant"}, {"eps_decay", "0"}},
      {{"clip_coef", "0"}, {"clip_vloss", "false"}},
      {{"norm_adv", "off"}, {"num_minibatches", "1"}},
      {{"ext_coef", "0"}, {"gamma", "0"}},
      {{"int_coef", "0"}, {"vf_coef", "0"}},
  };
  return kPairs;
}

// Switches of the part that ctest plays: all that make another key do nothing, and their like.
const std::vector<Overrides>& quick_switches() {
  static const std::vector<Overrides> kSwitches = {
      {},
      {{"num_envs", "1"}},
      {{"num_steps", "1"}},
      {{"gamma", "0"}},
      {{"vf_coef", "0"}},
      {{"clip_coef", "0"}},
      {{"clip_vloss", "false"}},
      {{"max_grad_norm", "0"}},
      {{"update_epochs", "1"}},
      {{"lr_schedule", "constant"}},
      {{"eps_decay", "0"}},
      {{"update_epochs", "1"}, {"num_minibatches", "1"}},
      {{"update_epochs", "2"}, {"num_minibatches", "1"}},
  };
  return kSwitches;
}

// Keys of limits, or of what only happens at one. Elsewhere than in quick scenes beside quick
// switches, a run may not reach them.
constexpr std::string_view kLimits[] = {
    "truncation_mode", "max_episode_steps", "max_grad_norm",   "clip_grads",
    "clip_coef",       "clip_schedule",     "clip_vloss",      "clip_vloss_coef",
    "clip_vloss_rule", "target_kl",         "desired_kl",      "kl_estimate",
    "adapt_every",     "adaptive_rate_min", "bounds_coef",     "std_min",
    "std_max",         "clip_obs",          "obs_eps",         "obs_eps_in",
    "clip_reward",     "curriculum_up",     "curriculum_down", "curriculum_episodes",
    "proximal_decay",
};

bool may_be_unreached(const std::string& key, const Scene& scene, const Overrides& beside) {
  const auto& usual = quick_switches();
  return std::find(std::begin(kLimits), std::end(kLimits), key) != std::end(kLimits) &&
         (!scene.is_quick || std::find(usual.begin(), usual.end(), beside) == usual.end());
}

// Settings that learn the same by right.
struct Same {
  const char* key;
  const char* value;  // null: any
  const char* beside;
  const char* beside_value;  // null: any
  const char* why;
};

constexpr Same kSame[] = {
    {"seed_families", "1", "num_envs", "1", "0 means F = N, too"},
    {"minibatch_size", "32", "num_minibatches", "1", "both say one minibatch"},
    {"norm_adv", "batch", "num_minibatches", "1", "the minibatch is the block"},
    {"norm_adv", "batch", "minibatch_size", "32", "the minibatch is the block"},
    {"proximal_decay", nullptr, "num_minibatches", "1", "so few steps do not reach the clip"},
    {"layer_norm", "all", nullptr, nullptr, "without images, a layer has no channels"},
    {"truncation_mode", "as_termination", "gamma", "0", "simulators may refuse bootstrap"},
    {"truncation_mode", "state_value", "gamma", "0", "simulators may refuse bootstrap"},
    {"norm_reward", nullptr, "gamma", "0", "CartPole's rewards are all 1"},
    {"std_min", nullptr, nullptr, nullptr, "the scene's deviation only rises"},
    {"teacher_reads", "policy", nullptr, nullptr, "what auto finds"},
    {"adam_eps", nullptr, "update_epochs", "1", "RAdam's first steps have no denominator"},
    {"clip_vloss_rule", "clipped", "num_envs", "1", "a limit that so small a block does not reach"},
    {"schedule_timesteps", nullptr, "learning_rate_end", "0.05", "the rate's end is its start"},
    {"eps_decay", nullptr, "eps_finish", "1", "the share's end is its start"},
    {"schedule_timesteps", nullptr, "eps_decay", "0",
     "nothing falls; a need of three keys at once"},
    {"int_gamma", nullptr, "int_coef", "0", "with vf_coef = 0, too: a need of three keys at once"},
    {"*", nullptr, "hidden_sizes", "1", "one unit, which may be dead"},
    {"env.max_torque", nullptr, "log_std_init", "-20", "no action reaches the torque"},
    {"shuffle", "block", "target_kl", "1e-9", "no block has a second epoch"},
    {"update_epochs", nullptr, "target_kl", "1e-9", "no block has a second epoch"},
    {"norm_reward", nullptr, "truncation_mode", "zero", "Breakout's only rewards are at the limit"},
    {"reward_scale", nullptr, "truncation_mode", "zero",
     "Breakout's only rewards are at the limit"},
    {"*", nullptr, "env.sticky_action_prob", "1", "a task that actions do not change"},
    {"*", nullptr, "env.force", nullptr, "a task that actions do not change"},
    {"*", nullptr, "env.max_torque", nullptr, "a task that actions do not change"},
    {"*", nullptr, "env.max_speed", nullptr, "a task that actions do not change"},
    {"*", nullptr, "env.tau", nullptr, "episodes of a step"},
    {"env.scale_actions", nullptr, "action_distribution", "squashed", "it scales to the bounds"},
    {"env.scale_actions", nullptr, "action_distribution", "beta", "it scales to the bounds"},
    {"env.scale_actions", nullptr, "env_id", "Golf-v0", "its bounds are -1 and 1"},
    {"env.scale_actions", nullptr, "disturb.push_interval", "1", "pushes replace all actions"},
    {"*", nullptr, "reward_scale", "1e-9", "rewards vanish beside values"},
    {"disturb.action_delay", nullptr, "disturb.push_interval", nullptr,
     "pushes replace all actions"},
    {"disturb.action_delay_max", nullptr, "disturb.push_interval", nullptr,
     "pushes replace all actions"},
};

// others: the other keys of the run.
const Same* same_by_right(const std::string& key, const std::string& value,
                          const Overrides& others) {
  const auto fits = [](const char* wanted, const std::string& got) {
    return wanted == nullptr || wanted == got;
  };
  for (const Same& one : kSame) {
    if (one.key != std::string_view("*") && one.key != key) continue;
    if (!fits(one.value, value)) continue;
    if (one.beside == nullptr) return &one;
    for (const auto& [other, text] : others) {
      if (other == one.beside && fits(one.beside_value, text)) return &one;
    }
  }
  return nullptr;
}

struct Key {
  std::string name;
  FieldInfo field;
};

bool is_searched(const FieldInfo& field) {
  static const std::vector<std::string> kOthers = {"env_id",     "algorithm",      "dialect",
                                                   "curriculum", "shape_schedule", "precision"};
  switch (field.facts.role) {
    case Role::kTask:
    case Role::kShape:
    case Role::kMinibatches:
    case Role::kLearning:
    case Role::kNetwork:
      return std::find(kOthers.begin(), kOthers.end(), field.name) == kOthers.end();
    default:
      return false;
  }
}

// With the options of the scene's environment and the disturbances.
std::vector<Key> searched_keys(const std::string& env_id) {
  std::vector<Key> keys;
  for (const FieldInfo& field : list_fields(Config{})) {
    if (is_searched(field)) keys.push_back({field.name, field});
  }
  if (const auto options = list_env_options(env_id, {}); options.ok()) {
    for (const FieldInfo& field : options.value()) keys.push_back({"env." + field.name, field});
  }
  for (const FieldInfo& field : list_fields(Disturbance{})) {
    keys.push_back({"disturb." + field.name, field});
  }
  return keys;
}

// own: for keys by name; else a type's own.
std::vector<std::string> values_of(const FieldInfo& field, const Values& own,
                                   const std::vector<std::string>& ints,
                                   const std::vector<std::string>& floats) {
  if (const auto found = own.find(field.name); found != own.end()) return found->second;
  if (field.type == "bool") return {"true", "false"};
  if (field.type == "int") return ints;
  if (field.type == "float") return floats;
  if (field.type != "choice") return {};
  std::vector<std::string> words;
  std::string rest = field.range_text;
  for (std::size_t place; (place = rest.find(" | ")) != std::string::npos;
       rest = rest.substr(place + 3)) {
    words.push_back(rest.substr(0, place));
  }
  words.push_back(rest);
  return words;
}

std::string text_of(const Overrides& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += fmt::format("--{} {} ", key, value);
  return text;
}

struct Learnt {
  std::vector<float> first, last;  // parameters
  bool operator==(const Learnt& other) const { return last == other.last; }
};

class Search {
 public:
  explicit Search(bool is_quick) : is_quick_(is_quick) {}

  void play(const Scene& scene) {
    keys_ = searched_keys(scene.keys.front().second);
    idle_anyway_.clear();
    for (const Overrides& beside : switches()) try_beside(scene, beside);
  }

  int failures() const { return failures_; }
  int runs() const { return runs_; }
  int same() const { return same_; }

 private:
  std::vector<Overrides> switches() const {
    if (is_quick_) return quick_switches();
    std::vector<Overrides> all{{}};
    for (const Key& key : keys_) {
      for (const std::string& value : values_of(key.field, switch_values(), {"0", "1"}, {"0", "1"}))
        all.push_back({{key.name, value}});
    }
    all.insert(all.end(), pairs().begin(), pairs().end());
    return all;
  }

  // Nothing where a program would refuse it, or the run fails.
  std::optional<Learnt> learn(const Config& config) {
    const Result<std::unique_ptr<Trainer>> made = Trainer::create(config, 1);
    if (!made.ok()) return std::nullopt;
    Trainer& trainer = *made.value();
    const std::size_t count = trainer.network().parameter_count();
    Learnt learnt{{trainer.params(), trainer.params() + count}, {}};
    runs_ += 1;
    while (!trainer.finished()) {
      if (!trainer.iterate().ok()) return std::nullopt;
    }
    learnt.last.assign(trainer.params(), trainer.params() + count);
    return learnt;
  }

  void try_beside(const Scene& scene, const Overrides& beside) {
    Overrides given = scene.keys;
    for (const auto& [key, value] : beside) set(given, key, value);
    const Result<Config> config = resolve_config(given);
    if (!config.ok()) return;
    const std::optional<Learnt> usual = learn(config.value());
    if (!usual || usual->first == usual->last) return;  // such as PQN without its only loss
    for (const Key& key : keys_) {
      const bool is_switched = std::any_of(beside.begin(), beside.end(),
                                           [&](const auto& one) { return one.first == key.name; });
      if (!is_switched) try_key(key, scene, given, beside, to_overrides(config.value()), *usual);
    }
  }

  // A number does nothing if none of its values does; each word of a choice counts.
  void try_key(const Key& key, const Scene& scene, const Overrides& given, const Overrides& beside,
               const Overrides& usual_texts, const Learnt& usual) {
    std::vector<std::string> idle;
    for (const std::string& value :
         values_of(key.field, tried_values(), {"1", "2"}, {"0.3", "0.9"})) {
      if (key.name.find('.') != std::string::npos && value == key.field.default_text) continue;
      Overrides tried = given;
      set(tried, key.name, value);
      const Result<Config> config = resolve_config(tried);
      if (!config.ok() || to_overrides(config.value()) == usual_texts) continue;
      const std::optional<Learnt> learnt = learn(config.value());
      if (!learnt) continue;
      if (*learnt == usual) {
        idle.push_back(value);
      } else if (key.field.type != "choice") {
        return;
      }
    }
    for (const std::string& value : idle) judge(key.name, value, scene, beside);
  }

  void judge(const std::string& key, const std::string& value, const Scene& scene,
             const Overrides& beside) {
    if (may_be_unreached(key, scene, beside)) return;
    Overrides others = scene.keys;
    for (const auto& [other, text] : beside) set(others, other, text);
    if (same_by_right(key, value, others) != nullptr) {
      same_ += 1;
      return;
    }
    const std::pair<std::string, std::string> entry(key, value);
    if (std::find(idle_anyway_.begin(), idle_anyway_.end(), entry) != idle_anyway_.end()) return;
    if (beside.empty()) idle_anyway_.push_back(entry);
    failures_ += 1;
    fmt::print("{}: --{} {} does nothing beside {}\n", scene.name, key, value,
               beside.empty() ? "the scene's keys" : text_of(beside));
  }

  bool is_quick_;
  std::vector<Key> keys_;
  Overrides idle_anyway_;  // without a switch
  int runs_ = 0, same_ = 0, failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool is_quick = wanted == "quick";
  Search search(is_quick);
  for (const Scene& scene : all_scenes()) {
    if (is_quick ? scene.is_quick : scene.name.find(wanted) != std::string::npos)
      search.play(scene);
  }
  fmt::print("{} runs, {} settings that are the same by right, {} that do nothing in silence\n",
             search.runs(), search.same(), search.failures());
  return search.failures() == 0 && search.runs() > 0 ? 0 : 1;
}
