// The backend of a device, which holds environments, block and parameters. The CPU's copies are
// updated on request.
#include <utility>

#include "broadloom/train/backend.h"

namespace broadloom {
namespace {

class DeviceBackend final : public Backend {
 public:
  DeviceBackend(const BackendSetup& setup, std::unique_ptr<Device> device)
      : Backend(setup),
        device_(std::move(device)),
        parts_(setup.config.hashes || !setup.config.instruments.empty() ? BlockParts::kAll
                                                                        : BlockParts::kForReports) {
  }

  Algorithm& algorithm() override { return *device_; }
  const Device* device() const override { return device_.get(); }

  // Another shape may divide the environments among ranks in another way.
  void reshape(const Config& now) override {
    device_->reshape(now);
    has_new_environments_ = has_new_environments_ || together();
  }

  Status fill_block(const RunClock& clock, bool is_watched) override {
    if (is_behind_) BROADLOOM_TRY(device_->take_state(setup_.learner, setup_.envs));
    if (!is_behind_ && has_new_environments_) {
      BROADLOOM_TRY(device_->take_environments(setup_.envs));
    }
    is_behind_ = has_new_environments_ = false;
    BROADLOOM_TRY(device_->collect(clock.env_step, parts_, setup_.block));
    if (!is_watched) device_->begin_update(setup_.config.seed, clock.iteration, setup_.learner);
    return device_->await_block(clock.env_step);
  }

  void bootstrap_values() override {}  // the block arrives with them

  bool steps_elsewhere() const override { return together() || !device_->steps_on_host(); }

  Status gather_environments(std::int64_t iteration) override {
    if (is_behind_ || gathered_iteration_ == iteration || !steps_elsewhere()) return {};
    Status brought;
    if (!device_->steps_on_host()) brought = device_->bring_environments(setup_.envs);
    BROADLOOM_TRY(ranks().agree(brought));
    if (together()) BROADLOOM_TRY(share_environments());
    gathered_iteration_ = iteration;
    return {};
  }

  // With several ranks, the first one may call this alone.
  Status capture(std::int64_t iteration) override {
    if (is_behind_) return {};
    if (together()) {
      BROADLOOM_TRY(check_shared(gathered_iteration_, iteration));
    } else {
      BROADLOOM_TRY(gather_environments(iteration));
    }
    return device_->bring_moments(setup_.learner);
  }

  void environments_replaced() override { has_new_environments_ = true; }
  void state_restored(std::int64_t iteration) override {
    is_behind_ = true;
    gathered_iteration_ = iteration;
  }

 private:
  bool together() const { return setup_.ranks.size() > 1; }

  std::unique_ptr<Device> device_;
  BlockParts parts_;
  bool is_behind_ = true;                // the CPU's copies must be sent to the device
  bool has_new_environments_ = false;    // the same for the environments alone
  std::int64_t gathered_iteration_ = 0;  // of the CPU's environments
};

}  // namespace

Result<std::unique_ptr<Backend>> make_device_backend(const BackendSetup& setup) {
  Result<std::unique_ptr<Device>> device =
      make_device({setup.config, setup.network, setup.envs, setup.pool, setup.normalizers,
                   setup.value_norm, setup.ranks});
  if (!device.ok()) return device.status();
  return std::unique_ptr<Backend>(std::make_unique<DeviceBackend>(setup, device.take()));
}

}  // namespace broadloom
