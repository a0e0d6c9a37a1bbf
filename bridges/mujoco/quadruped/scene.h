// Turns a robot's description into a scene with ground, sensors and physics settings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/quadruped/terrain.h"

namespace broadloom::mujoco {

// Prefixes the names of added elements, to avoid clashes with a robot's file.
inline std::string scene_name(const std::string& name) { return "broadloom/" + name; }

// Reads the model `xml_file`: the built-in "quadruped.xml", or a path. terrain: null for a plane.
// feet: names of geoms and sites. kNotFound; kInvalidConfig if it is not MJCF.
Result<std::shared_ptr<Model>> read_scene(const std::string& xml_file, const Terrain* terrain,
                                          const std::vector<std::string>& feet);

}  // namespace broadloom::mujoco
