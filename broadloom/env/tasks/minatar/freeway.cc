#include "broadloom/env/tasks/minatar/freeway.h"

#include "broadloom/env/tasks/minatar/minimal_entry.h"

namespace broadloom {

struct FreewayMinimal;  // a name for the registry; its type is Freeway

template <>
EnvEntry entry_of<Freeway>() {
  return make_entry<Freeway>();
}

template <>
EnvEntry entry_of<FreewayMinimal>() {
  return minatar::minimal_entry<Freeway>();
}

}  // namespace broadloom
