#include "broadloom/envs/registry.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/drawn_params.h"
#include "broadloom/envs/classic/acrobot.h"
#include "broadloom/envs/classic/cart_pole.h"
#include "broadloom/envs/classic/mountain_car.h"
#include "broadloom/envs/classic/mountain_car_continuous.h"
#include "broadloom/envs/classic/pendulum.h"
#include "broadloom/envs/toy_text/cliff_walking.h"
#include "broadloom/envs/toy_text/frozen_lake.h"
#include "broadloom/envs/toy_text/taxi.h"

namespace broadloom {
namespace {

// One registered environment; the functions have its type inside.
struct Entry {
  EnvSpec spec;
  std::function<Result<EnvSpec>(const Overrides&)> make_spec;
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;
  std::function<Result<TabularModel>(const Overrides&)> table;  // empty: not tabular
};

template <class Env>
Result<typename Env::Params> params_of(typename Env::Options options, const Overrides& overrides) {
  for (const auto& [key, text] : overrides) {
    BROADLOOM_TRY(set_field(options, key, text));
  }
  return Env::make_params(options);
}

// Whether the overrides, already known to be valid, change anything.
template <class Options>
bool change(const Options& defaults, const Overrides& overrides) {
  Options options = defaults;
  for (const auto& [key, text] : overrides) (void)set_field(options, key, text).ok();
  const std::vector<FieldInfo> before = list_fields(defaults), after = list_fields(options);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].value_text != after[i].value_text) return true;
  }
  return false;
}

// What overrides make of an environment.
template <class Env>
struct Made {
  typename Env::Params params{};
  EnvSpec spec;
  Strata strata;
  Disturbance disturbance;
};

template <class Env>
Result<Made<Env>> make_parts(const typename Env::Options& defaults,
                             const std::function<void(EnvSpec&)>& variant,
                             const Overrides& overrides) {
  Overrides options, strata_keys, disturbance_keys;
  for (const auto& entry : overrides) {
    const bool disturbs = is_disturbance_key(entry.first);
    (disturbs                     ? disturbance_keys
     : is_strata_key(entry.first) ? strata_keys
                                  : options)
        .push_back(entry);
  }
  Result<typename Env::Params> params = params_of<Env>(defaults, options);
  if (!params.ok()) return params.status();
  Made<Env> made{params.value(), Env::spec(params.value()), {}, {}};
  Outcome<Env>::describe(made.spec);
  variant(made.spec);
  // Scores of reference are those of the environment as it stands, not of a variation on it.
  if (change(defaults, options)) made.spec.has_score_range = false;
  Result<Strata> strata = make_strata(strata_keys, param_fields<Env>(), made.spec.id);
  if (!strata.ok()) return strata.status();
  made.strata = strata.take();
  BROADLOOM_TRY(describe_strata<Env>(made.params, made.strata, made.spec));
  Result<Disturbance> disturbance = make_disturbance(disturbance_keys);
  if (!disturbance.ok()) return disturbance.status();
  made.disturbance = disturbance.take();
  BROADLOOM_TRY(describe_disturbance(made.disturbance, made.spec));
  return made;
}

template <class Env>
std::function<Result<TabularModel>(const Overrides&)> table_of(
    const typename Env::Options& defaults, const std::function<void(EnvSpec&)>& variant) {
  if constexpr (requires(const typename Env::Params& params) { Env::table(params); }) {
    return [=](const Overrides& overrides) -> Result<TabularModel> {
      Result<Made<Env>> made = make_parts<Env>(defaults, variant, overrides);
      if (!made.ok()) return made.status();
      if (made.value().strata.empty() && !made.value().disturbance.any()) {
        return Env::table(made.value().params);
      }
      return Status(ErrorKind::kInvalidConfig,
                    made.value().spec.id +
                        " has no one transition table with strata or disturbances; leave them out");
    };
  } else {
    return {};
  }
}

