#include "broadloom/train/device.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <utility>

namespace broadloom {
namespace {

struct Makers {
  std::mutex mutex;
  std::map<std::string, DeviceMaker> by_name;
};

Makers& makers() {
  static Makers all;
  return all;
}

}  // namespace

void register_device(const std::string& name, DeviceMaker make) {
  const std::lock_guard lock(makers().mutex);
  makers().by_name.emplace(name, std::move(make));
}

Result<std::unique_ptr<Device>> make_device(const DeviceSetup& setup) {
  const std::string& name = setup.config.device;
  if (name == "cpu") return std::unique_ptr<Device>();
  DeviceMaker make;
  {
    const std::lock_guard lock(makers().mutex);
    const auto found = makers().by_name.find(name);
    if (found != makers().by_name.end()) make = found->second;
  }
  if (make) return make(setup);
  return invalid(
      fmt::format("device: got {}, but this program was built without CUDA; build it again with "
                  "-DBROADLOOM_CUDA=ON (docs/gpu.md says what runs there), or set device = cpu",
                  name));
}

}  // namespace broadloom
