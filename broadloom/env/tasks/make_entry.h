// Makes a registry entry from an environment type. It compiles slowly for each type, so include it
// only in that environment's own .cc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/drawn_params.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom {
namespace env_detail {

template <class Env>
Result<typename Env::Params> params_of(typename Env::Options options, const Overrides& overrides) {
  for (const auto& [key, text] : overrides) {
    BROADLOOM_TRY(set_field(options, key, text));
  }
  return Env::make_params(options);
}

// Whether the overrides change any option. They must be valid.
template <class Options>
bool changes_options(const Options& defaults, const Overrides& overrides) {
  Options options = defaults;
  for (const auto& [key, text] : overrides) (void)set_field(options, key, text).ok();
  const std::vector<FieldInfo> before = list_fields(defaults), after = list_fields(options);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].value_text != after[i].value_text) return true;
  }
  return false;
}

// The options for `env show`, with the defaults of this entry, not of the type.
template <class Options>
std::vector<FieldInfo> options_of(const Options& defaults) {
  std::vector<FieldInfo> fields = list_fields(defaults);
  for (FieldInfo& field : fields) field.default_text = field.value_text;
  return fields;
}

// Checks that Env::spec() promises nothing whose member is missing, which describe_type() would
// drop.
template <class Env>
Status check_members(const EnvSpec& spec) {
  const char* const lacks =
      spec.action.masked && !kHasMasks<Env>                ? "action.masked without valid_actions()"
      : spec.names_success && !Outcome<Env>::kNamesSuccess ? "names_success without success()"
      : !spec.context.empty() && !kHasContext<Env>         ? "context without context()"
      : spec.end_reasons.size() > 2 && !Outcome<Env>::kNamesReasons
          ? "several end_reasons without the member of that name"
          : nullptr;
  if (lacks == nullptr) return {};
  return invalid(std::string("spec() has ") + lacks +
                 "; define it as env/environment.h says, or leave it out of spec()");
}

// An environment under given overrides.
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
  BROADLOOM_TRY(check_members<Env>(made.spec));
  describe_type<Env>(made.spec);
  variant(made.spec);
  // Reference scores hold only for default options.
  if (changes_options(defaults, options)) made.spec.has_score_range = false;
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
      return Status(
          ErrorKind::kInvalidConfig,
          made.value().spec.id +
              " has no single transition table with strata or disturbances; leave them out");
    };
  } else {
    return {};
  }
}

}  // namespace env_detail

// The spec comes from Env::spec(). `variant` may change its id and limits. `defaults` may differ
// from Env::Options{}.
template <class Env>
EnvEntry make_entry(
    const typename Env::Options& defaults = {},
    const std::function<void(EnvSpec&)>& variant = [](EnvSpec&) {}) {
  const auto make_spec = [=](const Overrides& overrides) -> Result<EnvSpec> {
    Result<env_detail::Made<Env>> made = env_detail::make_parts<Env>(defaults, variant, overrides);
    if (!made.ok()) return made.status();
    return made.value().spec;
  };
  const auto make = [=](const Overrides& overrides,
                        const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    Result<env_detail::Made<Env>> parts = env_detail::make_parts<Env>(defaults, variant, overrides);
    if (!parts.ok()) return parts.status();
    env_detail::Made<Env> made = parts.take();
    BROADLOOM_TRY(check_curriculum(options.curriculum, made.spec, options.strata_sampling));
    if (!BatchedEnv<Env>::named_sizes_match(made.spec)) {
      return Status(ErrorKind::kInvalidConfig,
                    made.spec.id +
                        ": kObservationSize, kActionSize or kCriticObservationSize differs from "
                        "spec(); correct them in the environment's header");
    }
    if (!BatchedEnv<Env>::observation_types_match(made.spec)) {
      return Status(ErrorKind::kInvalidConfig,
                    made.spec.id +
                        ": observe() and observe_critic() do not match spec(); use std::uint8_t* "
                        "for a uint8 space and float* otherwise, and define observe_critic() "
                        "exactly if spec() has a critic_observation");
    }
    std::unique_ptr<VecEnv> envs = std::make_unique<BatchedEnv<Env>>(
        made.params, std::move(made.spec), options, std::move(made.strata));
    if (!made.disturbance.any()) return envs;
    return disturb(std::move(envs), made.disturbance, options);
  };
  return {make_spec({}).take(),
          make_spec,
          make,
          [=] { return env_detail::options_of(defaults); },
          env_detail::table_of<Env>(defaults, variant),
          false};
}

}  // namespace broadloom
