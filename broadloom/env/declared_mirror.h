// Names the mirror of an environment that names none (env/mirror.h).
//
// Options "mirror_obs", "mirror_action" and "mirror_critic" of all environments that observe one
// row of float32 and act by one choice or a Box. `broadloom env check` plays the environment and
// says where plays and their mirror images differ.
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct DeclaredMirror {
  std::string mirror_obs, mirror_action, mirror_critic;

  bool any() const {
    return !mirror_obs.empty() || !mirror_action.empty() || !mirror_critic.empty();
  }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("mirror_obs", mirror_obs,
      "Mirror image of an observation: a sign and a number each, such as Pendulum's \"+0 -1 -2\".");
    last_needs(v, "mirror_action", kIsSet);
    v("mirror_action", mirror_action,
      "Mirror image of an action: likewise for a Box; of choices the mirrored ones, such as "
      "CartPole's \"+1 +0\".");
    last_needs(v, "mirror_obs", kIsSet);
    v("mirror_critic", mirror_critic,
      "Mirror image of the critic's own observation; empty if it has none.");
    last_needs(v, "mirror_obs", kIsSet);
  }
};

// Whether observations and actions have numbers that can be mirrored.
bool can_be_mirrored(const EnvSpec& spec);

// Sets spec.mirror. kInvalidConfig if it does not fit.
Status describe_mirror(const DeclaredMirror& mirror, EnvSpec& spec);

// Wraps the environments.
std::unique_ptr<VecEnv> declare_mirror(std::unique_ptr<VecEnv> inner, const DeclaredMirror& mirror);

}  // namespace broadloom
