// Groups bodies into limbs, to colour them.
#pragma once

#include <mujoco/mujoco.h>

namespace broadloom::mujoco {

// The limb of a body: the child of the first body (the trunk) that it hangs on, or itself.
inline int limb_of(const mjModel& model, int body) {
  int limb = body;
  while (model.body_parentid[limb] > 1) limb = model.body_parentid[limb];
  return limb;
}

// Number of earlier limbs of the same body.
inline int limb_number(const mjModel& model, int limb) {
  int count = 0;
  for (int body = 1; body < limb; ++body)
    count += model.body_parentid[body] == model.body_parentid[limb] ? 1 : 0;
  return count;
}

}  // namespace broadloom::mujoco