// id and the rest of the spec come from Env::spec; `variant` may rename it and change limits, and
// `defaults` may be other than Env::Options{}.
template <class Env>
Entry entry(
    const typename Env::Options& defaults = {},
    const std::function<void(EnvSpec&)>& variant = [](EnvSpec&) {}) {
  const auto make_spec = [=](const Overrides& overrides) -> Result<EnvSpec> {
    Result<Made<Env>> made = make_parts<Env>(defaults, variant, overrides);
    if (!made.ok()) return made.status();
    return made.value().spec;
  };
  const auto make = [=](const Overrides& overrides,
                        const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    Result<Made<Env>> parts = make_parts<Env>(defaults, variant, overrides);
    if (!parts.ok()) return parts.status();
    Made<Env> made = parts.take();
    BROADLOOM_TRY(check_curriculum(options.curriculum, made.spec, options.strata_sampling));
    if (!BatchedEnv<Env>::named_sizes_hold(made.spec)) {
      return Status(ErrorKind::kInvalidConfig,
                    made.spec.id +
                        ": kObservationSize or kActionSize is not what spec() says; correct "
                        "them in the environment's header");
    }
    std::unique_ptr<VecEnv> envs = std::make_unique<BatchedEnv<Env>>(
        made.params, std::move(made.spec), options, std::move(made.strata));
    if (!made.disturbance.any()) return envs;
    return disturb(std::move(envs), made.disturbance, options);
  };
  return {make_spec({}).take(), make_spec, make, [=] { return list_fields(defaults); },
          table_of<Env>(defaults, variant)};
}

FrozenLake::Options large_lake() {
  FrozenLake::Options options;
  options.map_name = "8x8";
  return options;
}

// Upstream's other registration of FrozenLake: the larger map with its own limit and threshold.
void frozen_lake_8x8(EnvSpec& spec) {
  spec.id = "FrozenLake8x8-v1";
  spec.max_episode_steps = 200;
  spec.reward_threshold = 0.85;
  spec.set_score_range(0.00190140, 0.91322015);  // both exact, from table() within 200 steps
  spec.summary = "Cross slippery ice to the goal (8x8).";
}

// One line an environment.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> list;
    list.push_back(entry<CartPole>());
    list.push_back(entry<Acrobot>());
    list.push_back(entry<MountainCar>());
    list.push_back(entry<MountainCarContinuous>());
    list.push_back(entry<Pendulum>());
    list.push_back(entry<FrozenLake>());
    list.push_back(entry<FrozenLake>(large_lake(), frozen_lake_8x8));
    list.push_back(entry<CliffWalking>());
    list.push_back(entry<Taxi>());
    return list;
  }();
  return entries;
}

Result<const Entry*> find(const std::string& id) {
  std::vector<std::string> ids;
  for (const Entry& entry : registry()) {
    if (entry.spec.id == id) return &entry;
    ids.push_back(entry.spec.id);
  }
  Status status = unknown_key_error("environment", id, ids);
  return Status(ErrorKind::kNotFound,
                status.message() + "; `broadloom env list` names all of them");
}

}  // namespace

Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options) {
  if (options.num_envs < 1) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("num_envs is {}; expected at least 1", options.num_envs));
  }
  if (options.max_episode_steps < 0) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("max_episode_steps is {}; expected at least 0 (0: the environment's own)",
                    options.max_episode_steps));
  }
  if (options.seed_families < 0 || options.num_envs % options.families() != 0) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("seed_families is {}; expected a divisor of num_envs, which is {}, or 0 for as "
                    "many families as environments",
                    options.seed_families, options.num_envs));
  }
  Result<const Entry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  return entry.value()->make(env_options, options);
}

std::vector<EnvSpec> list_envs() {
  std::vector<EnvSpec> specs;
  for (const Entry& entry : registry()) specs.push_back(entry.spec);
  return specs;
}

Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps) {
  Result<const Entry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  Result<EnvSpec> spec = entry.value()->make_spec(env_options);
  if (spec.ok()) spec.value().set_time_limit(max_episode_steps);
  return spec;
}

Result<std::vector<FieldInfo>> list_env_options(const std::string& id) {
  Result<const Entry*> entry = find(id);
  if (!entry.ok()) return entry.status();
  return entry.value()->options();
}

Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options) {
  Result<const Entry*> found = find(id);
  if (!found.ok()) return found.status();
  if (found.value()->table) return found.value()->table(env_options);
  std::string tabular;
  for (const Entry& entry : registry()) {
    if (!entry.table) continue;
    tabular += (tabular.empty() ? "" : ", ") + entry.spec.id;
  }
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("{} is not tabular; expected one of {}", id, tabular));
}

}  // namespace broadloom
