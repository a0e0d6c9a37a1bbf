// Environments on a side (cuda/sides) as a collector steps them. The interface hides their type, so
// code that does not depend on it is compiled once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "broadloom/core/status.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/env/vec_env.h"
#include "cuda/collect/acting.h"
#include "cuda/collect/collect_kernels.h"
#include "cuda/env/device_environments.h"
#include "cuda/env/list.h"

namespace broadloom::cuda {

class EnvStepper {
 public:
  EnvStepper() = default;
  EnvStepper(const EnvStepper&) = delete;
  EnvStepper& operator=(const EnvStepper&) = delete;
  virtual ~EnvStepper() = default;

  // As in DeviceEnvironments.
  virtual void take(VecEnv& envs) = 0;
  virtual Status bring(VecEnv& envs) = 0;
  // Shows what the environments show that were taken; those that the host steps wait for
  // begin_block(). shown: has the dtype of their observation space.
  virtual void observe(const DeviceObservations& shown) = 0;
  // Before a block of the rollout's own environments. An error is the environments'.
  virtual Status begin_block(const DeviceRollout& /*block*/, std::int64_t /*first_step*/) {
    return {};
  }

  // The block's step that was begun last.
  virtual int last_step() const { return 0; }

  // The end flags [T, N] of a block that went well have come to the host. An error is the
  // environments'.
  virtual Status took_block(int /*T*/, const std::uint8_t* /*terminated*/,
                            const std::uint8_t* /*truncated*/) {
    return {};
  }

  // At most so many of a block's T steps are given to step().
  virtual int steps_at_once(int T) const { return T; }
  // Acts, steps and keeps these steps. An error is the environments', or says that a fault was
  // noted and the block ended there.
  virtual Status step(const PolicyActing& acting, const CollectSteps& steps,
                      const KernelShape& shape) = 0;
  virtual Status step(const EpsilonActing& acting, const CollectSteps& steps,
                      const KernelShape& shape) = 0;
};

template <class Env, class Side>
class EnvStepperOf final : public EnvStepper {
 public:
  // As in DeviceEnvironments.
  EnvStepperOf(Side& side, const BatchedEnv<Env>& envs, const Disturbance& disturbance = {})
      : side_(side), envs_(side, envs, disturbance) {}

  void take(VecEnv& envs) override { envs_.take(envs); }
  Status bring(VecEnv& envs) override { return envs_.bring(envs); }
  void observe(const DeviceObservations& shown) override {
    envs_.observe(shown.as<EnvObserved<Env>>());
  }
  int steps_at_once(int T) const override { return std::min(T, kStepsAtOnce); }
  Status step(const PolicyActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }
  Status step(const EpsilonActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }

 private:
  template <class Acting>
  Status run(const Acting& acting, const CollectSteps& steps, const KernelShape& shape) {
    side_.run(
        CollectKernel<Env, Acting>{steps, envs_.setup(), envs_.arrays(), envs_.bounds(), acting},
        shape);
    return {};
  }

  Side& side_;
  DeviceEnvironments<Env, Side> envs_;
};

// Environments without kernels, which take one step at a time. Own: has step_at<Observed>(acting,
// step, shape), which does one step. It may hide step_all(), which does them all.
template <class Own, class Side>
class StepByStep : public EnvStepper {
 public:
  // like: of the kind of environments. seed: of the run. side must outlive this object.
  StepByStep(Side& side, const VecEnv& like, std::uint64_t seed)
      : side_(side),
        seed_(seed),
        shown_{like.spec().observation_size(), like.spec().observation_size()},
        bounds_(bounds_on(side, like.spec().action,
                          static_cast<std::size_t>(like.spec().action_size()))) {}

  void take(VecEnv& envs) override { envs_ = &envs; }
  void observe(const DeviceObservations&) override {}  // begin_block() does
  int last_step() const override { return last_step_; }
  Status step(const PolicyActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }
  Status step(const EpsilonActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }

 protected:
  template <class Observed, class Acting>
  void act(const Acting& acting, const CollectSteps& step, const KernelShape& shape) {
    side_.run(ActKernel<Observed, Acting>{step, shown_, seed_, bounds_, acting}, shape);
  }
  template <class Observed, class Acting>
  Status step_all(const Acting& acting, const CollectSteps& steps, const KernelShape& shape) {
    for (int t = steps.begin; t < steps.end; ++t) {
      last_step_ = t;
      BROADLOOM_TRY(
          static_cast<Own&>(*this).template step_at<Observed>(acting, one_step(steps, t), shape));
    }
    return {};
  }
  static CollectSteps one_step(CollectSteps steps, int t) {
    steps.begin = t;
    steps.end = t + 1;
    return steps;
  }

  Side& side_;
  std::uint64_t seed_;
  ShownNumbers shown_;
  ActionBounds bounds_;
  VecEnv* envs_ = nullptr;  // null before take()
  int last_step_ = 0;

 private:
  template <class Acting>
  Status run(const Acting& acting, const CollectSteps& steps, const KernelShape& shape) {
    Own& own = static_cast<Own&>(*this);
    return steps.rollout.now.bytes == nullptr
               ? own.template step_all<float>(acting, steps, shape)
               : own.template step_all<std::uint8_t>(acting, steps, shape);
  }
};

// The stepper of environments, which may be disturbed and have stacked frames; null if there are no
// kernels for their type. side must outlive it.
template <class Side>
std::unique_ptr<EnvStepper> make_stepper(Side& side, const VecEnv& envs) {
  const auto inner = undisturbed(unstacked(envs));
#define BROADLOOM_MAKE_STEPPER(Env)                                                      \
  if (const auto* batched = dynamic_cast<const BatchedEnv<Env>*>(&inner.envs)) {         \
    return std::make_unique<EnvStepperOf<Env, Side>>(side, *batched, inner.disturbance); \
  }
  BROADLOOM_EACH_ENV(BROADLOOM_MAKE_STEPPER)
#undef BROADLOOM_MAKE_STEPPER
  return nullptr;
}

}  // namespace broadloom::cuda
