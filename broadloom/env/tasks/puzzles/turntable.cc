#include "broadloom/env/tasks/puzzles/turntable.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Turntable>() {
  return make_entry<Turntable>();
}

}  // namespace broadloom
