// Turns a robot's description into a scene with ground, sensors and physics settings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/quadruped/terrain.h"
#include "broadloom/core/config_table.h"

namespace broadloom::mujoco {

// MuJoCo's options for a scene. The defaults are Playground's.
struct PhysicsSettings {
  double timestep = 0.004;  // s
  std::string integrator = "Euler", cone = "pyramidal", solver = "Newton";
  int iterations = 1, ls_iterations = 5;

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("timestep", timestep, Range{1e-4, 0.1},
      "Time of a physics step, s; an action lasts for frame_skip of them.");
    v("integrator", integrator, Choices{{"Euler", "implicit", "implicitfast"}},
      "MuJoCo's integrator. Euler treats damping explicitly here; the others do not.");
    v("cone", cone, Choices{{"pyramidal", "elliptic"}},
      "Friction cone of contacts. Elliptic ones are exact, and dearer.");
    v("solver", solver, Choices{{"Newton", "CG", "PGS"}}, "Solver of contacts.");
    v("iterations", iterations, Range{1, 1000}, "Most iterations of the solver.");
    v("ls_iterations", ls_iterations, Range{1, 1000},
      "Most line search iterations in each iteration of the solver.");
  }
};

// Prefixes the names of added elements, to avoid clashes with a robot's file.
inline std::string scene_name(const std::string& name) { return "broadloom/" + name; }

// Reads the model `xml_file`: the built-in "quadruped.xml", or a path. terrain: null for a plane.
// feet: names of geoms and sites. kNotFound; kInvalidConfig if it is not MJCF.
Result<std::shared_ptr<Model>> read_scene(const std::string& xml_file, const Terrain* terrain,
                                          const std::vector<std::string>& feet,
                                          const PhysicsSettings& physics = {});

}  // namespace broadloom::mujoco
