#include "broadloom/envs/toy_text/cliff_walking.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<CliffWalking>() {
  return make_entry<CliffWalking>();
}

}  // namespace broadloom
