// What trainer.h does for runs that several ranks train: the part that is about them alone.
#include <fmt/core.h>

#include <span>

#include "broadloom/core/hash.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// Whether somebody asks this iteration what all environments are in: instruments, numbers of
// levels, a checkpoint, or ranks that step others of them from the next iteration on.
bool Trainer::needs_environments() const {
  if (ranks_.size() == 1 && device_ == nullptr) return false;
  const ShapeSchedule& schedule = config_.shape_schedule;
  return is_watched(clock_) ||
         instruments_watch_environments(config_.instruments, strata_vary(config_)) ||
         !config_.curriculum.empty() || finished() ||
         clock_.iteration % config_.checkpoint_interval == 0 ||
         (phase_ && *phase_ != schedule.phase_at(clock_.global_step, config_.total_timesteps));
}

// Those that have never been stepped, and those that rest, are the same everywhere.
Status Trainer::gather_environments() {
  if (device_ != nullptr) return bring_environments();
  if (ranks_.size() == 1 || environments_of_ == clock_.iteration) return {};
  BROADLOOM_TRY(ranks_.agree(envs_->capture()));
  std::vector<TensorRef> tensors;
  envs_->append_state("envs", tensors);
  const std::size_t envs = static_cast<std::size_t>(envs_->num_envs());
  for (const TensorRef& tensor : tensors) {
    exchange_.add_lines(tensor.data, 1, envs, tensor.bytes() / envs, collector_.cut().env_bounds());
  }
  exchange_.finish();
  BROADLOOM_TRY(ranks_.agree(envs_->state_restored()));
  environments_of_ = clock_.iteration;
  return ranks_.status();
}

Status Trainer::take_state_of_first() {
  if (ranks_.size() == 1) return {};
  BROADLOOM_TRY(ranks_.agree(capture()));
  for (const auto& tensors : {state(), instrument_state()}) {
    for (const TensorRef& tensor : tensors) exchange_.add(tensor.data, tensor.bytes(), 0);
  }
  exchange_.finish();
  BROADLOOM_TRY(ranks_.status());
  return ranks_.agree(ranks_.is_first() ? Status() : state_restored());
}

Status Trainer::capture() {
  if (device_ != nullptr) BROADLOOM_TRY(capture_device());
  if (ranks_.size() > 1 && environments_of_ != clock_.iteration) {
    return invalid(
        fmt::format("the state of the environments that other ranks step is of iteration {}, not "
                    "{}; have all ranks call gather_environments() first",
                    environments_of_, clock_.iteration));
  }
  return envs_->capture();
}

// All ranks hold the same parameters by now, or nothing of the iteration is recorded.
Status Trainer::record() {
  const StageTimer timer(stage_seconds_.record);
  if (ranks_.size() > 1) {
    const auto params = std::as_bytes(std::span(learner_.params));
    BROADLOOM_TRY(ranks_.agree(ranks_.status(), 0, hash64(params)));
  }
  return ranks_.agree(recorder_ != nullptr ? recorder_->record(*this) : Status());
}

}  // namespace broadloom
