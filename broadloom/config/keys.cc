#include "broadloom/config/keys.h"

#include <functional>
#include <map>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"

namespace broadloom {
namespace {

using FactsByKey = std::map<std::string, KeyFacts, std::less<>>;

FactsByKey gather_facts() {
  FactsByKey facts;
  for (const FieldInfo& field : list_fields(Config{})) facts[field.name] = field.facts;
  return facts;
}

}  // namespace

const KeyFacts& facts_of(std::string_view key) {
  static const FactsByKey kFacts = gather_facts();
  static const KeyFacts kTaskFacts{Role::kTask, Since::kFirst, ""}, kUnknown{};
  const auto found = kFacts.find(key);
  if (found != kFacts.end()) return found->second;
  return is_env_option(key) ? kTaskFacts : kUnknown;
}

bool is_env_option(std::string_view key) {
  return key.starts_with("env.") || is_strata_key(key) || is_disturbance_key(key);
}

}  // namespace broadloom
