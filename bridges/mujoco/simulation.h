// One mjData with its mjModel, and the calls that may fail.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridges/mujoco/library.h"

namespace broadloom::mujoco {

// The physics at one moment.
struct Scene {
  const mjModel& model;
  mjData& data;
};

enum class Health {
  kFine,
  kUnstable,  // not finite or huge numbers, or no room for contacts; see complaint()
  kFailed     // an error in MuJoCo
};

class Simulation {
 public:
  // Makes a simulation of a copy of the model. Null without memory.
  static std::unique_ptr<Simulation> make(const Library& library, const mjModel& model);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Scene scene() const { return {*model_, *data_}; }
  // Its own model. You may set its fields for another world, but not its sizes.
  mjModel& model() { return *model_; }

  // Loads mjSTATE_INTEGRATION, everything that the next step depends on.
  void load(const double* state) { library_.set_state(model_, data_, state, mjSTATE_INTEGRATION); }
  void save(double* state) const { library_.get_state(model_, data_, state, mjSTATE_INTEGRATION); }

  void reset() { library_.reset_data(model_, data_); }
  // Computes only positions of bodies and geoms.
  void place_bodies() { library_.kinematics(model_, data_); }
  // Computes everything that follows from positions, speeds and controls.
  Health forward();
  // Takes `times` steps; then sensors describe the last one. body_forces: computes forces of
  // contacts on bodies (cfrc_ext), too, as Gymnasium does. After a number that is not finite or
  // huge, MuJoCo continues from the model's initial state.
  Health step(int times, bool body_forces = true);

  // Memory of its model and data, without the arena, of which a step touches some KB.
  std::size_t bytes() const;

  // The fault of the last call, such as "the acceleration of joint 'ankle_4' is not finite, or
  // huge".
  std::string complaint() const;

 private:
  Simulation(const Library& library, mjModel* model, mjData* data)
      : library_(library),
        model_(model),
        data_(data),
        reads_each_step_(model->nhistory > 0 || (model->opt.disableflags & mjDSBL_SENSOR) != 0) {}
  Health health(bool returned);

  const Library& library_;
  mjModel* model_;
  mjData* data_;
  // Whether sensors of every physics step count: they store their past, or the model has its own
  // setting.
  bool reads_each_step_;
  std::string error_;
};

// The free simulations of a model.
class SimulationPool {
 public:
  explicit SimulationPool(std::vector<std::unique_ptr<Simulation>> all);
  Simulation* take();
  void give_back(Simulation* simulation);
  std::size_t bytes() const;  // of all simulations

 private:
  std::vector<std::unique_ptr<Simulation>> all_;
  std::vector<Simulation*> free_;  // last used on top, since its memory is in cache
  std::mutex mutex_;
  std::condition_variable given_back_;
};

class Lease {
 public:
  explicit Lease(SimulationPool& pool) : pool_(pool), simulation_(pool.take()) {}
  ~Lease() { pool_.give_back(simulation_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Simulation& operator*() const { return *simulation_; }
  Simulation* operator->() const { return simulation_; }

 private:
  SimulationPool& pool_;
  Simulation* simulation_;
};

// Calls MuJoCo with error handling. MuJoCo's error handlers must not return, so they jump back
// here. Returns false after an error and writes its message to `error`. Warnings are silent; mjData
// counts them. `call` must not hold C++ objects, since a jump skips their destructors.
bool guarded(const Library& library, void (*call)(void*), void* argument, std::string& error);

}  // namespace broadloom::mujoco
