#include "device_steps.h"

#include <fmt/core.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "errors.h"
#if BROADLOOM_EMULATED_DEVICE
#include "broadloom/train/device.h"
#include "cuda/emulated_device.h"
#endif

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// The kind of memory of this process's device: DLPack's kDLCUDA, or the host if it is emulated.
int device_memory = nb::device::cuda::value;

std::uintptr_t address_of(void* stream) { return reinterpret_cast<std::uintptr_t>(stream); }

bool same(const DeviceStepRows& a, const DeviceStepRows& b) {
  static_assert(sizeof(DeviceStepRows) % sizeof(void*) == 0);  // pointers without padding
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

void PythonDeviceSteps::set_device(nb::object on_device, const EnvSpec& spec, int num_envs) {
  spec_ = &spec;
  count_ = num_envs;
  if (on_device.is_none()) return;
  std::tie(memory_, device_id_) = nb::cast<std::pair<int, int>>(on_device.attr("memory"));
  on_device_ = std::move(on_device);
}

// A user may have kept the arrays, which go with the device.
void PythonDeviceSteps::forget_device() {
  if (view_.is_valid() && Py_IsInitialized()) nb::cast<nb::dict>(view_.attr("__dict__")).clear();
  for (nb::object* each : {&on_device_, &view_}) {
    if (Py_IsInitialized()) {
      each->reset();
    } else {
      each->release();
    }
  }
}

bool PythonDeviceSteps::can_step_on_device() const {
  return on_device_.is_valid() && memory_ == device_memory && device_id_ == 0;
}

Status PythonDeviceSteps::call(const char* function, const std::function<void()>& run) const {
  const nb::gil_scoped_acquire gil;
  try {
    run();
    return {};
  } catch (nb::python_error& error) {
    return keep_exception(error, fmt::format("{}() of {}", function, spec_->id));
  } catch (const std::exception& error) {
    return {ErrorKind::kIo, fmt::format("{}() of {}: {}", function, spec_->id, error.what())};
  }
}

nb::object PythonDeviceSteps::array_view(const void* data, const Space& space) const {
  if (data == nullptr) return nb::none();
  const std::size_t shape[] = {static_cast<std::size_t>(count_),
                               static_cast<std::size_t>(space.size)};
  const nb::dlpack::dtype dtype =
      space.dtype == Dtype::kU8 ? nb::dtype<std::uint8_t>() : nb::dtype<float>();
  const std::size_t dimensions = space.size == 0 ? 1 : 2;
  const nb::ndarray<nb::array_api> array(const_cast<void*>(data), dimensions, shape, nb::handle(),
                                         nullptr, dtype, memory_, device_id_);
  return nb::cast(array, nb::rv_policy::reference);
}

const nb::object& PythonDeviceSteps::view(const DeviceStepRows& rows) {
  if (viewed_ && same(*viewed_, rows)) return view_;
  Space actions, flags, numbers, masks;
  actions.size = spec_->action_size();
  flags.dtype = masks.dtype = Dtype::kU8;
  masks.size = spec_->action.mask_size();
  numbers.dtype = actions.dtype = Dtype::kF32;
  nb::dict arrays;
  arrays["actions"] = array_view(rows.actions, actions);
  arrays["observations"] = array_view(rows.observations, spec_->observation);
  arrays["rewards"] = array_view(rows.rewards, numbers);
  arrays["terminated"] = array_view(rows.terminated, flags);
  arrays["truncated"] = array_view(rows.truncated, flags);
  arrays["successes"] = array_view(rows.successes, flags);
  arrays["final_observations"] = array_view(rows.final_observations, spec_->observation);
  arrays["critic_observations"] = array_view(rows.critic_observations, spec_->critic_observation);
  arrays["final_critic_observations"] =
      array_view(rows.final_critic_observations, spec_->critic_observation);
  arrays["valid_actions"] = array_view(rows.valid_actions, masks);
  view_ = on_device_.attr("view")(arrays);
  viewed_ = rows;
  return view_;
}

Status PythonDeviceSteps::take_to_device(void* stream) {
  return call("take_to_device", [&] { on_device_.attr("take")(address_of(stream)); });
}

Status PythonDeviceSteps::bring_from_device(void* stream) {
  return call("bring_from_device", [&] {
    on_device_.attr("bring")(address_of(stream));
    read_shown();
  });
}

Status PythonDeviceSteps::observe_on_device(const DeviceStepRows& rows, void* stream) {
  return call("observe_on_device",
              [&] { on_device_.attr("observe")(view(rows), address_of(stream)); });
}

Status PythonDeviceSteps::step_on_device(const DeviceStepRows& rows, void* stream) {
  return call("step_on_device", [&] { on_device_.attr("step")(view(rows), address_of(stream)); });
}

Status PythonDeviceSteps::took_block(int T, const std::uint8_t* terminated,
                                     const std::uint8_t* truncated) {
  for (int t = 0; t < T; ++t) {
    for (int n = 0; n < count_; ++n) count_step(n, (*terminated++ | *truncated++) != 0);
  }
  return call("took_block", [&] { on_device_.attr("took_block")(); });
}

void bind_device_steps(nb::module_& m) {
#if BROADLOOM_EMULATED_DEVICE
  // For tests: from now on, this process's `device = cuda` is emulated on the host.
  m.def("emulate_device", [] {
    device_memory = nb::device::cpu::value;
    register_device("cuda", [](const DeviceSetup& setup) {
      return cuda::make_emulated_device(setup, cuda::FiberOrder::kForward);
    });
  });
#else
  (void)m;
#endif
}

}  // namespace broadloom::python
