#include "broadloom/env/tasks/minatar/breakout.h"

#include "broadloom/env/tasks/minatar/minimal_entry.h"

namespace broadloom {

struct BreakoutMinimal;  // a name for the registry; its type is Breakout

template <>
EnvEntry entry_of<Breakout>() {
  return make_entry<Breakout>();
}

template <>
EnvEntry entry_of<BreakoutMinimal>() {
  return minatar::minimal_entry<Breakout>();
}

}  // namespace broadloom
