#include "broadloom/setup/algorithms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "broadloom/config/algorithm_names.h"
#include "broadloom/config/config.h"
#include "broadloom/config/schedule.h"
#include "broadloom/core/number_text.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/learn/pqn.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

std::optional<FallingValue> scheduled(const Config& config, const ScheduledValue& one) {
  if (config.*one.schedule != "linear") return std::nullopt;
  return FallingValue{one.words, fmt::format("{} = linear", one.key)};
}

std::optional<FallingValue> falling_coefficient(const Config& config) {
  for (const ScheduledValue& one : kScheduledValues) {
    if (auto falls = scheduled(config, one)) return falls;
  }
  return std::nullopt;
}

AlgorithmEntry ppo() {
  return {
      .name = "ppo",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<Ppo>(
            setup.network, ppo_settings(config), static_cast<int>(config.batch_size()),
            static_cast<int>(config.minibatch_count()), setup.spec.observation_size(),
            setup.spec.action_size(), setup.pool, setup.ranks);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return Ppo::bytes(network, static_cast<int>(config.largest_minibatch()),
                              spec.observation_size(), spec.action_size(), threads);
          },
      .falls = falling_coefficient,
      .declare_numbers =
          [](const InfoVisitor& declare) {
            UpdateStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

// purejaxql's settings (config/alg/*.yaml): pixels are MinAtar's, everything else CartPole's.
void pqn_defaults(const EnvSpec& spec, Config& config) {
  const std::vector<int> extents = spec.observation.extents();
  const bool pixels = extents.size() == 3;
  const bool large =
      pixels && fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), extents[0], extents[1]);
  config.total_timesteps = pixels ? 10000000 : 500000;
  config.num_envs = pixels ? 128 : 32;
  config.num_steps = pixels ? 32 : 64;
  config.update_epochs = pixels ? 2 : 4;
  config.num_minibatches = pixels ? 32 : 16;
  config.learning_rate = pixels ? 5e-4 : 1e-4;
  config.eps_finish = pixels ? 0.05 : 0.2;
  config.eps_decay = pixels ? 0.1 : 0.2;
  config.gae_lambda = pixels ? 0.65 : 0.95;
  config.encoder = large ? "nature" : pixels ? "minatar" : "mlp";
  config.hidden_sizes =
      pixels ? published_hidden_sizes(encoder_of(config.encoder)) : std::vector<int>{256, 256};
  config.layer_norm = "channels";
  config.activation = "relu";
  config.vf_coef = 1.0;
  config.max_grad_norm = 10.0;
  config.adam_eps = 1e-8;
}

std::optional<FallingValue> falling_epsilon(const Config& config) {
  if (config.eps_start == config.eps_finish) return std::nullopt;
  return FallingValue{"share of actions drawn from all",
                      fmt::format("eps_start = {}, eps_finish = {}, eps_decay = {}",
                                  config.eps_start, config.eps_finish, config.eps_decay)};
}

Status check_pqn(const Config& config, const EnvSpec& spec) {
  if (spec.action.kind != SpaceKind::kDiscrete) {
    return invalid(fmt::format(
        "algorithm = pqn: actions of {} are {}, and it needs Discrete ones, whose values it "
        "learns; use algorithm = ppo",
        spec.id, shape_text(spec.action)));
  }
  if (config.lr_schedule == "adaptive" || config.target_kl > 0.0) {
    return invalid(
        "algorithm = pqn: lr_schedule = adaptive and target_kl follow the KL of a policy, of "
        "which it has none; set lr_schedule = linear or constant, and target_kl = 0");
  }
  if (config.truncation_mode == "zero") {
    return invalid(
        "truncation_mode = zero: algorithm = pqn learns the value of the action that was taken, "
        "for which a TD error of 0 has no target; set bootstrap, as_termination or state_value");
  }
  return {};
}

