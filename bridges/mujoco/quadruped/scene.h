// What a robot's description becomes a scene with: ground, sensors and the settings of the physics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/quadruped/terrain.h"

namespace broadloom::mujoco {

// What the scene adds has names that no robot's file has by chance.
inline std::string scene_name(const std::string& name) { return "broadloom/" + name; }

// The model of `xml_file`: "quadruped.xml", which the program carries, or a path. terrain: null for
// a plane. feet: names of geoms and sites. kNotFound, and kInvalidConfig where it is no MJCF.
Result<std::shared_ptr<Model>> read_scene(const std::string& xml_file, const Terrain* terrain,
                                          const std::vector<std::string>& feet);

}  // namespace broadloom::mujoco
