#include "broadloom/env/tasks/puzzles/dials.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Dials>() {
  return make_entry<Dials>();
}

}  // namespace broadloom
