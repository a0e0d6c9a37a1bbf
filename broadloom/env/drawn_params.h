// Access to the constants of an environment type, for strata.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/env/env_loops.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/strata_formulas.h"

namespace broadloom {

namespace env_detail {

struct ParamFieldLister {
  const char* base;
  std::vector<ParamField> fields;

  template <class T, class Limits>
  void operator()(const char* name, T& field, const Limits& limits, const char*) {
    add(name, field);
    if constexpr (std::is_same_v<Limits, Range>) fields.back().range = limits;
  }
  template <class T>
  void operator()(const char* name, T& field, const char*) {
    add(name, field);
  }

 private:
  template <class T>
  void add(const char* name, T& field) {
    const char* address = reinterpret_cast<const char*>(&field);
    fields.push_back(
        {name, std::is_same_v<T, double>, static_cast<std::size_t>(address - base), {}});
  }
};

// Widens the bounds of `space` to include those of `other`. False if the spaces differ in size.
inline bool widen(Space& space, const Space& other) {
  if (space.kind != other.kind || space.size != other.size || space.dtype != other.dtype ||
      space.shape != other.shape) {
    return false;
  }
  for (std::size_t i = 0; i < space.low.size(); ++i) {
    space.low[i] = std::min(space.low[i], other.low[i]);
    space.high[i] = std::max(space.high[i], other.high[i]);
  }
  return true;
}

}  // namespace env_detail

// The fields that Params::visit_fields() lists. Fields of type double can be drawn.
template <class Params>
std::vector<ParamField> fields_of_params() {
  Params params{};
  env_detail::ParamFieldLister lister{reinterpret_cast<const char*>(&params), {}};
  params.visit_fields(lister);
  return std::move(lister.fields);
}

// The constants of an environment. Episodes can draw those that are drawable. Empty if Options is
// not Params.
template <class Env>
std::vector<ParamField> param_fields() {
  if constexpr (std::is_same_v<typename Env::Params, typename Env::Options>) {
    return fields_of_params<typename Env::Params>();
  } else {
    return {};
  }
}

// Allowed ranges of drawn constants when saved ones are read. Each row is one Params struct.
template <class Env>
std::vector<ValueRange> ranges_of_drawn() {
  std::vector<ValueRange> ranges;
  for (const ParamField& field : param_fields<Env>()) {
    if (!field.drawable) continue;
    ranges.push_back({field.range.low, field.range.high, sizeof(typename Env::Params), field.offset,
                      Dtype::kF64});
  }
  return ranges;
}

// `params` with the drawable constants of `drawn`. Other constants are never read from a saved
// state.
template <class Env>
typename Env::Params with_drawn(typename Env::Params params, const typename Env::Params& drawn) {
  for (const ParamField& field : param_fields<Env>()) {
    if (!field.drawable) continue;
    double value;
    std::memcpy(&value, reinterpret_cast<const char*>(&drawn) + field.offset, sizeof(value));
    set_param(&params, field.offset, value);
  }
  return params;
}

// Widens the spaces of `spec` to include those with the constant at `offset` set to `value`.
template <class Env>
Status widen_to(const typename Env::Params& params, std::size_t offset, double value,
                EnvSpec& spec) {
  typename Env::Params changed = params;
  set_param(&changed, offset, value);
  const Result<typename Env::Params> made = Env::make_params(changed);
  if (!made.ok()) return made.status();
  const EnvSpec other = Env::spec(made.value());
  if (env_detail::widen(spec.observation, other.observation) &&
      env_detail::widen(spec.critic_observation, other.critic_observation) &&
      env_detail::widen(spec.action, other.action)) {
    return {};
  }
  return {ErrorKind::kInvalidConfig,
          "strata of " + spec.id +
              " change the size of its observations or actions; draw other constants"};
}

// Adds the strata's names to `spec`. Widens its spaces to those at both ends of every range, and
// removes its score range. kInvalidConfig if the environment refuses an end, or if a space changes
// its size there.
template <class Env>
Status describe_strata(const typename Env::Params& params, const Strata& strata, EnvSpec& spec) {
  if constexpr (EnvLoops<Env>::kDrawable) {
    if (!strata.empty()) spec.has_score_range = false;
    for (const Stratum& stratum : strata.all()) {
      spec.strata.push_back(stratum.name);
      for (const StratumRange& range : stratum.ranges) {
        BROADLOOM_TRY(widen_to<Env>(params, range.offset, range.low, spec));
        BROADLOOM_TRY(widen_to<Env>(params, range.offset, range.high, spec));
      }
    }
  }
  return {};
}

}  // namespace broadloom
