// A model: one constant mjModel, and a simulation with its own copy for each thread that simulates.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bridges/mujoco/simulation.h"
#include "broadloom/core/status.h"

namespace broadloom::mujoco {

// The text of a model's file. kNotFound if it cannot be opened or is not a regular file.
Result<std::string> model_text(const std::string& path);

class Model {
 public:
  // Loads an MJCF or URDF file. kNotFound if it is missing. kInvalidConfig with MuJoCo's message,
  // or if the model has no joints or no actuators. Errors of library().
  static Result<std::shared_ptr<Model>> load(const std::string& path);
  // Loads a model from its text. name: for messages. finish: completes the compiled model, for
  // example fills height fields.
  static Result<std::shared_ptr<Model>> parse(const std::string& xml, const std::string& name,
                                              const std::function<void(mjModel&)>& finish = {});

  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const mjModel& get() const { return *model_; }
  const Library& library() const { return library_; }
  const std::string& name() const { return name_; }  // of the file
  // XXH3 hash of its text without included files, 16 hexadecimal digits.
  const std::string& text_hash() const { return text_hash_; }
  // Size of a simulation's state, mjSTATE_INTEGRATION.
  int state_size() const { return state_size_; }
  // Empty if it has no name.
  std::string name_of(mjtObj type, int id) const;
  // -1 if no object has this name.
  int find(mjtObj type, const std::string& name) const;

  // Memory of the model and its simulations, one copy per core.
  std::size_t bytes() const;

  // Reserves a simulation for the caller until the lease ends. There is one per core; a caller
  // waits if all are taken. Its state is arbitrary. Allocates nothing.
  Lease lease() const;

 private:
  Model(const Library& library, mjModel* model, std::string name, const std::string& text);
  static Result<std::shared_ptr<Model>> checked(const Library& library, mjModel* model,
                                                std::string name, const std::string& text);

  const Library& library_;
  mjModel* model_;
  std::string name_, text_hash_;
  int state_size_;
  std::unique_ptr<SimulationPool> pool_;
};

}  // namespace broadloom::mujoco
