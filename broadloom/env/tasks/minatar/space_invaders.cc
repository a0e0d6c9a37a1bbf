#include "broadloom/env/tasks/minatar/space_invaders.h"

#include "broadloom/env/tasks/minatar/minimal_entry.h"

namespace broadloom {

struct SpaceInvadersMinimal;  // a name for the registry; its type is SpaceInvaders

template <>
EnvEntry entry_of<SpaceInvaders>() {
  return make_entry<SpaceInvaders>();
}

template <>
EnvEntry entry_of<SpaceInvadersMinimal>() {
  return minatar::minimal_entry<SpaceInvaders>();
}

}  // namespace broadloom
