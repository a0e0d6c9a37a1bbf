#include "broadloom/env/tasks/puzzles/golf.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Golf>() {
  return make_entry<Golf>();
}

}  // namespace broadloom
