// Interface of a task on a model: initial states, observations, rewards and ends. task_envs.h
// handles time limits, resets, saving and failures of the physics.
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

// Sizes of a model: positions, degrees of freedom, actuators, and bodies including the world.
struct Sizes {
  int nq = 0, nv = 0, nu = 0, nbody = 0;
  bool operator==(const Sizes&) const = default;
};

// The view of drawings, in m: from the side (x right, z up) or from above (x, y).
struct View {
  bool from_above = false;
  int body = 1;  // body in the middle; 0: the world
  double left = -2.0, bottom = -0.3, right = 2.0, top = 2.0;
};

// Facts of a task that need no model.
struct TaskFacts {
  std::string id, summary, upstream;
  std::string own_model{};     // in words, for the records of those who use it; "": upstream's
  Sizes sizes;                 // of the task's own model
  float control_limit = 1.0f;  // of every actuator of that model
  // Whether drive() computes controls from actions. Actions are then within +- control_limit on any
  // model. Otherwise actions are the controls.
  bool makes_controls = false;
  int max_episode_steps = 1000;
  std::optional<double> reward_threshold{};
  std::vector<std::string> end_reasons{};  // reasons of the task itself
  bool names_success = false;
  View view{};
};

inline double clipped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;  // NaN stays NaN
}

// Writes numbers of an observation in order, rounded to float32.
class ObservationWriter {
 public:
  explicit ObservationWriter(float* out) : out_(out) {}
  void add(double x) { *out_++ = static_cast<float>(x); }
  void add(const double* x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(x[i]);
  }
  void add(std::span<const double> numbers) {
    for (const double x : numbers) add(x);
  }
  void add_clipped(const double* x, std::int64_t count, double low, double high) {
    for (std::int64_t i = 0; i < count; ++i) add(clipped(x[i], low, high));
  }

 private:
  float* out_;
};

inline constexpr int kGoesOn = -1;

// Reward and end of one step.
struct Judgement {
  double reward = 0.0;
  int end = kGoesOn;  // or an index into TaskFacts::end_reasons
};

// Sums of a task's reward terms or measures, in their order.
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

// Data of one environment besides the physics' state.
struct Own {
  const double* constants;  // the task's constants of the episode: constants(), or drawn by strata
  double* kept;             // [kept_size()] the task's own state, saved
  Tally paid, measured;
};

// Smallest and largest values of each of a task's constants.
struct ConstantRange {
  std::vector<double> low, high;
};

// All calls but read() and bind() may run concurrently. A step is drive(), the physics, judge(),
// keep(), observe(). An episode begins with place(), derived values, keep() and observe(). `random`
// is the stream of that step or start, so any of them may draw. A draw that is needed later goes to
// `kept`.
class Task {
 public:
  virtual ~Task() = default;
  // Reads the model named by the option `xml_file`.
  virtual Result<std::shared_ptr<Model>> read(const std::string& xml_file) const;
  // Looks up the parts of the model that it needs. kInvalidConfig if one is missing.
  virtual Status bind(const Model& model) = 0;
  // D for a model of these sizes.
  virtual int observation_size(const Sizes& sizes) const = 0;
  // Size of the critic's observation; 0: it reads the policy's.
  virtual int critic_observation_size(const Sizes&) const { return 0; }
  virtual std::vector<RewardTerm> reward_terms() const = 0;
  virtual std::vector<Measure> measures() const { return {}; }
  // Adds facts for records: commands, terrain, context.
  virtual void describe(const ConstantRange& /*constants*/, EnvSpec&) const {}
  // Constants that strata may draw, with the values from options.
  virtual std::vector<double> constants() const { return {}; }
  virtual std::vector<ParamField> constant_fields() const { return {}; }
  // kInvalidConfig if the task cannot use these constants.
  virtual Status check_constants(const double* /*constants*/) const { return {}; }
  // Size of `kept`: numbers that the next step needs besides the physics' state.
  virtual int kept_size() const { return 0; }
  // Whether judge() or observe() read forces of contacts on bodies (cfrc_ext).
  virtual bool reads_body_forces() const { return true; }

  // Begins an episode: changes qpos and qvel, which hold the model's initial values. Derived values
  // are computed afterwards.
  virtual void place(Scene scene, Own own, Random& random) const = 0;
  // Before a step: sets controls and forces. action: [A], as given.
  virtual void drive(Scene scene, const float* action, Own own, Random& random) const;
  // After a step: returns reward and end. Adds reward terms to own.paid and measures to
  // own.measured.
  virtual Judgement judge(Scene scene, const float* action, Own own) const = 0;
  // Stores what the next step needs in `kept`.
  virtual void keep(Scene, double*) const {}
  virtual void observe(Scene scene, Own own, Random& random, ObservationWriter out) const = 0;
  // seen: [D], just written by observe().
  virtual void observe_for_critic(Scene, Own, const float*, ObservationWriter) const {}
  // Writes the values of EnvSpec::context, in the order of describe().
  virtual void context(const double* /*constants*/, const double* /*kept*/,
                       std::span<double> /*out*/) const {}
  // Whether the episode that just ended succeeded. Called only if the facts define success.
  virtual bool success(const double* /*kept*/, bool /*terminated*/) const { return false; }
};

}  // namespace broadloom::mujoco
