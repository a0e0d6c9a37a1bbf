// The role of each key of a run, and the version that introduced the key.
//
// Code that needs "the keys that ..." asks for roles (broadloom/config/keys.h) and keeps no list of
// its own. A new key is thus in every such list as soon as it is declared.
#pragma once

#include <array>
#include <cstddef>

namespace broadloom {

enum class Role {
  kNone,         // a field of another table, or no key at all
  kTask,         // the task: returns under other values have no common mean
  kSeed,         // distinguishes runs that are equal in all else
  kBudget,       // how long the run goes on
  kShape,        // N and T, the shape of the rollout block
  kMinibatches,  // gradient steps per block
  kNetwork,      // which parameters exist and what they mean; a policy fits if these agree
  kLearning,     // all else that changes what is learnt
  kMeasure,      // measurements beside training, which does not depend on them
  kRecord,       // contents and timing of the run's records; training does not depend on it
  kMachine,      // processor and memory; a run may be resumed under another value
};

// Stores, checkpoints and ledgers are identified by their keys. A record older than a key counts as
// having that key's default, or KeyFacts::before if the key sets it.
enum class Since {
  kFirst,  // in the first stores, whose hashes include it even at its default
  kLater,
};

// Values of another key under which a key does something (broadloom/config/needs.h).
struct Need {
  // One key, or "norm_obs or norm_reward": any of them; null: none. A key may have its own value:
  // "lr_schedule or algorithm = pqn".
  const char* keys = nullptr;
  // "adaptive", "ppo or ppo_rnd", "above 1", "below 0", "other than flat", kIsSet...
  const char* values = nullptr;
  // Whether a user who gives the key its default is refused, too: it says what will not be done.
  bool at_default = false;
  // "block": only this value of the key, or these, has the need; null: each.
  const char* own_values = nullptr;
};
inline constexpr std::size_t kMostNeeds = 4;
inline constexpr const char* kAboveZero = "above 0";
inline constexpr const char* kIsSet = "set";  // a list or text that is not empty
inline constexpr const char* kIsEmpty = "empty";

struct KeyFacts {
  Role role = Role::kNone;
  Since since = Since::kFirst;
  const char* group = "";                // its heading in help and in the reference
  std::array<Need, kMostNeeds> needs{};  // the key does nothing unless all of them hold
  const char* before = nullptr;          // value in records older than the key; null: its default
};

}  // namespace broadloom
