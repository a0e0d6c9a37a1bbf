// What makes a task of a model: where episodes begin, what is seen, what is paid, what ends them.
// (Time limits, resets, saving, and what happens where the physics breaks down are task_envs.h's.)
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/strata.h"

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
  // Whether drive() makes the controls of actions, which are then within +- control_limit on any
  // model; else actions are the controls.
  bool makes_controls = false;
  int max_episode_steps = 1000;
  std::optional<double> reward_threshold{};
  std::vector<std::string> end_reasons{};  // of its own
  bool names_success = false;
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

// What each of a task's reward terms has paid, or what each of its measures came to, in their
// order.
class Tally {
 public:
  explicit Tally(double* sums) : sums_(sums) {}
  void add(std::initializer_list<double> of_step) {
    double* sum = sums_;
    for (const double x : of_step) *sum++ += x;
  }
  void add(std::span<const double> of_step) {
    for (std::size_t i = 0; i < of_step.size(); ++i) sums_[i] += of_step[i];
  }

 private:
  double* sums_;
};

// What an environment has of its own beside the physics' state.
struct Own {
  const double*
      constants;  // the task's, of the episode: as constants() or as strata have drawn them
  double* kept;   // [kept_size()], saved: what the task notes there
  Tally paid, measured;
};

// The least and the most that each of a task's constants may be in an episode.
struct ConstantRange {
  std::vector<double> low, high;
};

// Calls may come from several threads at once, but read() and bind(). A step is drive(), the
// physics, judge(), keep(), observe(); an episode begins with place(), what follows from it, keep()
// and observe(). `random` is the step's or the start's own stream, so that a task may draw in any
// of them: what it draws and needs later it notes in `kept`.
class Task {
 public:
  virtual ~Task() = default;
  // The model that the option `xml_file` names.
  virtual Result<std::shared_ptr<Model>> read(const std::string& xml_file) const;
  // Looks up what it needs; kInvalidConfig where the model has not got that.
  virtual Status bind(const Model& model) = 0;
  // D, on a model of these sizes.
  virtual int observation_size(const Sizes& sizes) const = 0;
  // Of what only the critic reads; 0: it reads what the policy does.
  virtual int critic_observation_size(const Sizes&) const { return 0; }
  virtual std::vector<RewardTerm> reward_terms() const = 0;
  virtual std::vector<Measure> measures() const { return {}; }
  // What a record should say besides: commands, terrain, context.
  virtual void describe(const ConstantRange& /*constants*/, EnvSpec&) const {}
  // Numbers of its own that strata may draw, as options have set them, and where each lies: offsets
  // are bytes into constants().
  virtual std::vector<double> constants() const { return {}; }
  virtual std::vector<ParamField> constant_fields() const { return {}; }
  // kInvalidConfig where the task has no use for such constants.
  virtual Status check_constants(const double* /*constants*/) const { return {}; }
  // Numbers of an environment that the next step needs and that are not in the physics' state.
  virtual int kept_size() const { return 0; }

  // Begins an episode: moves qpos and qvel, which are the model's initial ones. What follows from
  // them is worked out afterwards.
  virtual void place(Scene scene, Own own, Random& random) const = 0;
  // Before a step: what acts on the physics. action: [A] as it was given.
  virtual void drive(Scene scene, const float* action, Own own, Random& random) const;
  // After a step. Adds what each of reward_terms() pays for it to own.paid, and measures() to
  // own.measured.
  virtual Judgement judge(Scene scene, const float* action, Own own) const = 0;
  // What the next step needs of where things stand.
  virtual void keep(Scene, double*) const {}
  virtual void observe(Scene scene, Own own, Random& random, ObservationWriter out) const = 0;
  // seen: [D] as observe() has just written it.
  virtual void observe_for_critic(Scene, Own, const float*, ObservationWriter) const {}
  // The numbers of EnvSpec::context that describe() named.
  virtual void context(const double* /*constants*/, const double* /*kept*/,
                       std::span<double> /*out*/) const {}
  // Of an episode that has just ended, where the facts name success.
  virtual bool success(const double* /*kept*/, bool /*terminated*/) const { return false; }
};

}  // namespace broadloom::mujoco
