// The state of a trainer, which is saved, restored, copied between ranks and played.
#include <algorithm>

#include "broadloom/core/random.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

Status Trainer::state_restored() {
  backend_->state_restored(clock_.iteration);
  if (obs_norm_) obs_norm_->state_restored();
  if (critic_norm_) critic_norm_->state_restored();
  backend_->algorithm().state_restored();
  if (config_.shape_schedule.empty()) clock_.state_restored(block_.N);
  follow_shape();
  episodes_lost_ = !envs_->traits().saves_state && clock_.iteration > 0;
  if (envs_->traits().saves_state) {
    BROADLOOM_TRY(
        call_simulator(spec().id, "state_restored", [&] { return envs_->state_restored(); }));
  }
  step_sums_.begin(*envs_);  // a failed block may have left sums
  if (episodes_lost_ && !finished()) BROADLOOM_TRY(begin_new_episodes());
  report_clock();
  report_episodes();
  return {};
}

// Uses another seed, because the run has played the episodes of its own seed.
Status Trainer::begin_new_episodes() {
  episodes_lost_ = false;
  const std::uint64_t step = static_cast<std::uint64_t>(clock_.env_step);
  const std::uint64_t seed = Random(config_.seed, Purpose::kAnew, 0, step).bits64();
  BROADLOOM_TRY(call_simulator(spec().id, "begin_anew", [&] { return envs_->begin_anew(seed); }));
  backend_->environments_replaced();
  tracker_.begin_anew();
  std::fill(block_.next_states.begin(), block_.next_states.end(), 0.0f);
  return {};
}

Policy Trainer::policy() const {
  return {config_,
          envs_->spec(),
          network_,
          params(),
          obs_normalizer(),
          reward_normalizer(),
          {.run_dir = {},
           .checkpoint = {},
           .hash = {},
           .iteration = clock_.iteration,
           .global_step = clock_.global_step,
           .training_return = report_.mean_return},
          critic_normalizer(),
          value_normalizer()};
}

std::vector<TensorRef> Trainer::state() {
  std::vector<TensorRef> out;
  learner_.append_state("learner", out);
  if (envs_->traits().saves_state) {
    for (TensorRef& tensor : state_of_simulator(*envs_, "envs")) out.push_back(std::move(tensor));
  }
  tracker_.append_state("episodes", out);
  if (obs_norm_) obs_norm_->append_state("obs_normalizer", out);
  if (critic_norm_) critic_norm_->append_state("critic_obs_normalizer", out);
  if (reward_norm_) reward_norm_->append_state("reward_normalizer", out);
  if (value_norm_) value_norm_->append_state("value_normalizer", out);
  backend_->algorithm().append_state("algorithm", out);
  if (network_.is_recurrent()) {
    out.push_back({"states",
                   Dtype::kF32,
                   {block_.N, block_.state_size},
                   block_.next_states.data(),
                   {kFiniteRange}});
  }
  clock_.append_state("trainer", !config_.shape_schedule.empty(), out);
  return out;
}

std::vector<TensorRef> Trainer::instrument_state() {
  std::vector<TensorRef> out;
  instruments_.append_state("instruments", out);
  return out;
}

std::vector<TensorRef> Trainer::report_state() {
  std::vector<TensorRef> out;
  tracker_.append_block_state("episodes", out);
  return out;
}

Status Trainer::gather_environments() { return backend_->gather_environments(clock_.iteration); }

Status Trainer::copy_first_rank_state() { return backend_->copy_first_rank_state(*this); }

Status Trainer::capture() {
  BROADLOOM_TRY(backend_->capture(clock_.iteration));
  return call_simulator(spec().id, "capture", [&] { return envs_->capture(); });
}

}  // namespace broadloom
