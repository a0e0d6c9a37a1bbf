#include "broadloom/envs/classic/mountain_car_continuous.h"

#include "broadloom/envs/make_entry.h"

namespace broadloom {

template <>
EnvEntry entry_of<MountainCarContinuous>() {
  return make_entry<MountainCarContinuous>();
}

}  // namespace broadloom
