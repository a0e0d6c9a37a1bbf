// What makes a task of a model: where episodes begin, what is seen, what is paid, what ends them.
// (Time limits, resets, saving, and what happens where the physics breaks down are task_envs.h's.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom::mujoco {

// Of a model: positions, degrees of freedom, actuators, bodies with the world.
struct Sizes {
  int nq = 0, nv = 0, nu = 0, nbody = 0;
  bool operator==(const Sizes&) const = default;
};

// How drawings look at it, in m: from the side (x to the right, z upwards) or from above (x, y).
struct View {
  bool from_above = false;
  int body = 1;  // that stays in the middle; 0: the world
  double left = -2.0, bottom = -0.3, right = 2.0, top = 2.0;
};

// What is known of a task before a model is read.
struct TaskFacts {
  std::string id, summary, upstream;
  Sizes sizes;                 // of the model that the task is made for
  float control_limit = 1.0f;  // of every actuator there
  int max_episode_steps = 1000;
  std::optional<double> reward_threshold{};
  std::vector<std::string> end_reasons{};  // of its own
  View view{};
};

inline double clipped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;  // what is not a number stays it
}

// Numbers of an observation, one after the other, rounded to float32.
class ObservationWriter {
 public:
  explicit ObservationWriter(float* out) : out_(out) {}
  void add(double x) { *out_++ = static_cast<float>(x); }
  void add(const double* x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(x[i]);
  }
  void add_clipped(const double* x, std::int64_t count, double low, double high) {
    for (std::int64_t i = 0; i < count; ++i) add(clipped(x[i], low, high));
  }

 private:
  float* out_;
};

inline constexpr int kGoesOn = -1;

// Of one step.
struct Judgement {
  double reward = 0.0;
  int end = kGoesOn;  // or an index into TaskFacts::end_reasons
};

// Calls may come from several threads at once, but bind().
class Task {
 public:
  virtual ~Task() = default;
  // Looks up what it needs; kInvalidConfig where the model has not got that.
  virtual Status bind(const Model& model) = 0;
  // D, on a model of these sizes.
  virtual int observation_size(const Sizes& sizes) const = 0;
  virtual std::vector<RewardTerm> reward_terms() const = 0;
  // Begins an episode: moves qpos and qvel, which are the model's initial ones. What follows from
  // them is worked out afterwards.
  virtual void place(Scene scene, Random& random) const = 0;
  // Numbers of an environment that the next step needs and that are not in the physics' state.
  virtual int kept_size() const { return 0; }
  virtual void keep(Scene, double*) const {}
  // After a step. action: [A] as it was given. kept: as keep() left it before the step.
  virtual Judgement judge(Scene scene, const float* action, const double* kept) const = 0;
  virtual void observe(Scene scene, ObservationWriter out) const = 0;
};

}  // namespace broadloom::mujoco
