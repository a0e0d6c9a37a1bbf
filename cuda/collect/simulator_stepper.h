// Simulators that step in the device's memory (env/device_steps.h), for a block on a side.
//
// Kernels act, then the simulator steps on the same stream, then kernels keep the results. Nothing
// is copied to the host and nobody waits within a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/env/device_steps.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/rollout/collect_fault.h"
#include "cuda/collect/env_stepper.h"

namespace broadloom::cuda {

template <class Side>
class SimulatorStepper final : public StepByStep<SimulatorStepper<Side>, Side> {
  using Base = StepByStep<SimulatorStepper<Side>, Side>;

 public:
  // like: has DeviceSteps.
  SimulatorStepper(Side& side, const VecEnv& like, std::uint64_t seed) : Base(side, like, seed) {
    const std::size_t count = static_cast<std::size_t>(like.num_envs());
    results_.rewards = side.template allocate<float>(count);
    for (std::uint8_t** flags :
         {&results_.terminated, &results_.truncated, &results_.reasons, &results_.successes}) {
      *flags = side.template allocate<std::uint8_t>(count);
    }
    results_.reasons_of_all = static_cast<int>(like.spec().end_reasons.size());
    results_.names_success = like.spec().names_success;
  }

  void take(VecEnv& envs) override {
    Base::take(envs);
    steps_ = device_steps(envs);
    taken_ = call("take_to_device", [this](DeviceSteps& steps) {
      return steps.take_to_device(this->side_.stream());
    });
  }
  Status bring(VecEnv&) override {
    BROADLOOM_TRY(this->side_.status());
    return call("bring_from_device", [this](DeviceSteps& steps) {
      return steps.bring_from_device(this->side_.stream());
    });
  }
  Status begin_block(const DeviceRollout& block, std::int64_t first_step) override {
    BROADLOOM_TRY(taken_);
    const Status seen = call("observe_on_device", [&](DeviceSteps& steps) {
      return steps.observe_on_device(rows_of(block), this->side_.stream());
    });
    return seen.ok() ? seen : step_failed(first_step, seen);
  }
  Status took_block(int T, const std::uint8_t* terminated, const std::uint8_t* truncated) override {
    return steps_->took_block(T, terminated, truncated);
  }

  template <class Observed, class Acting>
  Status step_at(const Acting& acting, const CollectSteps& step, const KernelShape& shape) {
    const KernelShape each = shape_for_rows(step.rollout.N);
    this->template act<Observed>(acting, step, shape);
    this->side_.run(ClearKernel{results_, step.rollout.N}, each);
    const Status stepped = call("step_on_device", [&](DeviceSteps& steps) {
      return steps.step_on_device(rows_of(step.rollout), this->side_.stream());
    });
    if (!stepped.ok()) return step_failed(step.first_step + step.begin, stepped);
    this->side_.run(KeepKernel<Observed>{step, this->shown_, results_}, each);
    return this->side_.status();
  }

 private:
  template <class Call>
  Status call(const char* function, const Call& run) {
    return call_simulator(this->envs_->spec().id, function, [&] { return run(*steps_); });
  }
  DeviceStepRows rows_of(const DeviceRollout& block) const {
    return {.actions = block.clipped,
            .observations = any(block.shown),
            .rewards = results_.rewards,
            .terminated = results_.terminated,
            .truncated = results_.truncated,
            .final_observations = any(block.ends),
            .reasons = results_.reasons,
            .successes = results_.successes,
            .critic_observations = any(block.critic.now),
            .final_critic_observations = any(block.critic.ends),
            .valid_actions = block.choices.valid_now};
  }
  static void* any(const DeviceObservations& rows) {
    return rows.bytes == nullptr ? static_cast<void*>(rows.floats) : rows.bytes;
  }

  StepResults results_;
  DeviceSteps* steps_ = nullptr;  // of envs_
  Status taken_;
};

}  // namespace broadloom::cuda
