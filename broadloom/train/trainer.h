// The trainer: you call iterate(), the core loop, once per iteration.
//
//   const EnvSpec spec = env_spec("CartPole-v1", {}).take();
//   Result<std::unique_ptr<Trainer>> made = Trainer::create(default_config(spec), threads);
//   if (!made.ok()) return made.status();
//   Trainer& trainer = *made.value();
//   while (!trainer.finished()) {
//     BROADLOOM_TRY(trainer.iterate());  // collects N * T transitions, and learns
//     std::printf("%.1f\n", trainer.report().mean_return);
//   }
//
// The same config gives the same bits for any number of threads and on any processor (exceptions:
// docs/bits.md). create() checks that there is enough memory and allocates it. Use a trainer from
// one thread at a time. Several trainers may run in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/active_threads.h"
#include "broadloom/core/number_info.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/schedule.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/instruments/hashes/block_hasher.h"
#include "broadloom/instruments/instrument_set.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/rollout/episode_tracker.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/value_normalizer.h"
#include "broadloom/train/backend.h"
#include "broadloom/train/run_numbers.h"
#include "broadloom/train/run_time.h"
#include "broadloom/train/teacher_policy.h"

namespace broadloom {

// A number that an update reports.
struct UpdateNumber {
  NumberInfo info;
  double value;
};

inline constexpr NumberInfo kEpochsInfo{"epochs", "Epochs carried out", "", kNoTag};

// The results of one iteration.
struct IterationReport {
  std::int64_t iteration = 0;    // 1 after the first
  std::int64_t global_step = 0;  // environment steps so far, over all environments
  double learning_rate = 0.0;
  int epochs = 0;                    // fewer than update_epochs if target_kl stopped them
  std::vector<UpdateNumber> update;  // what the algorithm reports
  double explained_variance = 0.0;
  std::int64_t episodes = 0;  // ended in this block; of several policies, those of the leader
  // Mean over the episodes that ended in this block, or over the last 100 if fewer ended. NaN
  // before any ended.
  double mean_return = 0.0;
  double mean_length = 0.0;
  double success_rate = 0.0;      // NaN if success is unknown
  double termination_rate = 0.0;  // share that terminated, not truncated
  // N and T of the block, with a shape schedule.
  std::optional<BlockShape> shape;
  // Rows of the block that are not transitions, if the simulator has filler rows (VecEnvTraits).
  std::optional<std::int64_t> filler_rows;
  std::vector<NamedNumber> strata;   // by stratum and level
  std::vector<NamedNumber> counted;  // reward terms, measures
};

inline constexpr NumberInfo kNumEnvsInfo{"num_envs", "Environments stepped"};
inline constexpr NumberInfo kNumStepsInfo{"num_steps", "Steps of a block"};
inline constexpr NumberInfo kFillerRowsInfo{"filler_rows", "Rows of a block that only reset"};

// Calls visit(info, number) for everything reported except iteration and step, in the order of
// metrics.jsonl. Numbers are double, int or std::int64_t. CleanRL's tags hold single episodes; here
// they hold means over episodes.
template <class Visitor>
void visit_numbers(const IterationReport& report, Visitor&& visit) {
  visit(NumberInfo{"episodic_return", "Training return", "", "charts/episodic_return"},
        report.mean_return);
  visit(NumberInfo{"episodic_length", "Episode length", "steps", "charts/episodic_length"},
        report.mean_length);
  visit(NumberInfo{"success_rate", "Success of training episodes", "", "charts/success_rate"},
        report.success_rate);
  visit(NumberInfo{"termination_rate", "Episodes that ended by themselves", "",
                   "charts/termination_rate"},
        report.termination_rate);
  visit(NumberInfo{"episodes", "Episodes ended in a block", "", kNoTag}, report.episodes);
  visit(NumberInfo{"learning_rate", "Learning rate", "", "charts/learning_rate"},
        report.learning_rate);
  for (const UpdateNumber& number : report.update) visit(number.info, number.value);
  visit(NumberInfo{"explained_variance", "Explained variance", "", "losses/explained_variance"},
        report.explained_variance);
  visit(kEpochsInfo, report.epochs);
  if (report.shape) {
    visit(kNumEnvsInfo, report.shape->num_envs);
    visit(kNumStepsInfo, report.shape->num_steps);
  }
  if (report.filler_rows) visit(kFillerRowsInfo, *report.filler_rows);
  for (const NamedNumber& number : report.strata) visit(number.info(), number.value);
  for (const NamedNumber& number : report.counted) visit(number.info(), number.value);
}

class Trainer;

// Called after each iteration, for logs, evaluations and checkpoints. Must not change the trainer.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual Status record(Trainer& trainer) = 0;
};

