#include "broadloom/config/needs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "broadloom/config/algorithm_names.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

// Names used like keys: for values from the environment, for the config's tables, and for what
// follows from several keys.
constexpr std::string_view kActions = "actions", kObservations = "observations";
constexpr std::string_view kStrata = "[strata]";
constexpr const char* kOptionPrefix = "env.";
constexpr std::string_view kSteps = "update_epochs x minibatches";
constexpr std::string_view kEarlySteps = "(update_epochs - 1) x minibatches";

// The largest number of any block of the run.
std::int64_t most_minibatches(const Config& config) {
  std::int64_t most = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    most = std::max(most, config.of_phase(p).minibatch_count());
  }
  return most;
}

using Texts = std::map<std::string, std::string, std::less<>>;

// The text of every key that another key may need. spec null: without `actions` and
// `observations`.
Texts texts_of(const Config& config, const EnvSpec* spec) {
  Texts texts;
  for (FieldInfo& field : list_fields(config)) texts[field.name] = std::move(field.value_text);
  const bool has_strata =
      std::any_of(config.env_options.begin(), config.env_options.end(),
                  [](const auto& option) { return is_strata_key(option.first); });
  texts[std::string(kStrata)] = has_strata ? "there" : "";
  const std::int64_t minibatches = most_minibatches(config);
  texts[std::string(kSteps)] = to_text(config.update_epochs * minibatches);
  texts[std::string(kEarlySteps)] = to_text((config.update_epochs - 1) * minibatches);
  if (spec == nullptr) return texts;
  const Space& action = spec->action;
  texts[std::string(kActions)] = action.has_box()                      ? "Box"
                                 : action.kind == SpaceKind::kDiscrete ? "Discrete"
                                                                       : "MultiDiscrete";
  texts[std::string(kObservations)] = spec->observation.groups.empty() ? "one array" : "groups";
  return texts;
}

std::vector<std::string> alternatives(std::string_view text) {
  constexpr std::string_view kOr = " or ";
  std::vector<std::string> out;
  for (std::size_t end = text.find(kOr); end != std::string_view::npos; end = text.find(kOr)) {
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + kOr.size());
  }
  out.emplace_back(text);
  return out;
}

constexpr std::string_view kAbove = "above ", kBelow = "below ", kOther = "other than ";

bool is_bound(std::string_view values) {
  return values.starts_with(kAbove) || values.starts_with(kBelow);
}

// The end of a stratum's range, "0.4..0.6", that decides whether one of its numbers passes a bound.
std::string_view deciding_end(std::string_view text, bool is_high) {
  constexpr std::string_view kTo = "..";
  const std::size_t place = text.find(kTo);
  if (place == std::string_view::npos) return text;
  return is_high ? text.substr(place + kTo.size()) : text.substr(0, place);
}

bool is_among(std::string_view values, const std::string& text) {
  if (values == kIsSet || values == kIsEmpty) return text.empty() == (values == kIsEmpty);
  if (values.starts_with(kOther)) return text != values.substr(kOther.size());
  if (is_bound(values)) {
    static_assert(kAbove.size() == kBelow.size());
    const bool is_above = values.starts_with(kAbove);
    double bound = 0.0, number = 0.0;
    const bool are_numbers = parse_text(values.substr(kAbove.size()), bound).ok() &&
                             parse_text(deciding_end(text, is_above), number).ok();
    return are_numbers && (is_above ? number > bound : number < bound);
  }
  const std::vector<std::string> all = alternatives(values);
  return std::find(all.begin(), all.end(), text) != all.end();
}

struct Condition {
  std::string key, values;
};

// The alternatives of a need. One may name its own value: "lr_schedule or algorithm = pqn".
std::vector<Condition> conditions(const Need& need) {
  constexpr std::string_view kEquals = " = ";
  std::vector<Condition> out;
  for (const std::string& text : alternatives(need.keys)) {
    const std::size_t end = text.find(kEquals);
    if (end == std::string::npos) {
      out.push_back({text, need.values});
    } else {
      out.push_back({text.substr(0, end), text.substr(end + kEquals.size())});
    }
  }
  return out;
}

// A registered algorithm may use any key.
bool is_met(const Need& need, const Texts& texts) {
  if (need.keys == nullptr) return true;
  for (const auto& [key, values] : conditions(need)) {
    const auto found = texts.find(key);
    if (found == texts.end() || is_among(values, found->second)) return true;
    if (key == "algorithm" && !is_built_in_algorithm(found->second)) return true;
  }
  return false;
}

