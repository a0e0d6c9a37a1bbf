#include "broadloom/env/tasks/classic/mountain_car_continuous.h"

#include "broadloom/env/tasks/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<MountainCarContinuous>() {
  return make_entry<MountainCarContinuous>();
}

}  // namespace broadloom
