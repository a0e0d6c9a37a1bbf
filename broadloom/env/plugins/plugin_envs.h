// N environments of a plug-in's task as a VecEnv. Does the work that broadloom_plugin.h assigns to
// Broadloom.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/device_steps.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/plugins/plugin_call.h"
#include "broadloom/env/plugins/plugin_options.h"
#include "broadloom/env/plugins/plugin_spec.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class PluginEnvs final : public VecEnv,
                         public ActionMasks,
                         public AuditContext,
                         public StepCounter,
                         public DeviceSteps,
                         public EnvMaker {
 public:
  // described: the task's description for `values`, with its own time limit. kInvalidConfig and
  // kIo: errors of the plug-in, or a time limit that it does not support.
  static Result<std::unique_ptr<VecEnv>> make(const PluginLibrary& library,
                                              const broadloom_task& task,
                                              const PluginValues& values, PluginSpec described,
                                              const VecEnvOptions& options);
  ~PluginEnvs() override;
  PluginEnvs(const PluginEnvs&) = delete;
  PluginEnvs& operator=(const PluginEnvs&) = delete;

  const EnvSpec& spec() const override { return described_.spec; }
  int num_envs() const override { return options_.num_envs; }
  VecEnvTraits traits() const override;
  int max_truncations(int num_steps) const override;
  void observe(int begin, int end, ObservationRows rows) const override;
  void observe_critic(int begin, int end, ObservationRows rows) const override;
  Status step(int begin, int end, const StepRows& rows) override;
  std::int64_t episode_step(int env) const override { return age_[env]; }
  void valid_actions(int begin, int end, std::uint8_t* flags) const override;
  void context(int env, std::span<double> out) const override;
  void take_step_sums(int env, std::span<double> out) override;
  // With the simulator's own time limit, since it resets environments without a call, and without
  // starts by age, which it does not know.
  bool can_step_on_device() const override {
    return described_.has(BROADLOOM_STEPS_ON_DEVICE) && !options_.stagger_starts &&
           described_.spec.max_episode_steps == own_limit_;
  }
  Status take_to_device(void* stream) override;
  Status bring_from_device(void* stream) override;
  Status observe_on_device(const DeviceStepRows& rows, void* stream) override;
  Status step_on_device(const DeviceStepRows& rows, void* stream) override;
  Status took_block(int T, const std::uint8_t* terminated, const std::uint8_t* truncated) override;
  Status capture() override;
  Status state_restored() override;
  bool can_begin_anew() const override { return true; }
  Status begin_anew(std::uint64_t seed) override;
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override;
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override;

 private:
  PluginEnvs(const PluginLibrary& library, const broadloom_task& task, const PluginValues& values,
             PluginSpec described, const VecEnvOptions& options);
  Status open();
  Status begin_all();
  Status check_shown() const;
  Status reset(int env, std::int64_t episode);
  Status stagger();
  Status stagger_range(int begin, int end, const std::vector<std::int64_t>& ages,
                       std::vector<float>& actions);
  Status move(int begin, int end, const StepRows& rows);
  Status end_step(int env, int k, const StepRows& rows);
  Status end_episode(int env, int k, const StepRows& rows);
  void keep_last(int env, int k, bool by_itself, const StepRows& rows) const;
  Status call_device(broadloom_device_call what, const DeviceStepRows* rows, void* stream);
  void expand_indices(const char* function, int begin, int end, float* rows) const;
  void keep_fault(int env, Status status) const;
  bool resets_itself() const { return described_.has(BROADLOOM_RESETS_ITSELF); }
  // Calls a plug-in function that may fail.
  template <class Function>
  Status call(const char* name, int begin, int end, const Function& function) const;
  // Calls a plug-in function that returns no error. False if it threw an exception; the step of
  // environment `begin`, or the next one, then returns it.
  template <class Function>
  bool call_silent(const char* name, int begin, int end, const Function& function) const;
  Status find_fault(int begin, int end) const;

  const PluginLibrary* library_;
  const broadloom_plugin* plugin_;
  const broadloom_task* task_;
  PluginValues values_;
  PluginSpec described_;  // the spec has the requested time limit
  int own_limit_;         // the task's own time limit; 0: none
  VecEnvOptions options_;
  CrashWatch watch_;
  void* simulator_ = nullptr;
  std::vector<std::int64_t> episode_, age_;        // [N]
  std::vector<std::int32_t> choices_;              // [N] if actions are Discrete
  std::vector<std::uint8_t> reasons_, successes_;  // [N] of the last step
  std::vector<std::uint8_t> state_;                // [N, state_size] after append_state()
  // Faults of functions that return no error, by the environment or the call's first one.
  mutable std::map<int, Status> faults_;
  mutable std::mutex faults_mutex_;
  mutable std::atomic<bool> has_faults_ = false;
};

}  // namespace broadloom
