#include "broadloom/envs/classic/mountain_car.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<MountainCar>() {
  return make_entry<MountainCar>();
}

}  // namespace broadloom
