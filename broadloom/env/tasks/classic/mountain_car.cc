#include "broadloom/env/tasks/classic/mountain_car.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<MountainCar>() {
  return make_entry<MountainCar>();
}

}  // namespace broadloom
