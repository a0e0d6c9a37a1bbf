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

DeviceMaker maker_of(const std::string& name) {
  const std::lock_guard lock(makers().mutex);
  const auto found = makers().by_name.find(name);
  return found == makers().by_name.end() ? DeviceMaker() : found->second;
}

}  // namespace

void register_device(const std::string& name, DeviceMaker make) {
  const std::lock_guard lock(makers().mutex);
  makers().by_name.emplace(name, std::move(make));
}

Result<std::unique_ptr<Device>> make_device(const DeviceSetup& setup) {
  const std::string& name = setup.config.device;
  if (name == "cpu") return std::unique_ptr<Device>();
  BROADLOOM_TRY(check_knows_device(name));
  return maker_of(name)(setup);
}

Status check_knows_device(const std::string& name) {
  if (name == "cpu" || maker_of(name)) return {};
  return invalid(
      fmt::format("device: got {}, but this program was built without CUDA; build it with "
                  "-DBROADLOOM_CUDA=ON (docs/gpu.md lists what runs there), or set device = cpu",
                  name));
}

}  // namespace broadloom