// Result of create(): the state of a new run, or a state that will be overwritten.
enum class StartFrom {
  kStart,
  kState,  // state() will be overwritten by a checkpoint or another rank
};

class Trainer {
 public:
  // Makes environments, network and buffers with `threads` >= 1 threads; results do not depend on
  // their number. Fails if the configuration or an environment option is invalid, or if the
  // processor does not support `precision`. You can pass environments of your own simulator; their
  // number must be config.most_envs() and their id config.env_id.
  //
  // With several ranks, each has a trainer with the same config and makes the same non-const calls.
  // Each collects a part of every block and computes a part of every gradient. All ranks get whole
  // blocks, gradients and reports, with the bits of one rank. Exception: environments that other
  // ranks step keep the state of the last gather_environments(). kInvalidConfig if ranks cannot
  // share the environments.
  //
  // StartFrom::kState skips the work of initial states, such as staggered starts, which will be
  // overwritten.
  //
  // With config.device, the device collects and learns; the trainer's results have the same bits.
  // The CPU has only the parts of the block that reports need, or the whole block with hashes or
  // instruments. kInvalidConfig for settings that the device does not support.
  //
  // teacher: of an algorithm that has one; nullopt: read from the file that the config names.
  static Result<std::unique_ptr<Trainer>> create(const Config& config, int threads,
                                                 Ranks& ranks = Ranks::alone(),
                                                 StartFrom start = StartFrom::kStart,
                                                 const std::optional<TeacherFile>& teacher = {});
  static Result<std::unique_ptr<Trainer>> create(const Config& config, int threads,
                                                 std::unique_ptr<VecEnv> envs,
                                                 Ranks& ranks = Ranks::alone());

  // One iteration: collects a block and makes an update. After the first iteration, allocates only
  // when shape_schedule changes the shape, in the recorder, between several ranks, for a device,
  // and on failure.
  Status iterate();

  // All steps are made, or stop_at_return is reached.
  bool finished() const { return clock_.global_step >= trained_steps_ || reached_return(); }
  // The mean return that reached stop_at_return. With eval_interval, it is from the evaluation
  // after the last iteration (take_evaluation()). Without, it is the report's mean, once that is
  // over at least 100 episodes. None: no mean has reached it, or stop_at_return is off.
  std::optional<double> reached_return() const;
  // Whether that ended the run before its last step.
  bool stopped_early() const {
    return clock_.global_step < trained_steps_ && reached_return().has_value();
  }
  // Takes the result of an evaluation of the current policy. Only then can an evaluation end the
  // run.
  void take_evaluation(double mean_return) { evaluated_return_ = mean_return; }
  const RunClock& clock() const { return clock_; }
  const IterationReport& report() const { return report_; }
  const Config& config() const { return config_; }
  const ActorCritic& network() const { return network_; }
  const EnvSpec& spec() const { return envs_->spec(); }
  // spec_json() of own_spec() as the trainer was made, if it needs_description(); else "".
  const Result<std::string>& description() const { return description_; }
  VecEnvTraits simulator() const { return envs_->traits(); }
  // The training device, or null for the CPU.
  const Device* device() const { return backend_->device(); }
  // The last block. After state_restored(), a block of the next iteration's shape with meaningless
  // content.
  const RolloutBlock& block() const { return block_; }
  const float* params() const { return learner_.params.data(); }  // [P]
  // The current policy, which changes with every iteration.
  Policy policy() const;
  std::int64_t episodes() const { return tracker_.episodes(); }  // ended in this run
  // Number of episodes in the report's means.
  std::int64_t averaged_episodes() const { return tracker_.episodes_averaged(); }
  // Null if observations are not normalised.
  const ObsNormalizer* obs_normalizer() const { return obs_norm_ ? &*obs_norm_ : nullptr; }
  // Null if observations are not normalised, or the critic has none of its own.
  const ObsNormalizer* critic_normalizer() const { return critic_norm_ ? &*critic_norm_ : nullptr; }
  // Null if rewards are not scaled.
  const RewardNormalizer* reward_normalizer() const {
    return reward_norm_ ? &*reward_norm_ : nullptr;
  }
  // Null if values are not normalised.
  const ValueNormalizer* value_normalizer() const { return value_norm_ ? &*value_norm_ : nullptr; }
  // Null if the algorithm learns from rewards.
  const TeacherPolicy* teacher() const { return teacher_.get(); }
  ThreadPool& pool() { return pool_; }
  Ranks& ranks() { return backend_->ranks(); }
  const InstrumentSet& instruments() const { return instruments_; }
  // Hashes of the last iteration; null unless config().hashes.
  const BlockHashes* hashes() const { return hasher_ ? &hasher_->hashes() : nullptr; }
  // Time of each stage over all iterations so far.
  const StageSeconds& stage_seconds() const { return stage_seconds_; }