// The first need that the key's value has and that is not met.
const Need* unmet(const FieldInfo& field, const Texts& texts) {
  for (const Need& need : field.facts.needs) {
    const bool has_it =
        need.own_values == nullptr || is_among(need.own_values, texts.find(field.name)->second);
    if (has_it && !is_met(need, texts)) return &need;
  }
  return nullptr;
}

// The values of keys, of the config or of episodes, and whole names of the keys.
struct Place {
  std::string prefix;  // "env."; empty for the config's own keys
  Texts texts;
  // For a stratum, whose ranges replace values of the options.
  std::string stratum_prefix = {};  // "strata.easy."
  std::set<std::string, std::less<>> drawn = {};

  std::string name(const std::string& key) const {
    return (drawn.contains(key) ? stratum_prefix : prefix) + key;
  }
};

std::string words_of(const Need& need, const Place& place) {
  const std::vector<Condition> all = conditions(need);
  std::string words;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& values = all[i].values;
    const bool is_new = i > 0 && all[i - 1].values != values;
    const bool is_last = i + 1 == all.size() || all[i + 1].values != values;
    words += i == 0 ? "" : is_new ? ", or " : " or ";
    words += place.name(all[i].key);
    if (!is_last) continue;
    const bool is_equal =
        values != kIsSet && values != kIsEmpty && !is_bound(values) && !values.starts_with(kOther);
    words += (is_equal ? " = " : " ") + values;
  }
  return words;
}

std::string refusal_of(const std::string& name, const std::string& text, const Need& need,
                       const Place& place) {
  std::string present;
  for (const auto& [key, values] : conditions(need)) {
    const std::string& other = place.texts.find(key)->second;
    present += (present.empty() ? "" : " and ") + place.name(key);
    present += other.empty() ? " is not set" : " = " + other;
  }
  const bool may_set = need.keys != kActions && need.keys != kObservations;
  return name + ": got " + text + ", but it does nothing while " + present + "; it needs " +
         words_of(need, place) + ". " + (may_set ? "Set that, or leave " : "Leave ") + name +
         " out";
}

KeyUse use_of(const FieldInfo& field, const Place& place, const std::string& usual) {
  const std::string name = place.name(field.name);
  KeyUse use{.key = name, .acts = true, .refusal = {}};
  const Need* const need = unmet(field, place.texts);
  if (need == nullptr) return use;
  const std::string& text = place.texts.find(field.name)->second;
  use.acts = false;
  if ((text != field.default_text && text != usual) || need->at_default) {
    use.refusal = refusal_of(name, text, *need, place);
  }
  return use;
}

bool sets(const Overrides& overrides, std::string_view key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const auto& entry) { return entry.first == key; });
}

// The text that to_text() of the type writes, so that "0.50" and "0.5" are equal, and so are "[1,
// 2]" and "1,2".
std::string usual_form(const std::string& type, const std::string& text) {
  bool truth = false;
  double number = 0.0;
  if (type == "bool" && parse_text(text, truth).ok()) return to_text(truth);
  const bool is_number = type == "int" || type == "float";
  if (is_number && parse_text(text, number).ok()) return to_text(number);
  if (type != "numbers" && type != "interval" && type != "list") return text;
  std::string out, part;
  const auto end_part = [&] {
    out += parse_text(part, number).ok() ? to_text(number) : part;
    part.clear();
  };
  for (const char c : text) {
    if (c == ',') {
      end_part();
      out += c;
    } else if (c != ' ' && c != '[' && c != ']') {
      part += c;
    }
  }
  end_part();
  return out;
}

// The values that episodes have: those of each stratum, or without strata those of the options or
// disturbances alone. Their keys are `prefix` and a field's name.
std::vector<Place> places_of(const std::vector<FieldInfo>& fields, const std::string& prefix,
                             const Overrides& overrides) {
  Place plain{prefix, {}};
  for (const FieldInfo& field : fields) {
    plain.texts[field.name] = usual_form(field.type, field.default_text);
  }
  for (const auto& [key, text] : overrides) {
    const std::string name = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
    for (const FieldInfo& field : fields) {
      if (field.name == name) plain.texts[name] = usual_form(field.type, text);
    }
  }
  std::map<std::string, Place> strata;
  for (const auto& [key, text] : overrides) {
    if (prefix != kOptionPrefix || !is_strata_key(key)) continue;
    const StrataKey parts = split_strata_key(key);
    Place& stratum = strata.try_emplace(parts.stratum, plain).first->second;
    stratum.stratum_prefix = "strata." + parts.stratum + ".";
    if (!plain.texts.contains(parts.field)) continue;  // such as its weight
    stratum.drawn.insert(parts.field);
    stratum.texts[parts.field] = plain_strata_text(text);
  }
  if (strata.empty()) return {plain};
  std::vector<Place> places;
  places.reserve(strata.size());
  for (auto& [name, stratum] : strata) places.push_back(std::move(stratum));
  return places;
}

