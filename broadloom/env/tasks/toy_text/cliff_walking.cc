#include "broadloom/env/tasks/toy_text/cliff_walking.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<CliffWalking>() {
  return make_entry<CliffWalking>();
}

}  // namespace broadloom
