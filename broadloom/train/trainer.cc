#include "broadloom/train/trainer.h"

#include <fmt/format.h>

#include <utility>

#include "broadloom/config/algorithms.h"
#include "broadloom/config/machine.h"
#include "broadloom/config/memory_plan.h"
#include "broadloom/config/network_shape.h"
#include "broadloom/config/settings.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/envs/registry.h"
#include "broadloom/instruments/explained_variance.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/math/linear_bf16.h"

namespace broadloom {
namespace {

Status check_machine(const Config& config, int threads) {
  BROADLOOM_TRY(validate(config));
  BROADLOOM_TRY(check_processor(config, bf16_available()));
  if (threads >= 1) return {};
  return {ErrorKind::kInvalidConfig, fmt::format("threads is {}; expected at least 1", threads)};
}

// Evaluations make environments anew, by env_id: another id would have them play another task.
Status check_given(const Config& config, const VecEnv* envs) {
  if (envs == nullptr) return invalid("got no environments (null); give num_envs of them");
  if (envs->num_envs() != config.num_envs) {
    return invalid(fmt::format("got {} environments but num_envs is {}; make both the same",
                               envs->num_envs(), config.num_envs));
  }
  if (envs->spec().id == config.env_id) return {};
  return invalid(
      fmt::format("got environments '{}' but env_id is '{}'; make both the same, and "
                  "register_environment() them for all that finds them by it",
                  envs->spec().id, config.env_id));
}

Status check_levels(const Config& config, const VecEnv& envs) {
  if (config.curriculum.empty() || envs.level(0) >= 0) return {};
  return {ErrorKind::kInvalidConfig,
          fmt::format("curriculum: got {}, but these environments were made without one; give them "
                      "one and implement VecEnv::level(), or leave it out",
                      fmt::join(config.curriculum, ","))};
}

Status check_probe(const Config& config, const VecEnv& envs) {
  if (!instruments_need_probe(config.instruments) || can_probe(envs)) return {};
  return {
      ErrorKind::kInvalidConfig,
      fmt::format("instruments: got '{}', of which some look at states of environments that they "
                  "make themselves, but these environments cannot make more of their kind; "
                  "implement VecEnv::another(), or measure 'gradient' alone",
                  fmt::join(config.instruments, ","))};
}

ProbeStates probe_for(const Config& config, const VecEnv& envs) {
  return instruments_need_probe(config.instruments) ? make_probe_states(envs) : ProbeStates();
}

// Of rows of so many numbers; none of none.
std::optional<ObsNormalizer> normalizer_of(const Config& config, int size) {
  if (!config.norm_obs || size == 0) return std::nullopt;
  return ObsNormalizer(size, config.clip_obs, shard_plan(config).count());
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const Config& config, int threads) {
  BROADLOOM_TRY(check_machine(config, threads));
  const Result<MemoryPlan> plan = plan_memory(config, threads);  // before the environments are made
  if (!plan.ok()) return plan.status();
  BROADLOOM_TRY(check_memory(config, plan.value()));
  Result<std::unique_ptr<VecEnv>> envs =
      make_vec_env(config.env_id, config.env_options, vec_env_options(config));
  if (!envs.ok()) return envs.status();
  return create_checked(config, threads, envs.take());
}

Result<std::unique_ptr<Trainer>> Trainer::create(const Config& config, int threads,
                                                 std::unique_ptr<VecEnv> envs) {
  BROADLOOM_TRY(check_machine(config, threads));
  BROADLOOM_TRY(check_given(config, envs.get()));
  BROADLOOM_TRY(check_memory(config, plan_memory(config, threads, *envs)));
  return create_checked(config, threads, std::move(envs));
}

Result<std::unique_ptr<Trainer>> Trainer::create_checked(const Config& config, int threads,
                                                         std::unique_ptr<VecEnv> envs) {
  BROADLOOM_TRY(check_observations(config, envs->spec()));
  BROADLOOM_TRY(check_algorithm(config, envs->spec()));
  BROADLOOM_TRY(check_levels(config, *envs));
  BROADLOOM_TRY(check_probe(config, *envs));
  return std::unique_ptr<Trainer>(new Trainer(config, threads, std::move(envs)));
}

Trainer::Trainer(const Config& config, int threads, std::unique_ptr<VecEnv> envs)
    : config_(config),
      pool_(threads),
      active_threads_(threads, available_cores()),
      envs_(std::move(envs)),
      network_(network_shape(config, envs_->spec())),
      learner_(network_.parameter_count(), network_.bf16_size()),
      block_(block_sizes(*envs_, config.num_steps, config.num_envs)),
      obs_norm_(normalizer_of(config, block_.D)),
      critic_norm_(normalizer_of(config, block_.critic.size)),
      reward_norm_(config.norm_reward ? std::make_optional<RewardNormalizer>(
                                            config.num_envs, config.gamma, config.clip_reward,
                                            shard_plan(config).count())
                                      : std::nullopt),
      tracker_(config.num_envs),
      algorithm_(make_algorithm({config_, network_, envs_->spec(), pool_})),
      collector_(*envs_, network_, algorithm_->actor(),
                 {obs_norm_ ? &*obs_norm_ : nullptr, critic_norm_ ? &*critic_norm_ : nullptr},
                 pool_, config.seed, learner_.bf16_weights.data()),
      instruments_(config.instruments, instrument_setup(config, network_, envs_->spec(), threads),
                   probe_for(config, *envs_)),
      hasher_(config.hashes ? std::make_optional<BlockHasher>(block_, threads) : std::nullopt),
      learning_rate_(learning_rate_schedule(config)) {
  network_.initialise(config.seed, learner_.params.data());
  learner_.learning_rate = config.learning_rate;
  report_update();
  report_.strata = stratum_numbers(envs_->spec(), config.curriculum);
  for (int i = 0; i < config.num_envs; ++i) {
    if (envs_->episode_step(i) > 0) tracker_.leave_out_present(i);
  }
}

// THE CORE LOOP. One iteration, in the order the data takes. The stages time themselves.
Status Trainer::iterate() {
  ++clock_.iteration;
  {
    const ActiveRound round(active_threads_, pool_);
    apply_schedules();
    BROADLOOM_TRY(collect());
    bootstrap_values();
    compute_targets();
    BROADLOOM_TRY(update());
  }
  run_instruments();
  return record();
}

// A learning rate without a schedule is state: the update moves the adaptive one, and an audit goes
// on with the one it found.
void Trainer::apply_schedules() {
  const double progress = clock_.progress(config_.trained_steps());
  algorithm_->begin_block(progress);
  if (!learning_rate_.is_constant()) learner_.learning_rate = learning_rate_.at(progress);
}

Status Trainer::collect() {
  const StageTimer timer(stage_seconds_.collect);
  learner_.refresh_bf16(network_, pool_);  // a restore may have changed the weights
  BROADLOOM_TRY(collector_.collect(learner_.params.data(), clock_.env_step, block_));
  clock_.add_block(block_.T, block_.N);
  report_clock();
  tracker_.observe(block_.rewards.data(), block_.terminated.data(), block_.truncated.data(),
                   block_.T, block_.ends.empty() ? nullptr : block_.ends.data());
  // Before rewards are scaled: the statistics that scale them mix what environments did.
  if (hasher_) hasher_->take_block(block_, collector_.shards(), pool_);
  if (reward_norm_) scale_rewards();
  return {};
}

// The statistics first take in the block whose rewards they scale, so that even the first block has
// rewards of a known size. The policy never sees rewards, so nothing that it acts on moves.
void Trainer::scale_rewards() {
  const ShardPlan& plan = collector_.shards();
  pool_.run(plan.count(), [&](int s) {
    reward_norm_->accumulate(s, plan[s].begin, plan[s].end, block_.rewards.data(),
                             block_.terminated.data(), block_.T);
  });
  reward_norm_->commit();
  reward_norm_->scale(block_.rewards.data(), block_.size());
}

void Trainer::bootstrap_values() {
  const StageTimer timer(stage_seconds_.bootstrap);
  collector_.bootstrap_values(learner_.params.data(), block_);
}

void Trainer::compute_targets() {
  const StageTimer timer(stage_seconds_.advantages);
  const ShardPlan& plan = collector_.shards();
  pool_.run(plan.count(),
            [&](int s) { algorithm_->compute_targets(block_, plan[s].begin, plan[s].end); });
}

// The observation statistics move only now: from the first action to the last gradient step the
// policy saw observations through the same ones.
Status Trainer::update() {
  const StageTimer timer(stage_seconds_.update);
  report_.learning_rate = learner_.learning_rate;
  arm_instruments();
  BROADLOOM_TRY(algorithm_->update(block_, config_.seed, clock_.iteration, learner_));
  if (obs_norm_) obs_norm_->commit();
  if (critic_norm_) critic_norm_->commit();
  return {};
}

// Decides whether this iteration is measured: by its number alone, so that a resumed run measures
// the same ones.
void Trainer::arm_instruments() {
  const bool due = finished() || clock_.iteration % config_.instrument_every == 0;
  algorithm_->set_observer(instruments_.begin(due, instrument_view()));
}

InstrumentView Trainer::instrument_view() {
  return {.iteration = clock_.iteration,
          .network = network_,
          .block = block_,
          .params = learner_.params,
          .params_before = {},
          .bf16_weights = learner_.bf16_weights.data(),
          .obs_normalizer = obs_normalizer(),
          .pool = pool_,
          .envs = &*envs_,
          .critic_normalizer = critic_normalizer()};
}

void Trainer::run_instruments() {
  const StageTimer timer(stage_seconds_.instruments);
  report_.explained_variance = explained_variance(block_.advantages, block_.values);
  report_update();
  report_episodes();
  instruments_.finish(instrument_view());
  if (hasher_) hasher_->take_params({params(), network_.parameter_count()});
}

void Trainer::report_update() {
  report_.epochs = algorithm_->epochs();
  report_.update.clear();
  algorithm_->visit_numbers([this](const NumberInfo& info, double value) {
    report_.update.push_back({info, value});
  });
}

void Trainer::report_clock() {
  report_.iteration = clock_.iteration;
  report_.global_step = clock_.global_step;
}

void Trainer::report_episodes() {
  report_.episodes = tracker_.block_episodes();
  report_.mean_return = tracker_.mean_return();
  report_.mean_length = tracker_.mean_length();
  report_.success_rate = tracker_.success_rate();
  report_.termination_rate = tracker_.termination_rate();
  refresh_stratum_numbers(tracker_, *envs_, report_.strata);
}

void Trainer::state_restored() {
  if (obs_norm_) obs_norm_->state_restored();
  if (critic_norm_) critic_norm_->state_restored();
  clock_.state_restored(block_.N);
  report_clock();
  report_episodes();
}

Status Trainer::record() {
  const StageTimer timer(stage_seconds_.record);
  return recorder_ != nullptr ? recorder_->record(*this) : Status();
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
          critic_normalizer()};
}

std::vector<TensorRef> Trainer::state() {
  std::vector<TensorRef> out;
  learner_.append_state("learner", out);
  envs_->append_state("envs", out);
  tracker_.append_state("episodes", out);
  if (obs_norm_) obs_norm_->append_state("obs_normalizer", out);
  if (critic_norm_) critic_norm_->append_state("critic_obs_normalizer", out);
  if (reward_norm_) reward_norm_->append_state("reward_normalizer", out);
  clock_.append_state("trainer", out);
  return out;
}

std::vector<TensorRef> Trainer::instrument_state() {
  std::vector<TensorRef> out;
  instruments_.append_state("instruments", out);
  return out;
}

}  // namespace broadloom