AlgorithmEntry pqn() {
  return {
      .name = "pqn",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<Pqn>(setup.network, pqn_settings(config),
                                     static_cast<int>(config.batch_size()),
                                     static_cast<int>(config.minibatch_count()),
                                     setup.spec.observation_size(), setup.pool, setup.ranks);
      },
      .make_actor = [](const Config& config, const ActorCritic& network) -> std::unique_ptr<Actor> {
        return std::make_unique<EpsilonGreedy>(network.shape().action_outputs,
                                               pqn_settings(config).epsilon);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return Pqn::bytes(network, static_cast<int>(config.largest_minibatch()),
                              spec.observation_size(), threads);
          },
      .set_defaults = pqn_defaults,
      .learns_action_values = true,
      .check = check_pqn,
      .falls = falling_epsilon,
      .declare_numbers =
          [](const InfoVisitor& declare) {
            PqnStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

// On pixels, CleanRL's settings (ppo_rnd_envpool.py) but for the budget; else PPO's, with blocks
// wide enough to find things in, a rate that did in experiments/rnd, and numbers normalised.
void ppo_rnd_defaults(const EnvSpec& spec, Config& config) {
  const bool numbers =
      spec.observation.kind == SpaceKind::kBox && spec.observation.dtype == Dtype::kF32;
  config.norm_obs = config.norm_reward = numbers;
  config.num_envs = 32;
  config.num_steps = 128;
  config.num_minibatches = 4;
  config.update_epochs = 4;
  config.learning_rate = 1e-3;
  const std::vector<int> extents = spec.observation.extents();
  if (extents.size() != 3) return;
  const bool large =
      fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), extents[0], extents[1]);
  config.total_timesteps = 10000000;
  config.num_envs = 128;
  config.learning_rate = 1e-4;
  config.gamma = 0.999;
  config.clip_coef = 0.1;
  config.ent_coef = 0.001;
  config.encoder = large ? "nature" : "minatar";
  config.hidden_sizes = config.rnd_hidden_sizes =
      published_hidden_sizes(encoder_of(config.encoder));
  config.rnd_outputs = config.rnd_hidden_sizes.back();
  config.activation = "relu";
}

CompanionSize rnd_predictor(const Config& config, const EnvSpec& spec) {
  const RndSettings rnd = ppo_rnd_settings(config, spec).rnd;
  return {.parameters = ActorCritic(rnd.shape).parameter_count(),
          .normalised = rnd.own_statistics ? rnd.shape.observation_size : 0};
}

Status check_ppo_rnd(const Config& config, const EnvSpec&) {
  if (!config.shape_schedule.empty()) {
    return invalid(
        "shape_schedule: algorithm = ppo_rnd runs up intrinsic rewards in every environment from "
        "block to block, and cannot change its blocks' shape yet; leave it out");
  }
  return {};
}

std::string random_start(const Config& config) {
  if (config.num_iterations_obs_norm_init == 0) return {};
  return fmt::format(
      "Statistics of observations begin with {} steps of random play in environments made for "
      "that, which global_step does not count",
      with_commas(config.num_iterations_obs_norm_init * config.batch_size()));
}

AlgorithmEntry ppo_rnd() {
  return {
      .name = "ppo_rnd",
      .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
        const Config& config = setup.config;
        return std::make_unique<PpoRnd>(
            setup.network, ppo_rnd_settings(config, setup.spec), config.num_envs,
            static_cast<int>(config.batch_size()), static_cast<int>(config.minibatch_count()),
            setup.spec.observation_size(), setup.spec.action_size(), setup.pool, setup.ranks);
      },
      .bytes =
          [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
            return PpoRnd::bytes(network, ppo_rnd_settings(config, spec), config.num_envs,
                                 static_cast<int>(config.batch_size()),
                                 static_cast<int>(config.largest_minibatch()),
                                 spec.observation_size(), spec.action_size(), threads);
          },
      .set_defaults = ppo_rnd_defaults,
      .value_outputs = 2,
      .keys_of_size = "hidden_sizes, rnd_hidden_sizes, rnd_outputs, num_envs or num_steps",
      .companion = rnd_predictor,
      .check = check_ppo_rnd,
      .besides = random_start,
      .falls = falling_coefficient,
      .streams = {{"rnd_target", Purpose::kRndTarget},
                  {"rnd_predictor", Purpose::kRndPredictor},
                  {"rnd_mask", Purpose::kRndMask},
                  {"rnd_start", Purpose::kRndStart, true}},
      .declare_numbers =
          [](const InfoVisitor& declare) {
            UpdateStats().visit([&](const NumberInfo& info, double) { declare(info); });
            RndStats().visit([&](const NumberInfo& info, double) { declare(info); });
          }};
}

// Entries are never taken out and never move, so what was found is used without the lock.
class Table {
 public:
  Table() {
    entries_.push_back(ppo());
    entries_.push_back(pqn());
    entries_.push_back(ppo_rnd());
  }

