// Worlds: the values of an environment that stay fixed during an episode. These are constants drawn
// by strata or a curriculum, and the model fields that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bridges/mujoco/physics.h"
#include "broadloom/env/curriculum.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::mujoco {

// Data shared by all environments of a kind.
struct WorldSetup {
  // Constants of the physics, then of the task.
  std::vector<double> constants;
  Strata strata;         // over `constants`; offsets are in bytes
  PhysicsFields fields;  // empty if all worlds use the model's own physics
};

// Reads constants from the start of a row of doubles.
PhysicsConstants physics_of(const double* constants);
inline constexpr std::size_t kPhysicsConstants = sizeof(PhysicsConstants) / sizeof(double);

// Calls for different environments may run concurrently.
class Worlds {
 public:
  // spec: with the strata's names. setup must outlive this object.
  Worlds(const WorldSetup& setup, const EnvSpec& spec, const VecEnvOptions& options);

  // The task's constants of the current episode.
  const double* constants(int i) const { return row(i) + kPhysicsConstants; }
  int stratum(int i) const { return stratum_.empty() ? -1 : stratum_[i]; }
  int level(int i) const { return curriculum_.empty() ? -1 : curriculum_.level(i); }
  std::span<const std::byte> drawn(int i) const;

  void begin_episode(int i, std::int64_t episode);
  void episode_ended(int i, bool success, std::int64_t episode);
  // Call this before simulating environment i. model: the simulation's own.
  void set(int i, mjModel& model) const;

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  std::uint32_t lane(int i) const { return static_cast<std::uint32_t>(i % draws_.families); }
  const double* row(int i) const {
    return drawn_.empty() ? setup_.constants.data()
                          : &drawn_[static_cast<std::size_t>(i) * setup_.constants.size()];
  }

  const WorldSetup& setup_;
  StrataStream draws_;
  Curriculum curriculum_;
  std::vector<double> drawn_;          // [N, constants]; empty: none drawn
  std::vector<std::int32_t> stratum_;  // [N] stratum of the current episode
  std::vector<double> fields_;         // [N, setup_.fields.size()]
  int count_;
};

}  // namespace broadloom::mujoco
