// Declares the keys of Config::visit_fields with their facts.
#pragma once

#include "broadloom/core/key_role.h"

namespace broadloom {

// Facts of one key. A role alone is enough.
//
//   v("clip_obs", clip_obs, KeyMark(Role::kLearning).needs("norm_obs", "true"), "Clip.");
struct KeyMark {
  // NOLINTNEXTLINE(google-explicit-constructor): a bare role is readable
  KeyMark(Role role) { facts.role = role; }
  KeyMark(Role role, Since since) : KeyMark(role) { facts.since = since; }

  // The key does nothing unless these keys have these values: see Need. At most kMostNeeds.
  KeyMark needs(const char* keys, const char* values) const { return add_need({keys, values}); }
  // As needs(), of one value of the key, or of several: "block or off".
  KeyMark value_needs(const char* own_values, const char* keys, const char* values) const {
    return add_need({keys, values, false, own_values});
  }
  // As needs(), but even the default value is refused.
  KeyMark stands_only_with(const char* keys, const char* values) const {
    return add_need({keys, values, true});
  }
  // Records without the key behaved like this value.
  KeyMark was(const char* value) const {
    KeyMark mark = *this;
    mark.facts.before = value;
    return mark;
  }

  KeyFacts facts;

 private:
  KeyMark add_need(const Need& need) const {
    KeyMark mark = *this;
    std::size_t i = 0;
    while (mark.facts.needs.at(i).keys != nullptr) ++i;
    mark.facts.needs[i] = need;
    return mark;
  }
};

// For every new key: older records keep their meaning.
inline KeyMark later(Role role) { return {role, Since::kLater}; }

// Passes each key to a visitor of config_table.h, and its facts if the visitor has describe(). A
// key without a role does not compile.
template <class Visitor>
class KeyTable {
 public:
  explicit KeyTable(Visitor& visitor) : visitor_(visitor) {}

  // The heading of all keys that follow.
  void group(const char* title) { group_ = title; }

  // rest: optional Range or Choices, and the line of help.
  template <class T, class... Rest>
  void operator()(const char* name, T& field, KeyMark mark, const Rest&... rest) {
    visitor_(name, field, rest...);
    if constexpr (requires(KeyFacts facts) { visitor_.describe(facts); }) {
      mark.facts.group = group_;
      visitor_.describe(mark.facts);
    }
  }

 private:
  Visitor& visitor_;
  const char* group_ = "";
};

}  // namespace broadloom