// A constant of the environment that every stratum draws. Its last value counts.
KeyUse drawn_use(const std::string& name, const Overrides& overrides, const FieldInfo& field) {
  KeyUse use{.key = name, .acts = false, .refusal = {}};
  for (const auto& [key, text] : overrides) {
    if (key != name) continue;
    const bool is_default =
        usual_form(field.type, text) == usual_form(field.type, field.default_text);
    use.refusal = is_default ? ""
                             : name + ": got " + text +
                                   ", but it does nothing while every [strata.<name>] draws " +
                                   field.name + ". Leave " + name + " out";
  }
  return use;
}

// Adds the uses of environment options or disturbances, and of strata. An option acts if it does in
// one of the strata that do not draw it.
void add_option_uses(const std::vector<FieldInfo>& fields, const std::string& prefix,
                     const Overrides& overrides, std::vector<KeyUse>& uses) {
  const std::vector<Place> places = places_of(fields, prefix, overrides);
  for (const FieldInfo& field : fields) {
    const std::string name = prefix + field.name;
    const std::string usual = usual_form(field.type, field.default_text);
    const bool has_needs = field.facts.needs[0].keys != nullptr;
    std::optional<KeyUse> option;
    for (const Place& place : places) {
      if (place.drawn.contains(field.name)) {
        if (has_needs) uses.push_back(use_of(field, place, usual));
      } else if (KeyUse use = use_of(field, place, usual); !option || use.acts) {
        option = std::move(use);
      }
    }
    if (!sets(overrides, name)) continue;
    if (!option) {
      uses.push_back(drawn_use(name, overrides, field));
    } else if (has_needs) {
      uses.push_back(*option);
    }
  }
}

}  // namespace

std::string need_words(const Need& need, std::string_view prefix) {
  return words_of(need, Place{std::string(prefix), {}});
}

std::string needs_sentence(const KeyFacts& facts) {
  std::string words;
  for (const Need& need : facts.needs) {
    if (need.keys == nullptr) continue;
    words += (words.empty() ? "Needs " : ", and ") + need_words(need);
    if (need.own_values != nullptr) words += std::string(" for ") + need.own_values;
  }
  return words.empty() ? words : words + ".";
}

std::string help_of(const FieldInfo& field) {
  const std::string needs = needs_sentence(field.facts);
  return needs.empty() ? field.doc : field.doc + " " + needs;
}

std::vector<KeyUse> key_uses(const Overrides& overrides, const Config& config, const Config& usual,
                             const EnvSpec& spec) {
  const Place place{"", texts_of(config, &spec)};
  const Texts usual_texts = texts_of(usual, &spec);
  std::vector<KeyUse> uses;
  for (const FieldInfo& field : list_fields(config)) {
    if (!sets(overrides, field.name) || field.facts.needs[0].keys == nullptr) continue;
    uses.push_back(use_of(field, place, usual_texts.find(field.name)->second));
  }
  if (const Result<std::vector<FieldInfo>> options =
          list_env_options(config.env_id, config.env_options);
      options.ok()) {
    add_option_uses(options.value(), kOptionPrefix, overrides, uses);
  }
  add_option_uses(list_fields(Disturbance{}), "disturb.", overrides, uses);
  return uses;
}

std::set<std::string> idle_keys(const Config& config) {
  const Texts texts = texts_of(config, nullptr);
  std::set<std::string> idle;
  for (const FieldInfo& field : list_fields(config)) {
    if (unmet(field, texts) != nullptr) idle.insert(field.name);
  }
  return idle;
}

Config without_idle_values(const Config& config) {
  std::set<std::string> idle = idle_keys(config);
  // Stores have cells of one environment with and without it, which remain two.
  idle.erase("stagger_starts");
  Config out = config;
  for (const FieldInfo& field : list_fields(config)) {
    const char* const before = field.facts.before;
    const std::string wanted = before ? before : field.default_text;
    if (idle.count(field.name) == 0 || field.value_text == wanted) continue;
    static_cast<void>(set_field(out, field.name, wanted));
  }
  return out;
}

const ScheduledValue* spent_value(const Config& config) {
  const std::set<std::string> idle = idle_keys(config);
  for (const ScheduledValue& one : kScheduledValues) {
    const Schedule schedule = schedule_of(config, one);
    const bool matters = one.value != &Config::ent_coef && !idle.contains(one.key);
    if (matters && !schedule.is_constant() && schedule.end == 0.0) return &one;
  }
  return nullptr;
}

}  // namespace broadloom
