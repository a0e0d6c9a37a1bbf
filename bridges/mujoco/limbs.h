// Which bodies make a limb, for who colours them.
#pragma once

#include <mujoco/mujoco.h>

namespace broadloom::mujoco {

// Bodies that hang on the first one (a trunk) belong to the child of it that they hang on; others
// are their own.
inline int limb_of(const mjModel& model, int body) {
  int limb = body;
  while (model.body_parentid[limb] > 1) limb = model.body_parentid[limb];
  return limb;
}

// Limbs of the same body that come before it.
inline int limb_number(const mjModel& model, int limb) {
  int count = 0;
  for (int body = 1; body < limb; ++body)
    count += model.body_parentid[body] == model.body_parentid[limb] ? 1 : 0;
  return count;
}

}  // namespace broadloom::mujoco
