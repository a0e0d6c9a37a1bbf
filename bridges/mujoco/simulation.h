// One mjData and the mjModel that it is of, with the calls that may fail.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridges/mujoco/library.h"

namespace broadloom::mujoco {

// The physics at a moment.
struct Scene {
  const mjModel& model;
  mjData& data;
};

enum class Health {
  kFine,
  kUnstable,  // numbers that are not finite or huge, or contacts that had no room; complaint() says
              // which
  kFailed     // an error of MuJoCo's own
};

class Simulation {
 public:
  // Of a copy of the model. Null where there is no memory.
  static std::unique_ptr<Simulation> make(const Library& library, const mjModel& model);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Scene scene() const { return {*model_, *data_}; }
  // Its own, whose fields may be set before what is simulated in another world. Sizes stay.
  mjModel& model() { return *model_; }

  // mjSTATE_INTEGRATION: all that the next step depends on, whatever was simulated here before.
  void load(const double* state) { library_.set_state(model_, data_, state, mjSTATE_INTEGRATION); }
  void save(double* state) const { library_.get_state(model_, data_, state, mjSTATE_INTEGRATION); }

  void reset() { library_.reset_data(model_, data_); }
  // Positions of bodies and geoms alone.
  void place_bodies() { library_.kinematics(model_, data_); }
  // All that follows from positions, speeds and controls.
  Health forward();
  // So many steps, then the forces of contacts on bodies, as Gymnasium does. Where a number is not
  // finite or huge MuJoCo goes on from the model's initial state.
  Health step(int times);

  // Of its model and its data, without the arena, of which a step touches some KB.
  std::size_t bytes() const;

  // What broke in the last call, to what: "the acceleration of joint 'ankle_4' is not finite, or
  // huge".
  std::string complaint() const;

 private:
  Simulation(const Library& library, mjModel* model, mjData* data)
      : library_(library), model_(model), data_(data) {}
  Health health(bool returned);

  const Library& library_;
  mjModel* model_;
  mjData* data_;
  std::string error_;
};

// Those of a model that are free, and the wait for one.
class SimulationPool {
 public:
  explicit SimulationPool(std::vector<std::unique_ptr<Simulation>> all);
  Simulation* take();
  void give_back(Simulation* simulation);
  std::size_t bytes() const;  // of all

 private:
  std::vector<std::unique_ptr<Simulation>> all_;
  std::vector<Simulation*> free_;  // the last one used on top, whose memory is in cache
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

// MuJoCo's errors and warnings of a call on this thread: errors must not return, and jump back
// here. False where there was one, whose words are then in `error`. Warnings say nothing: mjData
// counts them. Not for calls that hold C++ objects, which a jump would leave behind.
bool guarded(const Library& library, void (*call)(void*), void* argument, std::string& error);

}  // namespace broadloom::mujoco
