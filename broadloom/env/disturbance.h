// Disturbances of any environment: noise on what is sensed, delay and pushes on the actions.
//
// Keys "disturb.<name>" of a config; all off by default. Every draw is a pure function of (seed,
// purpose, seed family, step since the run began), on streams of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct Disturbance {
  double obs_noise = 0.0;
  int action_delay = 0;
  double push_interval = 0.0;
  int push_steps = 5;

  bool any() const { return obs_noise > 0.0 || action_delay > 0 || push_interval > 0.0; }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("obs_noise", obs_noise, Range{0.0, 1e6},
      "Standard deviation of Gaussian noise on every number of a Box observation.");
    v("action_delay", action_delay, Range{0, 1000},
      "Steps that an action takes to arrive; until the first has, it stands for those before.");
    v("push_interval", push_interval, Range{0.0, 1e9},
      "Mean steps from one push's end to the next push; 0: none. Below 1 counts as 1.");
    v("push_steps", push_steps, Range{1, 1000},
      "Steps of a push: one uniformly random action instead of those chosen.");
    last_needs(v, "push_interval", kAboveZero);
  }
};

// Whether the key is "disturb.<name>".
bool is_disturbance_key(std::string_view key);

// kInvalidConfig, with the nearest name or the range.
Result<Disturbance> make_disturbance(const Overrides& keys);

// Names the disturbance's effect in the spec: no scores to normalise with, and observations without
// bounds where there is noise. kInvalidConfig where the environment cannot be disturbed so.
Status describe_disturbance(const Disturbance& disturbance, EnvSpec& spec);

// The environments, disturbed. `options`: those that `inner` was made with.
//
// At each step of an environment: a push that is under way goes on, or one begins with probability
// 1 / push_interval; its action is drawn once, uniform over the action space, and takes the place
// of the delayed action. Delay and push end with the episode. Noise is on whatever is handed out,
// the final observation included, and the same whenever the same observation is asked for.
std::unique_ptr<VecEnv> disturb(std::unique_ptr<VecEnv> inner, const Disturbance& disturbance,
                                const VecEnvOptions& options);

// What disturb() was given; environments that it did not make, as they are.
struct Undisturbed {
  const VecEnv& envs;
  Disturbance disturbance;
};
Undisturbed undisturbed(const VecEnv& envs);

}  // namespace broadloom