  // Fixes the number of working threads for all later iterations, instead of the number that was
  // fastest in recent trials. Does not affect learning.
  void hold_threads(int threads) { active_threads_.hold(threads); }

  // recorder: null for none. Must outlive the trainer or be unset.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }

  // Whether state() is that of the last finished iteration. Not if an iteration has failed, except
  // in its block with environments that do not save their state; a next one begins new episodes.
  bool has_whole_state() const { return has_whole_state_; }
  // Mutable views of all state needed to continue: parameters, moments, normalisers, environments,
  // episode statistics, counters. Without environments that do not save their state (VecEnvTraits).
  std::vector<TensorRef> state();
  // Updates the parts of state() that come from environments and device. Call it before you read
  // state(). Fails if other ranks have stepped environments since gather_environments().
  Status capture();
  // Gathers the states of environments on other ranks or a device. iterate() does this whenever the
  // config's recorder or instruments may need them. Otherwise does nothing.
  Status gather_environments();
  // Copies the first rank's state and instrument state to all ranks, for a run that it has started
  // or restored.
  Status copy_first_rank_state();
  // Sums of instruments over the run, "instruments.<name>.<field>". Learning does not depend on
  // them.
  std::vector<TensorRef> instrument_state();
  // Sums behind the report of the last block's episodes, "episodes.block". Learning does not depend
  // on them. Zeros: no block.
  std::vector<TensorRef> report_state();
  // Call it after writing to state(): recomputes derived values. Environments that do not save
  // their state begin new episodes, except before the first iteration.
  Status state_restored();

 private:
  Trainer(const Config& config, int threads, std::unique_ptr<VecEnv> envs, Ranks& ranks,
          std::unique_ptr<TeacherPolicy> teacher);

  // For a config that the machine supports and has memory for.
  static Result<std::unique_ptr<Trainer>> create_checked(const Config& config, int threads,
                                                         std::unique_ptr<VecEnv> envs, Ranks& ranks,
                                                         const std::optional<TeacherFile>& file);

  ObsNormalizers normalizers();
  BackendSetup backend_setup(Ranks& ranks);
  Status begin_new_episodes();
  void apply_schedules();
  void follow_shape();
  Status collect();
  Status fill_block();
  void forget_block();
  const std::uint8_t* fillers() const;  // of the block; null: none
  void scale_rewards();
  void bootstrap_values();
  void compute_targets();
  Status update();
  bool is_measured(const RunClock& clock) const;  // the iteration whose block ends at `clock`
  bool is_watched(const RunClock& clock) const;   // is_measured(), and an instrument is on
  bool needs_environments() const;
  void arm_instruments();
  void run_instruments();
  void report_update();
  void report_clock();
  void report_episodes();
  InstrumentView instrument_view();
  Status record();

  Config config_;
  ThreadPool pool_;
  ActiveThreads active_threads_;
  std::unique_ptr<VecEnv> envs_;
  std::unique_ptr<TeacherPolicy> teacher_;
  std::optional<Teacher> labels_;  // of teacher_
  ActorCritic network_;
  Learner learner_;
  RolloutBlock block_;
  std::optional<ObsNormalizer> obs_norm_, critic_norm_;
  std::optional<RewardNormalizer> reward_norm_;
  std::optional<ValueNormalizer> value_norm_;
  EpisodeTracker tracker_;
  StepSums step_sums_;
  std::unique_ptr<Actor> actor_;
  Collector collector_;
  std::unique_ptr<Backend> backend_;  // collects and learns; declared after everything it uses
  InstrumentSet instruments_;
  std::optional<BlockHasher> hasher_;
  Result<std::string> description_;
  RunClock clock_;
  std::int64_t trained_steps_;
  std::int64_t schedule_steps_;       // steps over which schedules go
  std::optional<std::size_t> phase_;  // current phase of shape_schedule
  Schedule learning_rate_;
  double last_rate_ = 0.0;  // before the current iteration
  IterationReport report_;
  std::optional<double> evaluated_return_;  // after the last iteration
  StageSeconds stage_seconds_;
  Recorder* recorder_ = nullptr;
  bool has_whole_state_ = true;
  bool episodes_lost_ = false;  // the environments are not where the state is
};

}  // namespace broadloom
