#include "broadloom/env/tasks/classic/pendulum.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Pendulum>() {
  return make_entry<Pendulum>();
}

}  // namespace broadloom
