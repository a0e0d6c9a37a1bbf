// Finds keys that do nothing because of other keys' values. Config::visit_fields states the needs
// of each key. Refusals, help and the key reference follow from them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/config/schedule.h"
#include "broadloom/core/status.h"

namespace broadloom {

// "lr_schedule = adaptive"; "norm_obs or norm_reward = true"; "eval_interval above 0".
// prefix: of the keys' names, such as "env.".
std::string need_words(const Need& need, std::string_view prefix = "");
// "Needs algorithm = ppo or ppo_rnd, and ent_coef above 0."; empty if the key needs nothing.
std::string needs_sentence(const KeyFacts& facts);
// A field's line of help with that sentence.
std::string help_of(const FieldInfo& field);

// Whether a key that is set has an effect.
struct KeyUse {
  std::string key;
  bool acts = true;     // whether its needs are met
  std::string refusal;  // why it does nothing and what to do; empty: accepted
};

// Uses of the keys in `overrides` that have needs, in the assembled `config`. A key that does
// nothing is refused unless it has its default or its value in `usual` (the config without it),
// because files may name every key. num_minibatches with a minibatch_size is refused even at its
// default. spec: of the environment.
std::vector<KeyUse> key_uses(const Overrides& overrides, const Config& config, const Config& usual,
                             const EnvSpec& spec);

// All keys that do nothing in the config, judged without the environment.
std::set<std::string> idle_keys(const Config& config);
// The config with those keys at their defaults (or at KeyFacts::before): configs that train alike
// become equal.
Config without_idle_values(const Config& config);

// A value that falls to 0, where nothing is learnt any more; null: none.
const ScheduledValue* spent_value(const Config& config);

}  // namespace broadloom
