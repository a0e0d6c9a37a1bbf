#include "broadloom/envs/toy_text/taxi.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Taxi>() {
  return make_entry<Taxi>();
}

}  // namespace broadloom