  std::vector<const AlgorithmEntry*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const AlgorithmEntry*> out;
    for (const AlgorithmEntry& entry : entries_) out.push_back(&entry);
    return out;
  }

  void add(AlgorithmEntry entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<AlgorithmEntry> entries_;
};

Table& table() {
  static Table entries;
  return entries;
}

const AlgorithmEntry& entry_of(const Config& config) {
  const std::vector<const AlgorithmEntry*> all = table().all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AlgorithmEntry* entry) {
    return entry->name == config.algorithm;
  });
  assert(found != all.end() && "validate() refuses a name that is not in the table");
  return found != all.end() ? **found : *all.front();
}

bool is_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

}  // namespace

Status register_algorithm(AlgorithmEntry entry) {
  const std::string name = entry.name;
  if (!is_name(name)) {
    return invalid(
        fmt::format("algorithm '{}': expected a name of lowercase letters, digits and "
                    "underscores",
                    name));
  }
  if (!entry.make || !entry.bytes || !entry.declare_numbers) {
    return invalid(fmt::format(
        "algorithm '{}': make, bytes or declare_numbers is missing; give all three", name));
  }
  if (entry.learns_action_values && !entry.make_actor) {
    return invalid(fmt::format(
        "algorithm '{}': actions are not drawn from values of actions as from a policy; give "
        "make_actor",
        name));
  }
  if (!add_algorithm_name(name)) {
    return invalid(fmt::format(
        "algorithm '{}' is there already; register it once, or under another name", name));
  }
  table().add(std::move(entry));
  return {};
}

Status check_algorithm(const Config& config, const EnvSpec& spec) {
  const AlgorithmEntry& entry = entry_of(config);
  BROADLOOM_TRY(check_instruments(config.instruments, {.name = entry.name,
                                                       .draws_from_policy = !entry.make_actor,
                                                       .value_outputs = entry.value_outputs}));
  return entry.check ? entry.check(config, spec) : Status();
}

void set_algorithm_defaults(const EnvSpec& spec, Config& config) {
  for (const AlgorithmEntry* entry : table().all()) {
    if (entry->name == config.algorithm && entry->set_defaults) entry->set_defaults(spec, config);
  }
}

bool draws_from_policy(const Config& config) { return !entry_of(config).make_actor; }

bool learns_action_values(const Config& config) { return entry_of(config).learns_action_values; }

int value_outputs(const Config& config) { return entry_of(config).value_outputs; }

std::string besides_blocks(const Config& config) {
  const AlgorithmEntry& entry = entry_of(config);
  return entry.besides ? entry.besides(config) : std::string();
}

std::string keys_of_size(const Config& config) { return entry_of(config).keys_of_size; }

CompanionSize companion_size(const Config& config, const EnvSpec& spec) {
  const AlgorithmEntry& entry = entry_of(config);
  return entry.companion ? entry.companion(config, spec) : CompanionSize();
}

const std::vector<AlgorithmStream>& algorithm_streams(const Config& config) {
  return entry_of(config).streams;
}

std::optional<FallingValue> falling_value(const Config& config) {
  if (auto falls = scheduled(config, kScheduledValues[0])) return falls;
  const AlgorithmEntry& entry = entry_of(config);
  return entry.falls ? entry.falls(config) : std::nullopt;
}

bool depends_on_total(const Config& config) {
  return falling_value(config).has_value() || !config.shape_schedule.empty();
}

std::unique_ptr<Actor> make_actor(const Config& config, const ActorCritic& network) {
  const AlgorithmEntry& entry = entry_of(config);
  if (entry.make_actor) return entry.make_actor(config, network);
  return std::make_unique<PolicySampler>(network);
}

std::unique_ptr<Algorithm> make_algorithm(const AlgorithmSetup& setup) {
  return entry_of(setup.config).make(setup);
}

std::size_t algorithm_bytes(const Config& config, const ActorCritic& network, const EnvSpec& spec,
                            int threads) {
  return entry_of(config).bytes(config, network, spec, threads);
}

void declare_algorithm_numbers(const InfoVisitor& declare) {
  std::set<std::string> seen;
  for (const AlgorithmEntry* entry : table().all()) {
    entry->declare_numbers([&](const NumberInfo& info) {
      if (seen.insert(info.name).second) declare(info);
    });
  }
}

}  // namespace broadloom
