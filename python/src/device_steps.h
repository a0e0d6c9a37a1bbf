// Python's environments that step in the memory of a GPU (broadloom/env/device_steps.h).
// broadloom/_device_steps.py has the Python side.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "broadloom/core/status.h"
#include "broadloom/env/device_steps.h"
#include "broadloom/env/spec.h"

namespace broadloom::python {

// The part of VecEnvs that calls a broadloom._device_steps.OnDevice.
class PythonDeviceSteps : public DeviceSteps {
 public:
  bool can_step_on_device() const override;
  Status take_to_device(void* stream) override;
  Status bring_from_device(void* stream) override;
  Status observe_on_device(const DeviceStepRows& rows, void* stream) override;
  Status step_on_device(const DeviceStepRows& rows, void* stream) override;
  Status took_block(int T, const std::uint8_t* terminated, const std::uint8_t* truncated) override;

 protected:
  // on_device: an OnDevice, or None. The GIL must be held.
  void set_device(nanobind::object on_device, const EnvSpec& spec, int num_envs);
  // For destructors, with the GIL, or once the interpreter is gone.
  void forget_device();

  // Copies what Python's object shows now. Called with the GIL.
  virtual void read_shown() = 0;
  // One step of an environment is over.
  virtual void count_step(int env, bool has_ended) = 0;

 private:
  Status call(const char* function, const std::function<void()>& run) const;
  // Python's view of the arrays. They keep their places, so one object serves a run.
  const nanobind::object& view(const DeviceStepRows& rows);
  nanobind::object array_view(const void* data, const Space& space) const;

  nanobind::object on_device_, view_;
  std::optional<DeviceStepRows> viewed_;
  const EnvSpec* spec_ = nullptr;
  std::int64_t count_ = 0;
  int memory_ = 0, device_id_ = 0;  // in DLPack's numbers; a trainer has device 0
};

void bind_device_steps(nanobind::module_& m);

}  // namespace broadloom::python
