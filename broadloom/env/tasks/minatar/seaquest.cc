#include "broadloom/env/tasks/minatar/seaquest.h"

#include "broadloom/env/tasks/minatar/minimal_entry.h"

namespace broadloom {

struct SeaquestMinimal;  // a name for the registry; its type is Seaquest

template <>
EnvEntry entry_of<Seaquest>() {
  return make_entry<Seaquest>();
}

template <>
EnvEntry entry_of<SeaquestMinimal>() {
  return minatar::minimal_entry<Seaquest>();
}

}  // namespace broadloom
