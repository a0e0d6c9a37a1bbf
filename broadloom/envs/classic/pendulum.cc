#include "broadloom/envs/classic/pendulum.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Pendulum>() {
  return make_entry<Pendulum>();
}

}  // namespace broadloom
