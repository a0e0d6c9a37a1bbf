// N environments of a task on a model. Each has a row of state; there is one simulation per core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bridges/mujoco/render/renderer.h"
#include "bridges/mujoco/task.h"
#include "bridges/mujoco/worlds.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/env_memory.h"
#include "broadloom/env/episode_strata.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::mujoco {

// Reaction to a step in which the physics broke down.
enum class OnUnstable { kReset, kStop, kGoOn };

// Data shared by all environments of a kind.
struct TaskSetup {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Task> task;  // bound to the model
  EnvSpec spec;                      // end_reasons: the task's, "unstable", "time_limit"
  WorldSetup worlds;
  View view;
  int frame_skip = 1;
  OnUnstable on_unstable = OnUnstable::kReset;
};

class TaskEnvs final : public VecEnv,
                       public Drawable,
                       public EpisodeStrata,
                       public AuditContext,
                       public StepCounter,
                       public EnvMaker,
                       public SharedMemory {
 public:
  // options: num_envs >= 1 and a multiple of families(); curriculum must have passed
  // check_curriculum(). kNumeric or kIo if the physics fails at the start; kNotFound if
  // options.view cannot be rendered.
  static Result<std::unique_ptr<VecEnv>> make(std::shared_ptr<const TaskSetup> setup,
                                              const VecEnvOptions& options);

  const EnvSpec& spec() const override { return spec_; }
  int num_envs() const override { return count_; }
  // MuJoCo calls C library functions, whose last bits differ between processors.
  VecEnvTraits traits() const override { return {.common_bits = false}; }
  std::size_t shared_bytes() const override { return setup_->model->bytes(); }
  int max_truncations(int num_steps) const override;
  void observe(int begin, int end, ObservationRows rows) const override;
  Status step(int begin, int end, const StepRows& rows) override;
  void observe_critic(int begin, int end, ObservationRows rows) const override;
  std::int64_t episode_step(int env) const override { return episode_step_[env]; }
  int stratum(int env) const override { return worlds_.stratum(env); }
  int level(int env) const override { return worlds_.level(env); }
  std::span<const std::byte> drawn_constants(int env) const override { return worlds_.drawn(env); }
  void context(int env, std::span<double> out) const override;
  void take_step_sums(int env, std::span<double> out) override;
  // With ViewKind::k3d it renders 20 to 50 pictures per second of simulated time, and states
  // without an action. Other drawings are as_before.
  void draw(int env, const float* action, Drawing& out) const override;
  bool has_3d_view() const override { return true; }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override;
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override;

  // Begins an episode of environment i in a given state, qpos [nq] and qvel [nv]. Other draws stay.
  // For comparisons with other libraries.
  Status place(int i, const double* qpos, const double* qvel);
  // The state of the physics: time, qpos, qvel (mjSTATE_INTEGRATION).
  const double* physics(int i) const { return &state_[static_cast<std::size_t>(i) * state_size_]; }

 private:
  TaskEnvs(std::shared_ptr<const TaskSetup> setup, const VecEnvOptions& options);

  const Task& task() const { return *setup_->task; }
  double* state(int i) { return &state_[static_cast<std::size_t>(i) * state_size_]; }
  float* seen(int i) { return &seen_[static_cast<std::size_t>(i) * width_]; }
  float* critic_seen(int i) {
    return critic_seen_.data() + static_cast<std::size_t>(i) * critic_width_;
  }
  Own own(int i) {
    const auto row = static_cast<std::size_t>(i);
    return {worlds_.constants(i), kept_.data() + row * kept_size_,
            Tally(sums_.data() + row * counted_),
            Tally(sums_.data() + row * counted_ + spec_.paid_terms())};
  }
  std::uint32_t lane(int i) const { return static_cast<std::uint32_t>(i % options_.families()); }

  void enter(Simulation& simulation, int i) const;
  void show(Simulation& simulation, int i, Drawing& out) const;
  int steps_a_picture() const;
  void look(Scene scene, int i, Random& random);
  void place(Simulation& simulation, int i, std::int64_t episode, Random& random);
  Status start_episode(Simulation& simulation, int i, std::int64_t episode);
  Status begin_here(Simulation& simulation, int i, Random& random);
  Result<Judgement> advance(Simulation& simulation, int i, const float* action);
  Status step_one(Simulation& simulation, int i, int k, const StepRows& rows);
  Status end_episode(Simulation& simulation, int i, int k, int end, const StepRows& rows);
  Status start_all();
  Status stagger();
  Status broken(int i, const Simulation& simulation) const;

  std::shared_ptr<const TaskSetup> setup_;
  EnvSpec spec_;
  VecEnvOptions options_;
  std::unique_ptr<Renderer> renderer_;  // null: 2D drawings
  int count_;
  std::size_t state_size_, kept_size_, width_, critic_width_, action_size_, counted_;
  Worlds worlds_;
  std::vector<double> state_;  // [N, state size] state of the physics
  std::vector<double> kept_;   // [N, kept size] state of the task
  std::vector<double> sums_;   // [N, counted] sums since take_step_sums()
  // [N, D] last observations of policy and critic. They are saved, since noise and, after RK4, much
  // else does not follow from the state.
  std::vector<float> seen_, critic_seen_;
  std::vector<std::int64_t> episode_, episode_step_, total_step_;  // [N]
};

}  // namespace broadloom::mujoco
