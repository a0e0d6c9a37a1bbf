// Disturbances of any environment: noise on observations, delays and random pushes.
//
// Config keys are "disturb.<name>"; all are off by default. Every draw is a pure function of (seed,
// purpose, seed family, step since the run began), from separate streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct Disturbance {
  double obs_noise = 0.0;
  std::vector<std::string> obs_noise_of{};
  int action_delay = 0, action_delay_max = 0;
  int obs_delay = 0, obs_delay_max = 0;
  std::vector<std::string> obs_delay_of{};
  double push_interval = 0.0;
  int push_steps = 5;

  bool any() const {
    return obs_noise > 0.0 || !obs_noise_of.empty() || most_action_delay() > 0 ||
           delays_observations() || push_interval > 0.0;
  }
  // The longest delays of an episode, in steps.
  int most_action_delay() const { return std::max(action_delay, action_delay_max); }
  int most_obs_delay() const { return std::max(obs_delay, obs_delay_max); }  // of unnamed groups
  bool delays_observations() const { return most_obs_delay() > 0 || !obs_delay_of.empty(); }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("obs_noise", obs_noise, Range{0.0, 1e6},
      "Standard deviation of Gaussian noise on every number of a Box observation; of groups, those "
      "of floats.");
    v("obs_noise_of", obs_noise_of,
      "Deviations of single groups or numbers, in place of obs_noise: state:0.1, state[0..2]:0.3, "
      "or without groups 0..2:0.3 or 1:0.3. The last one that names a number counts.");
    v("action_delay", action_delay, Range{0, 1000},
      "Steps before an action takes effect. Until then, the episode's first action is used.");
    v("action_delay_max", action_delay_max, Range{0, 1000},
      "Longest delay: each episode draws one from action_delay to it; 0: always action_delay.");
    v("obs_delay", obs_delay, Range{0, 1000},
      "Steps before the policy sees an observation. Until then, it sees the episode's first one.");
    v("obs_delay_max", obs_delay_max, Range{0, 1000},
      "Longest delay: each episode draws one from obs_delay to it; 0: always obs_delay.");
    v("obs_delay_of", obs_delay_of,
      "Delays of single groups, in place of obs_delay: image:2, or state:0..3, from which each "
      "episode draws one. The last one that names a group counts.");
    v("push_interval", push_interval, Range{0.0, 1e9},
      "Mean steps between the end of a push and the next push; 0: no pushes. Below 1 counts as 1.");
    v("push_steps", push_steps, Range{1, 1000},
      "Steps of a push, which replaces the policy's actions by one uniformly random action.");
    last_needs(v, "push_interval", kAboveZero);
  }
};

// The same for kernels, which cannot have lists.
struct DisturbanceNumbers {
  DisturbanceNumbers() = default;
  DisturbanceNumbers(const Disturbance& whole)
      : obs_noise(whole.obs_noise),
        action_delay(whole.action_delay),
        action_delay_longest(whole.most_action_delay()),
        push_interval(whole.push_interval),
        push_steps(whole.push_steps) {}

  BROADLOOM_HD int most_action_delay() const { return action_delay_longest; }

  double obs_noise = 0.0;
  int action_delay = 0, action_delay_longest = 0;
  double push_interval = 0.0;
  int push_steps = 5;
};

// Whether the key is "disturb.<name>".
bool is_disturbance_key(std::string_view key);

// Parses the keys. kInvalidConfig names the nearest key or the allowed range.
Result<Disturbance> make_disturbance(const Overrides& keys);

// The deviation of the noise on each number of an observation [D]; empty: obs_noise on all.
// kInvalidConfig if obs_noise_of names what is not there, or what cannot have noise.
Result<std::vector<double>> noise_deviations(const Disturbance& disturbance, const EnvSpec& spec);

// The delay of some numbers of an observation, steps. Each episode draws one from least to most.
struct ObsDelay {
  int first = 0, size = 0;  // the numbers
  int least = 0, most = 0;
};
// Delays in the order of their draws; one that names numbers again counts. The first is that of the
// whole observation. Empty without delays. kInvalidConfig if obs_delay_of names what is not there.
Result<std::vector<ObsDelay>> obs_delays(const Disturbance& disturbance, const EnvSpec& spec);

// Updates `spec`: no score range, and no bounds where there is noise. kInvalidConfig if
// the environment cannot have this disturbance.
Status describe_disturbance(const Disturbance& disturbance, EnvSpec& spec);

// Wraps the environments. `options`: the options that `inner` was made with.
//
// In each step, an environment continues its push, or starts one with probability 1 /
// push_interval. A push draws one action uniformly from the action space. It replaces the delayed
// action for push_steps steps. Pushes and delays end with the episode. Noise is added to every
// observation that the policy sees, the final one included. Observing twice gives the same noise.
// A critic's own observation has neither noise nor delay. One that env.hide_from = policy gives it
// is a copy of what the policy would see, so it has both.
std::unique_ptr<VecEnv> disturb(std::unique_ptr<VecEnv> inner, const Disturbance& disturbance,
                                const VecEnvOptions& options);

// The arguments that disturb() was given. Other environments come back unchanged.
struct Undisturbed {
  const VecEnv& envs;
  Disturbance disturbance;
};
Undisturbed undisturbed(const VecEnv& envs);

}  // namespace broadloom
