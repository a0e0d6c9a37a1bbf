#include "broadloom/env/tasks/classic/cart_pole.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<CartPole>() {
  return make_entry<CartPole>();
}

}  // namespace broadloom
