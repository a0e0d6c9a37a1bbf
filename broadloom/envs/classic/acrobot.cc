#include "broadloom/envs/classic/acrobot.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Acrobot>() {
  return make_entry<Acrobot>();
}

}  // namespace broadloom
