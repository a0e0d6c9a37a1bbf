// What trainer.h does for runs that a device trains: the part that is about it alone.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "broadloom/train/trainer.h"

namespace broadloom {

Status Trainer::move_to_device() {
  if (config_.device == "cpu") return {};
  if (ranks_.size() > 1) {
    return invalid(
        fmt::format("device = {}: got {} ranks, which share no run on devices yet; "
                    "train with one process, or set device = cpu",
                    config_.device, ranks_.size()));
  }
  Result<std::unique_ptr<Device>> device =
      make_device({config_, network_, *envs_, normalizers().policy});
  if (!device.ok()) return device.status();
  device_ = device.value().get();
  algorithm_ = device.take();
  report_update();
  return {};
}

Status Trainer::collect_on_device() {
  if (device_is_behind_) BROADLOOM_TRY(device_->take_state(learner_, *envs_));
  device_is_behind_ = false;
  const bool all = hasher_ || !config_.instruments.empty();
  RunClock end = clock_;
  end.add_block(block_.T, block_.N);
  BROADLOOM_TRY(
      device_->collect(clock_.env_step, all ? BlockParts::kAll : BlockParts::kForReports, block_));
  if (!is_watched(end)) device_->begin_update(config_.seed, clock_.iteration, learner_);
  return device_->await_block(clock_.env_step);
}

Status Trainer::bring_environments() {
  if (device_is_behind_ || environments_of_ == clock_.iteration) return {};
  BROADLOOM_TRY(device_->bring_environments(*envs_));
  environments_of_ = clock_.iteration;
  return envs_->state_restored();
}

Status Trainer::capture_device() {
  if (device_is_behind_) return {};
  BROADLOOM_TRY(bring_environments());
  return device_->bring_moments(learner_);
}

}  // namespace broadloom
