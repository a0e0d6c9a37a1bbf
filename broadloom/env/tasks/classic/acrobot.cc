#include "broadloom/env/tasks/classic/acrobot.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<Acrobot>() {
  return make_entry<Acrobot>();
}

}  // namespace broadloom
