// The visitor of a table whose fields have roles: what Config::visit_fields declares its keys with.
#pragma once

#include "broadloom/core/key_role.h"

namespace broadloom {

// Role and since of one key. Made from a role alone, which is what the first keys have.
struct KeyMark {
  // NOLINTNEXTLINE(google-explicit-constructor): a role alone reads as what it is
  KeyMark(Role key_role) : role(key_role) {}
  KeyMark(Role key_role, Since key_since) : role(key_role), since(key_since) {}

  Role role;
  Since since = Since::kFirst;
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
      visitor_.describe({mark.role, mark.since, group_});
    }
  }

 private:
  Visitor& visitor_;
  const char* group_ = "";
};

}  // namespace broadloom
