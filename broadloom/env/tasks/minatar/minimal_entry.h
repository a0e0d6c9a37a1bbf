// The second registration of a MinAtar game, -v1: without the actions that do nothing in it.
#pragma once

#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom::minatar {

template <class Game>
EnvEntry minimal_entry() {
  typename Game::Options options;
  options.use_minimal_action_set = true;
  return make_entry<Game>(options, [](EnvSpec& spec) { spec.id.back() = '1'; });
}

}  // namespace broadloom::minatar
