#include "broadloom/envs/classic/cart_pole.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<CartPole>() {
  return make_entry<CartPole>();
}

}  // namespace broadloom
