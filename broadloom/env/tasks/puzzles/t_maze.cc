#include "broadloom/env/tasks/puzzles/t_maze.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<TMaze>() {
  return make_entry<TMaze>();
}

}  // namespace broadloom
