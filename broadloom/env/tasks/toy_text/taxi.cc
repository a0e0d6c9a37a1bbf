#include "broadloom/env/tasks/toy_text/taxi.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Taxi>() {
  return make_entry<Taxi>();
}

}  // namespace broadloom
