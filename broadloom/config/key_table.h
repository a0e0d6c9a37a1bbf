// The visitor of a table whose fields have roles: what Config::visit_fields declares its keys with.
#pragma once

#include "broadloom/core/key_role.h"

namespace broadloom {

// Facts of one key. Made from a role alone, which is what the first keys have.
//
//   v("clip_obs", clip_obs, KeyMark(Role::kLearning).needs("norm_obs", "true"), "Clip.");
struct KeyMark {
  // NOLINTNEXTLINE(google-explicit-constructor): a role alone reads as what it is
  KeyMark(Role role) { facts.role = role; }
  KeyMark(Role role, Since since) : KeyMark(role) { facts.since = since; }

  // The key does nothing unless these keys have these values: see Need. At most two.
  KeyMark needs(const char* keys, const char* values) const { return with({keys, values}); }
  // As needs(), and a user may not even give the key its default.
  KeyMark stands_only_with(const char* keys, const char* values) const {
    return with({keys, values, true});
  }
  // Records of before the key did what this value says.
  KeyMark was(const char* value) const {
    KeyMark mark = *this;
    mark.facts.before = value;
    return mark;
  }

  KeyFacts facts;

 private:
  KeyMark with(const Need& need) const {
    KeyMark mark = *this;
    mark.facts.needs[facts.needs[0].keys == nullptr ? 0 : 1] = need;
    return mark;
  }
};

// Of every new key: what was stored before it stays what it was.
inline KeyMark later(Role role) { return {role, Since::kLater}; }

// Passes each key on to a visitor of config_table.h, and its facts to those who ask for them. A key
// without a role does not compile.
template <class Visitor>
class KeyTable {
 public:
  explicit KeyTable(Visitor& visitor) : visitor_(visitor) {}

  // The heading of all keys that follow.
  void group(const char* title) { group_ = title; }

  // rest: Range or Choices, where the field has one, and its line of help.
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
