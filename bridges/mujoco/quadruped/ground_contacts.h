// Contacts of spheres with the ground of a scene (scene.h), a surface of triangles.
//
// MuJoCo's own take a height field for a row of prisms, one a triangle, each with walls of its own:
// a sphere near such a wall, of which level ground has one every few centimetres, is pushed
// sideways by it, and a foot trips. Here a sphere touches the surface: the faces it is above, or
// where it is above none, the nearest edge.
#pragma once

#include "bridges/mujoco/library.h"

namespace broadloom::mujoco {

// Has the library take them, from now on; height fields that are no scene's ground, and what is no
// sphere, keep MuJoCo's own. Any number of times, from any thread.
void use_ground_contacts(const Library& library);

}  // namespace broadloom::mujoco
