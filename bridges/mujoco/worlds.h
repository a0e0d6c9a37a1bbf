// What differs from environment to environment and stays for an episode: constants that strata or a
// curriculum have drawn, and the fields of the model that they come to.
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

// What all environments of a kind share.
struct WorldSetup {
  // Those of the physics, then the task's own.
  std::vector<double> constants;
  Strata strata;         // over these; offsets are bytes in them
  PhysicsFields fields;  // none where all worlds have the model's own physics
};

// Constants at the head of a row of doubles.
PhysicsConstants physics_of(const double* constants);
inline constexpr std::size_t kPhysicsConstants = sizeof(PhysicsConstants) / sizeof(double);

// Calls for different environments may run at the same time.
class Worlds {
 public:
  // spec: with the strata's names. setup outlives this.
  Worlds(const WorldSetup& setup, const EnvSpec& spec, const VecEnvOptions& options);

  // The task's own constants of the present episode.
  const double* constants(int i) const { return row(i) + kPhysicsConstants; }
  int stratum(int i) const { return stratum_.empty() ? -1 : stratum_[i]; }
  int level(int i) const { return curriculum_.empty() ? -1 : curriculum_.level(i); }
  std::span<const std::byte> drawn(int i) const;

  // Draws the world of an episode.
  void begin_episode(int i, std::int64_t episode);
  void episode_ended(int i, bool success, std::int64_t episode);
  // Before anything of environment i is simulated: model is the simulation's own.
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
  std::vector<double> drawn_;          // [N, constants]; empty: none are drawn
  std::vector<std::int32_t> stratum_;  // [N] that they are from
  std::vector<double> fields_;         // [N, setup_.fields.size()]
  int count_;
};

}  // namespace broadloom::mujoco
