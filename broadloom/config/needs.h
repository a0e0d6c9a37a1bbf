// Keys that do nothing as the other keys stand. Each key says in Config::visit_fields what it
// needs; refusals, help and the reference of keys follow from that.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"

namespace broadloom {

// "lr_schedule = adaptive"; "norm_obs or norm_reward = true"; "eval_interval above 0".
// prefix: what stands before the names of the keys, such as "env.".
std::string need_words(const Need& need, std::string_view prefix = "");
// "Needs algorithm = ppo or ppo_rnd, and ent_coef above 0."; empty where the key needs nothing.
std::string needs_sentence(const KeyFacts& facts);
// A field's line of help with that sentence.
std::string help_of(const FieldInfo& field);

// What came of a key that somebody set.
struct KeyUse {
  std::string key;
  bool acts = true;     // whether it has what it needs
  std::string refusal;  // got, why it does nothing, what to do; empty: nothing to refuse
};

// Of the keys in `overrides` that need something in `config`, which they were set in. Refused are
// those that do nothing, but for a key at its default or at its value in `usual` (what the config
// would have without it): files may name every key. num_minibatches beside a minibatch_size is
// refused at its default, too. spec: of the environment.
std::vector<KeyUse> key_uses(const Overrides& overrides, const Config& config, const Config& usual,
                             const EnvSpec& spec);

// Keys that do nothing in the config, whoever set them; but for what only the environment could
// say.
std::set<std::string> idle_keys(const Config& config);
// The config with its defaults (KeyFacts::before where there is one) for those keys: configs that
// train alike become equal.
Config without_idle_values(const Config& config);

}  // namespace broadloom
