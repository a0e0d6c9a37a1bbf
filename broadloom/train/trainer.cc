#include "broadloom/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broadloom/config/schedule.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/spec_json.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/rollout/explained_variance.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/machine.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"
#include "broadloom/setup/simulator.h"

namespace broadloom {
namespace {

Status check_machine(const Config& config, int threads) {
  BROADLOOM_TRY(validate(config));
  if (threads >= 1) return {};
  return {ErrorKind::kInvalidConfig, fmt::format("threads is {}; expected at least 1", threads)};
}

// Evaluations make environments by env_id, so another id would evaluate another task.
Status check_given(const Config& config, const VecEnv* envs) {
  if (envs == nullptr) return invalid("got no environments (null); give num_envs of them");
  if (envs->num_envs() != config.most_envs()) {
    return invalid(
        fmt::format("got {} environments, but {} is {}; use equal numbers", envs->num_envs(),
                    config.shape_schedule.empty() ? "num_envs" : "the largest N of shape_schedule",
                    config.most_envs()));
  }
  const Result<EnvSpec> named = env_spec(config.env_id, config.env_options);
  const auto is_scaled = [](const EnvSpec& spec) { return !spec.action.own_low.empty(); };
  if (named.ok() && is_scaled(named.value()) != is_scaled(envs->spec())) {
    return invalid(
        fmt::format("got environments whose actions are{} scaled, but the configuration has{} "
                    "env.scale_actions; make them by make_vec_env() with config.env_options",
                    is_scaled(envs->spec()) ? "" : " not", is_scaled(named.value()) ? "" : " no"));
  }
  if (envs->spec().id == config.env_id) return {};
  return invalid(
      fmt::format("got environments '{}', but env_id is '{}'; use one id, and register it with "
                  "register_environment() so that evaluation can find it",
                  envs->spec().id, config.env_id));
}

// Each shape has a new Algorithm object, and state does not pass to it.
Status check_outlasting(const Config& config, Algorithm& algorithm) {
  std::vector<TensorRef> state;
  algorithm.append_state("algorithm", state);
  if (config.shape_schedule.empty() || state.empty()) return {};
  return invalid(fmt::format(
      "shape_schedule: algorithm = {} keeps '{}' from block to block, which a change of "
      "shape would lose; remove this key",
      config.algorithm, state.front().name));
}

ProbeStates probe_for(const Config& config, const VecEnv& envs) {
  if (!instruments_need_probe(config.instruments)) return {};
  ProbeStates probe = make_probe_states(envs);
  if (critic_space(config, envs.spec()).size == 0) probe.critic = {};
  return probe;
}

// No normaliser for a space of size 0.
std::optional<ObsNormalizer> normalizer_of(const Config& config, const Space& space) {
  if (!config.norm_obs || space.size == 0) return std::nullopt;
  ObsNormalizer made(space.size, config.clip_obs, most_shards(config), normaliser_rule(config),
                     normaliser_eps(config));
  made.leave_out(space.groups);
  return made;
}

// A file of the environment may change or go while the trainer trains.
Result<std::string> described(const Config& config) {
  const Result<EnvSpec> spec = own_spec(config.env_id, config.env_options);
  if (!spec.ok()) return spec.status();
  return needs_description(spec.value()) ? spec_json(spec.value()) : std::string();
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const Config& config, int threads, Ranks& ranks,
                                                 StartFrom start,
                                                 const std::optional<TeacherFile>& teacher) {
  BROADLOOM_TRY(check_machine(config, threads));
  const Result<MemoryPlan> plan =
      plan_memory(config, threads, ranks.size());  // checked before environments are made
  if (!plan.ok()) return plan.status();
  BROADLOOM_TRY(check_memory(config, plan.value(), ranks.here()));
  VecEnvOptions options = vec_env_options(config);
  options.threads = threads;
  options.state_follows = start == StartFrom::kState;
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(config.env_id, config.env_options, options);
  if (!envs.ok()) return envs.status();
  return create_checked(config, threads, envs.take(), ranks, teacher);
}

Result<std::unique_ptr<Trainer>> Trainer::create(const Config& config, int threads,
                                                 std::unique_ptr<VecEnv> envs, Ranks& ranks) {
  BROADLOOM_TRY(check_machine(config, threads));
  BROADLOOM_TRY(check_given(config, envs.get()));
  BROADLOOM_TRY(with_simulator_errors([&] {
    return check_memory(config, plan_memory(config, threads, *envs, ranks.size()), ranks.here());
  }));
  return create_checked(config, threads, std::move(envs), ranks, {});
}

Result<std::unique_ptr<Trainer>> Trainer::create_checked(const Config& config, int threads,
                                                         std::unique_ptr<VecEnv> envs, Ranks& ranks,
                                                         const std::optional<TeacherFile>& file) {
  return with_simulator_errors([&]() -> Result<std::unique_ptr<Trainer>> {
    BROADLOOM_TRY(check_fits(config, *envs));
    BROADLOOM_TRY(check_ranks(*envs, ranks.size()));
    BROADLOOM_TRY(check_state(*envs));
    Result<std::unique_ptr<TeacherPolicy>> teacher = make_teacher(config, envs->spec(), file);
    if (!teacher.ok()) return teacher.status();
    std::unique_ptr<Trainer> trainer(
        new Trainer(config, threads, std::move(envs), ranks, teacher.take()));
    BROADLOOM_TRY(trainer->pool_.status());
    BROADLOOM_TRY(check_outlasting(config, trainer->backend_->algorithm()));
    if (config.device == "cpu") return trainer;
    Result<std::unique_ptr<Backend>> device = make_device_backend(trainer->backend_setup(ranks));
    if (!device.ok()) return device.status();
    trainer->backend_ = device.take();
    trainer->report_update();
    return trainer;
  });
}

Trainer::Trainer(const Config& config, int threads, std::unique_ptr<VecEnv> envs, Ranks& ranks,
                 std::unique_ptr<TeacherPolicy> teacher)
    : config_(config),
      pool_(threads),
      active_threads_(threads, available_cores()),
      envs_(std::move(envs)),
      teacher_(std::move(teacher)),
      labels_(teacher_ ? std::make_optional<Teacher>(teacher_->labels()) : std::nullopt),
      network_(network_shape(config, envs_->spec())),
      learner_(network_.parameter_count()),
      block_(run_block_sizes(config, *envs_)),
      obs_norm_(normalizer_of(config, envs_->spec().observation)),
      critic_norm_(normalizer_of(config, critic_space(config, envs_->spec()))),
      reward_norm_(config.norm_reward ? std::make_optional<RewardNormalizer>(
                                            config.most_envs(), config.gamma, config.clip_reward,
                                            most_shards(config), normaliser_rule(config))
                                      : std::nullopt),
      value_norm_(broadloom::value_normalizer(config)),
      tracker_(config.most_envs(), envs_->spec().strata.size()),
      step_sums_(*envs_),
      actor_(make_actor(config_, network_)),
      collector_(*envs_, network_, *actor_, normalizers(), pool_, config.seed, ranks,
                 labels_ ? &*labels_ : nullptr),
      backend_(make_host_backend(backend_setup(ranks))),
      instruments_(config.instruments,
                   instrument_setup(config, network_, envs_->spec(), threads, config.most_envs()),
                   probe_for(config, *envs_)),
      hasher_(config.hashes ? std::make_optional<BlockHasher>(block_, threads) : std::nullopt),
      description_(described(config)),
      trained_steps_(config.trained_steps()),
      schedule_steps_(config.schedule_steps()),
      learning_rate_(learning_rate_schedule(config)) {
  if (uses_mirror(config)) {
    const Mirror& mirror = envs_->spec().mirror;
    if (obs_norm_) obs_norm_->set_mirror(&mirror.observation);
    if (critic_norm_) critic_norm_->set_mirror(&mirror.critic_observation);
  }
  network_.initialise(config.seed, learner_.params.data());
  backend_->algorithm().initialise(learner_);
  learner_.learning_rate = config.learning_rate;
  report_update();
  report_.strata = stratum_numbers(envs_->spec(), config.curriculum);
  step_sums_.begin(*envs_);  // drops the sums of staggered starts
  report_.counted = counted_numbers(envs_->spec());
  for (int i = 0; i < config.most_envs(); ++i) {
    if (envs_->episode_step(i) > 0) tracker_.leave_out_current(i);
  }
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config phase = config.of_phase(p);
    block_.reserve(run_block_sizes(phase, *envs_));
  }
  follow_shape();
}

// THE CORE LOOP: one iteration, in the order of the data. The stages time themselves.
Status Trainer::iterate() {
  return with_simulator_errors([&]() -> Status {
    ++clock_.iteration;
    has_whole_state_ = false;
    evaluated_return_.reset();
    {
      const ActiveRound round(active_threads_, pool_);
      apply_schedules();
      BROADLOOM_TRY(collect());
      bootstrap_values();
      compute_targets();
      BROADLOOM_TRY(update());
    }
    run_instruments();
    has_whole_state_ = true;
    return record();
  });
}

// A learning rate without a schedule is state: the adaptive rule changes it, and an audit continues
// with the rate that it found.
void Trainer::apply_schedules() {
  follow_shape();
  const double progress = std::min(1.0, clock_.progress(schedule_steps_));
  actor_->begin_block(progress);
  backend_->algorithm().begin_block(progress);
  last_rate_ = learner_.learning_rate;
  if (!learning_rate_.is_constant()) learner_.learning_rate = learning_rate_.at(progress);
}

// At a new shape, remakes everything that depends on the shape, as in a run with that shape.
// Environments beyond N keep their state, episode and statistics.
void Trainer::follow_shape() {
  const ShapeSchedule& schedule = config_.shape_schedule;
  if (schedule.empty()) return;
  const std::size_t phase = schedule.phase_at(clock_.global_step, config_.total_timesteps);
  if (phase_ == phase) return;
  phase_ = phase;
  const Config now = config_.of_phase(phase);
  backend_->reshape(now);
  block_.reshape(run_block_sizes(now, *envs_));
  collector_.regroup(now.num_envs);
  instruments_.reshape(
      instrument_setup(now, network_, envs_->spec(), pool_.threads(), envs_->num_envs()));
  if (hasher_) hasher_.emplace(block_, pool_.threads());
}

Status Trainer::collect() {
  const StageTimer timer(stage_seconds_.collect);
  if (clock_.iteration == 1) BROADLOOM_TRY(backend_->algorithm().begin_run(*envs_, normalizers()));
  if (episodes_lost_) BROADLOOM_TRY(begin_new_episodes());
  if (Status filled = fill_block(); !filled.ok()) {
    forget_block();
    if (filled.kind() != ErrorKind::kNumeric) return filled;  // it names its simulator
    return {filled.kind(), config_.env_id + ": " + filled.message()};
  }
  clock_.add_block(block_.T, block_.N);
  report_clock();
  tracker_.observe(block_.rewards.data(), block_.terminated.data(), block_.truncated.data(),
                   block_.T, block_.ends.empty() ? nullptr : block_.ends.data(), block_.N,
                   fillers(), block_.leader_begin());
  step_sums_.take_block(*envs_, collector_.cut(), backend_->exchange(),
                        static_cast<std::int64_t>(block_.transitions()), report_.counted);
  // Hashes the block before reward scaling, whose statistics mix all environments.
  if (hasher_) hasher_->take_block(block_, collector_.shards(), pool_);
  if (reward_norm_) scale_rewards();
  if (config_.reward_scale != 1.0) {
    const float scale = static_cast<float>(config_.reward_scale);
    for (float& reward : block_.rewards) reward *= scale;
  }
  return needs_environments() ? gather_environments() : Status();
}

Status Trainer::fill_block() {
  RunClock end = clock_;
  end.add_block(block_.T, block_.N);
  return backend_->fill_block(clock_, is_watched(end));
}

// Takes back an iteration whose block failed. Only the environments have moved on, so the state is
// that of the last iteration if it has none of them.
void Trainer::forget_block() {
  --clock_.iteration;
  learner_.learning_rate = last_rate_;
  for (ObsNormalizer* const normalizer : {normalizers().policy, normalizers().critic}) {
    if (normalizer != nullptr) normalizer->forget_sums();
  }
  std::fill(block_.next_states.begin(), block_.next_states.end(), 0.0f);
  has_whole_state_ = !envs_->traits().saves_state;
  episodes_lost_ = !envs_->traits().saves_state;
}

// Whether this iteration needs the states of all environments: for instruments, curriculum levels,
// a checkpoint, an evaluation that may keep one, or a new division among ranks.
bool Trainer::needs_environments() const {
  if (!backend_->steps_elsewhere()) return false;
  const ShapeSchedule& schedule = config_.shape_schedule;
  return is_watched(clock_) ||
         instruments_watch_environments(config_.instruments, strata_vary(config_)) ||
         !config_.curriculum.empty() || finished() ||
         clock_.iteration % config_.checkpoint_interval == 0 ||
         (config_.eval_interval > 0 && clock_.iteration % config_.eval_interval == 0) ||
         (phase_ && *phase_ != schedule.phase_at(clock_.global_step, config_.total_timesteps));
}

std::optional<double> Trainer::reached_return() const {
  const std::optional<double>& wanted = config_.stop_at_return.value;
  if (!wanted || clock_.iteration == 0) return std::nullopt;
  std::optional<double> mean = evaluated_return_;
  if (config_.eval_interval == 0 && averaged_episodes() >= EpisodeTracker::kWindow) {
    mean = tracker_.mean_return();
  }
  return mean && *mean >= *wanted ? mean : std::nullopt;
}

ObsNormalizers Trainer::normalizers() {
  return {obs_norm_ ? &*obs_norm_ : nullptr, critic_norm_ ? &*critic_norm_ : nullptr};
}

BackendSetup Trainer::backend_setup(Ranks& ranks) {
  return {config_,    network_,      *envs_, learner_, block_,
          collector_, normalizers(), pool_,  ranks,    value_norm_ ? &*value_norm_ : nullptr};
}

const std::uint8_t* Trainer::fillers() const {
  return block_.fillers.empty() ? nullptr : block_.fillers.data();
}

// Adds the block to the statistics before scaling it, so that even the first block has scaled
// rewards. The policy never sees rewards, so its inputs do not change.
void Trainer::scale_rewards() {
  const ShardPlan& plan = collector_.shards();
  pool_.run(plan.count(), [&](int s) {
    reward_norm_->accumulate(s, plan[s].begin, plan[s].end, block_.rewards.data(),
                             {block_.terminated.data(), block_.truncated.data()}, block_.T,
                             block_.N, fillers());
  });
  reward_norm_->commit();
  reward_norm_->scale(block_.rewards.data(), block_.size());
}

void Trainer::bootstrap_values() {
  const StageTimer timer(stage_seconds_.bootstrap);
  backend_->bootstrap_values();
}

void Trainer::compute_targets() {
  const StageTimer timer(stage_seconds_.advantages);
  const ShardPlan& plan = collector_.shards();
  Algorithm& algorithm = backend_->algorithm();
  algorithm.take_block(learner_, block_);
  pool_.run(plan.count(),
            [&](int s) { algorithm.compute_targets(block_, plan[s].begin, plan[s].end); });
  report_.explained_variance = explained_variance(block_.advantages, block_.values, block_.fillers);
}

// Commits the observation statistics after the update, so that they are constant from the first
// action to the last gradient step.
Status Trainer::update() {
  const StageTimer timer(stage_seconds_.update);
  BROADLOOM_TRY(ranks().status());  // else the block is incomplete
  report_.learning_rate = learner_.learning_rate;
  arm_instruments();
  BROADLOOM_TRY(backend_->algorithm().update(block_, config_.seed, clock_.iteration, learner_));
  if (obs_norm_) obs_norm_->commit();
  if (critic_norm_) critic_norm_->commit();
  return {};
}

// Depends only on the iteration's number, so that a resumed run measures the same iterations.
bool Trainer::is_measured(const RunClock& clock) const {
  return clock.global_step >= trained_steps_ || clock.iteration % config_.instrument_every == 0;
}
bool Trainer::is_watched(const RunClock& clock) const {
  return !config_.instruments.empty() && is_measured(clock);
}

void Trainer::arm_instruments() {
  backend_->algorithm().set_observer(instruments_.begin(is_measured(clock_), instrument_view()));
}

InstrumentView Trainer::instrument_view() {
  return {.iteration = clock_.iteration,
          .network = network_,
          .block = block_,
          .params = {params(), network_.parameter_count()},
          .params_before = {},
          .obs_normalizer = obs_normalizer(),
          .pool = pool_,
          .envs = &*envs_,
          .env_step = clock_.env_step,
          .critic_normalizer = critic_normalizer()};
}

void Trainer::run_instruments() {
  const StageTimer timer(stage_seconds_.instruments);
  if (block_.with_fillers)
    report_.filler_rows = static_cast<std::int64_t>(block_.size() - block_.transitions());
  report_update();
  report_episodes();
  instruments_.finish(instrument_view());
  if (hasher_) hasher_->take_params({params(), network_.parameter_count()});
}

void Trainer::report_update() {
  const Algorithm& algorithm = backend_->algorithm();
  report_.epochs = algorithm.epochs();
  report_.update.clear();
  algorithm.visit_numbers([this](const NumberInfo& info, double value) {
    report_.update.push_back({info, value});
  });
}

void Trainer::report_clock() {
  report_.iteration = clock_.iteration;
  report_.global_step = clock_.global_step;
  if (phase_) report_.shape = {block_.N, block_.T};
}

void Trainer::report_episodes() {
  report_.episodes = tracker_.block_episodes();
  report_.mean_return = tracker_.mean_return();
  report_.mean_length = tracker_.mean_length();
  report_.success_rate = tracker_.success_rate();
  report_.termination_rate = tracker_.termination_rate();
  refresh_stratum_numbers(tracker_, *envs_, block_.N, report_.strata);
}

// Records the iteration only if all ranks have the same parameters.
Status Trainer::record() {
  const StageTimer timer(stage_seconds_.record);
  BROADLOOM_TRY(backend_->compare_params());
  return ranks().agree(recorder_ != nullptr ? recorder_->record(*this) : Status());
}

}  // namespace broadloom
