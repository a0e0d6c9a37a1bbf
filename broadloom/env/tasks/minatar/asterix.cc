#include "broadloom/env/tasks/minatar/asterix.h"

#include "broadloom/env/tasks/minatar/minimal_entry.h"

namespace broadloom {

struct AsterixMinimal;  // a name for the registry; its type is Asterix

template <>
EnvEntry entry_of<Asterix>() {
  return make_entry<Asterix>();
}

template <>
EnvEntry entry_of<AsterixMinimal>() {
  return minatar::minimal_entry<Asterix>();
}

}  // namespace broadloom
