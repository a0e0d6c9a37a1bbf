#include "broadloom/env/tasks/puzzles/tic_tac_toe.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<TicTacToe>() {
  return make_entry<TicTacToe>();
}

}  // namespace broadloom
