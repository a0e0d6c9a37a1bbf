// Models: one mjModel, which nobody changes, and a simulation, with a copy of it, for each thread
// that simulates at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bridges/mujoco/simulation.h"
#include "broadloom/core/status.h"

namespace broadloom::mujoco {

// The text of a model's file. kNotFound where it cannot be opened, or is no regular file (a folder,
// a device).
Result<std::string> model_text(const std::string& path);

class Model {
 public:
  // From an MJCF or URDF file. kNotFound and kInvalidConfig with MuJoCo's words, or where the model
  // has nothing that moves or no actuators; kNotFound and kMismatch of the library.
  static Result<std::shared_ptr<Model>> load(const std::string& path);
  // From the text of one. name: for messages. finish: what is left to do to the compiled model, as
  // to fill height fields.
  static Result<std::shared_ptr<Model>> parse(const std::string& xml, const std::string& name,
                                              const std::function<void(mjModel&)>& finish = {});

  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const mjModel& get() const { return *model_; }
  const Library& library() const { return library_; }
  const std::string& name() const { return name_; }  // of its file
  // XXH3 of its text, 16 hexadecimal digits; included files are not in it.
  const std::string& text_hash() const { return text_hash_; }
  // Numbers of the state that a simulation is set to: mjSTATE_INTEGRATION.
  int state_size() const { return state_size_; }
  // "" where it has none.
  std::string name_of(mjtObj type, int id) const;
  // -1 where there is none of that name.
  int find(mjtObj type, const std::string& name) const;

  // Of the model and of its simulations: a copy of it for each core.
  std::size_t bytes() const;

  // A simulation for the caller alone until the lease ends. There is one a core: who comes when all
  // are taken waits. Its state is whatever it was left in. Allocates nothing.
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
