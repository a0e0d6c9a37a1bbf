// What a key of a run is about, and since when there is such a key.
//
// Whoever needs "the keys that ..." asks for roles (broadloom/config/keys.h) and keeps no list of
// its own, so that a new key is in every such list as soon as it is declared.
#pragma once

#include <array>

namespace broadloom {

enum class Role {
  kNone,         // a field of another table, or no key at all
  kTask,         // what is learnt: returns under other values have no mean in common
  kSeed,         // which one of the runs that are equal in all else
  kBudget,       // how long the run goes on
  kShape,        // N and T, the shape of the rollout block
  kMinibatches,  // how many gradient steps are made of a block
  kNetwork,      // which parameters there are and what they mean: a policy fits where these agree
  kLearning,     // whatever else changes what is learnt
  kMeasure,      // what is measured beside training, which does not depend on it
  kRecord,       // what a run's folder gets, and when; training does not depend on it
  kMachine,      // what computes, and in how much memory; a run may go on under another value
};

// Stores, checkpoints and ledgers are known by their keys. One of before a key was there is one
// that has its default, or KeyFacts::before where the key says so.
enum class Since {
  kFirst,  // with the first stores, whose hashes count it even at its default
  kLater,
};

// Values of another key under which a key does something (broadloom/config/needs.h).
struct Need {
  const char* keys = nullptr;    // one key, or "norm_obs or norm_reward": any of them; null: none
  const char* values = nullptr;  // "adaptive", "ppo or ppo_rnd", "above 1", kIsSet or kIsEmpty
  // Whether a user who gives the key its default is refused, too: it says what will not be done.
  bool at_default = false;
};
inline constexpr const char* kAboveZero = "above 0";
inline constexpr const char* kIsSet = "set";  // a list or text that is not empty
inline constexpr const char* kIsEmpty = "empty";

struct KeyFacts {
  Role role = Role::kNone;
  Since since = Since::kFirst;
  const char* group = "";        // the heading that help and reference show it under
  std::array<Need, 2> needs{};   // all of them
  const char* before = nullptr;  // what records without the key did; null: its default
};

}  // namespace broadloom
