// Hides numbers of an observation, so that a policy must remember.
//
// Options "hide_obs" and "hide_from" of all environments whose observations are one-dimensional
// float32 Boxes (env.hide_obs = 1,3 in a config). Off by default. CartPole-v1 without its two
// velocities, numbers 1 and 3, is a usual test of memory: one observation does not say which way
// the pole falls. With hide_from = policy the critic still sees all numbers while a policy trains.
#pragma once

#include <memory>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct HiddenNumbers {
  std::vector<int> hide_obs;
  std::string hide_from = "both";

  bool any() const { return !hide_obs.empty(); }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("hide_obs", hide_obs,
      "Numbers of the observation to hide, counted from 0, such as CartPole's velocities 1,3.");
    v("hide_from", hide_from, Choices{{"both", "policy"}},
      "Who does not see them: policy and critic, or the policy alone.");
    last_needs(v, "hide_obs", kIsSet);
  }
};

// The numbers that the options of an environment hide, ascending.
std::vector<int> hidden_numbers(const Overrides& env_options);

// Whether observations are Boxes of float32 with one dimension.
bool shows_numbers(const EnvSpec& spec);

// Removes the hidden numbers from the observation, and gives the critic all of them where asked
// for. Removes the score range. kInvalidConfig if they do not fit the observation.
Status describe_hidden_numbers(const HiddenNumbers& hidden, EnvSpec& spec);

// kInvalidConfig if an entry of obs_noise_of names numbers that nobody sees. spec: before they are
// hidden.
Status check_noise_is_seen(const HiddenNumbers& hidden, const Disturbance& disturbance,
                           const EnvSpec& spec);

// Wraps the environments. Costs one copy of each observation per step.
std::unique_ptr<VecEnv> hide_numbers(std::unique_ptr<VecEnv> inner, const HiddenNumbers& hidden);

}  // namespace broadloom
