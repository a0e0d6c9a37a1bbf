// Contacts of spheres with the ground of a scene (scene.h), a surface of triangles.
//
// MuJoCo treats a height field as a row of prisms, one per triangle, with side walls. On level
// ground, such a wall is every few centimetres. It pushes a nearby sphere sideways, and feet trip.
// Here a sphere touches the surface: the faces below it, or the nearest edge if there are none.
#pragma once

#include "bridges/mujoco/library.h"

namespace broadloom::mujoco {

// Makes the library use these contacts from now on, but only for spheres on a scene's ground.
// Thread-safe; repeated calls change nothing.
void use_ground_contacts(const Library& library);

}  // namespace broadloom::mujoco
