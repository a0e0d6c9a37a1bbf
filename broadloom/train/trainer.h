// The trainer: a value that is stepped from outside. iterate() is the core loop.
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
// The same config gives the same bits for any number of threads, and on any processor (docs/bits.md
// has the exceptions). create() takes the memory, after it has found that there is enough. One
// trainer is used from one thread at a time; several trainers may run side by side.
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
#include "broadloom/train/backend.h"
#include "broadloom/train/run_numbers.h"
#include "broadloom/train/run_time.h"

namespace broadloom {

// One of the numbers of an update.
struct UpdateNumber {
  NumberInfo info;
  double value;
};

inline constexpr NumberInfo kEpochsInfo{"epochs", "Epochs carried out", "", kNoTag};

// What one iteration came to.
struct IterationReport {
  std::int64_t iteration = 0;    // 1 after the first
  std::int64_t global_step = 0;  // environment steps so far, over all environments
  double learning_rate = 0.0;
  int epochs = 0;  // carried out; fewer than update_epochs where target_kl stopped them
  std::vector<UpdateNumber> update;  // what the algorithm reports
  double explained_variance = 0.0;
  std::int64_t episodes = 0;  // ended in this block
  // The mean over these, or over the last 100 where they are fewer; not a number before the first.
  double mean_return = 0.0;
  double mean_length = 0.0;
  double success_rate = 0.0;      // of them; not a number where success is not known
  double termination_rate = 0.0;  // ended by themselves, not by a time limit
  // N and T of the block, where a schedule changes them.
  std::optional<BlockShape> shape;
  // Rows of the block that were no transitions, where the simulator has such (VecEnvTraits).
  std::optional<std::int64_t> filler_rows;
  std::vector<NamedNumber> strata;   // by stratum and level
  std::vector<NamedNumber> counted;  // reward terms, measures
};

inline constexpr NumberInfo kNumEnvsInfo{"num_envs", "Environments stepped"};
inline constexpr NumberInfo kNumStepsInfo{"num_steps", "Steps of a block"};
inline constexpr NumberInfo kFillerRowsInfo{"filler_rows", "Rows of a block that only reset"};

// visit(info, number) for everything reported but iteration and step, in the order of
// metrics.jsonl; numbers are double, int or std::int64_t. CleanRL's tags are for single episodes;
// means over episodes stand under them.
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

// What happens after each iteration: logging, evaluation, checkpoints. Must not change the trainer.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual Status record(Trainer& trainer) = 0;
};

// Where a trainer's first iteration begins.
enum class StartFrom {
  kStart,
  kState,  // state() is written over before it, by a checkpoint or what another rank has
};

class Trainer {
 public:
  // Builds environments, network and buffers for the configuration, with `threads` >= 1 threads;
  // results do not depend on how many. Fails where the configuration or an environment option is
  // not valid, or where the processor lacks what `precision` needs. The environments may be given,
  // for a simulator of one's own; their number and id must be config.most_envs() and config.env_id.
  //
  // With several ranks, all make the same calls of what is not const: each has a trainer of the
  // same config, collects a part of each block and works out a part of each gradient, and has all
  // of both, and of the numbers that come of them, with the bits of one rank. What is not so: its
  // environments beyond those that it steps are as they were when gather_environments() was last
  // called. kInvalidConfig where the environments cannot be shared so.
  //
  // With StartFrom::kState no time goes into starts that nobody will see.
  //
  // With config.device, blocks and updates are the device's; what is asked of the trainer is the
  // same, with the same bits. Of the block, the host has what reports are made of, and all of it
  // where there are hashes or instruments. kInvalidConfig for what the device cannot do.
  static Result<std::unique_ptr<Trainer>> create(const Config& config, int threads,
                                                 Ranks& ranks = Ranks::alone(),
                                                 StartFrom from = StartFrom::kStart);
  static Result<std::unique_ptr<Trainer>> create(const Config& config, int threads,
                                                 std::unique_ptr<VecEnv> envs,
                                                 Ranks& ranks = Ranks::alone());

  // One iteration: a block collected, an update made. Nothing is allocated after the first, but
  // where shape_schedule changes the shape, by the recorder, between several ranks, for a device,
  // and on failure.
  Status iterate();

  bool finished() const { return clock_.global_step >= trained_steps_; }
  const RunClock& clock() const { return clock_; }
  const IterationReport& report() const { return report_; }
  const Config& config() const { return config_; }
  const ActorCritic& network() const { return network_; }
  const EnvSpec& spec() const { return envs_->spec(); }
  VecEnvTraits simulator() const { return envs_->traits(); }
  // The training device; null for the host's processor.
  const Device* device() const { return backend_->device(); }
  // The last one collected; or, after state_restored(), the next one, which has no content.
  const RolloutBlock& block() const { return block_; }
  const float* params() const { return learner_.params.data(); }  // [P]
  // As it is now, and changes with every iteration.
  Policy policy() const;
  std::int64_t episodes() const { return tracker_.episodes(); }  // ended since the run began
  // How many episodes the report's means are over.
  std::int64_t averaged_episodes() const { return tracker_.episodes_averaged(); }
  // Null when observations are not normalised.
  const ObsNormalizer* obs_normalizer() const { return obs_norm_ ? &*obs_norm_ : nullptr; }
  // Null when they are not, and where the critic reads nothing of its own.
  const ObsNormalizer* critic_normalizer() const { return critic_norm_ ? &*critic_norm_ : nullptr; }
  // Null when rewards are not scaled.
  const RewardNormalizer* reward_normalizer() const {
    return reward_norm_ ? &*reward_norm_ : nullptr;
  }
  ThreadPool& pool() { return pool_; }
  Ranks& ranks() { return backend_->ranks(); }
  const InstrumentSet& instruments() const { return instruments_; }
  // Of the last iteration; null unless config().hashes.
  const BlockHashes* hashes() const { return hasher_ ? &hasher_->hashes() : nullptr; }
  // Where the time of all iterations so far went.
  const StageSeconds& stage_seconds() const { return stage_seconds_; }

  // So many of the pool's threads work in each iteration from now on, instead of as many as were
  // fastest lately. Learning does not depend on it.
  void hold_threads(int threads) { active_threads_.hold(threads); }

  // recorder: null for none. It must outlive the trainer or be unset.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }

  // Mutable views of every bit that is needed to go on: parameters, moments, normalisers,
  // environments, episode statistics, counters.
  // Environments that do not save their state (VecEnvTraits) have no place in it.
  std::vector<TensorRef> state();
  // Has environments and device bring their part of state() up to date; call it before state() is
  // read.
  // Fails where other ranks have stepped environments since gather_environments().
  Status capture();
  // Brings here what environments of other ranks, or of a device, are in. Iterations do so where
  // the recorder or the instruments may ask, as the config has it. Nothing to do where they are
  // here.
  Status gather_environments();
  // All of the first rank's state and instruments' state, for a run that it has begun or restored.
  Status take_state_of_first();
  // What instruments have added up over the run, "instruments.<name>.<field>": learning does not
  // depend on it.
  std::vector<TensorRef> instrument_state();
  // The sums behind the report of the last block's episodes, "episodes.block". Learning does not
  // depend on them. Zeros: no block.
  std::vector<TensorRef> report_state();
  // Brings what is derived from it up to date; call it whenever state() was written into.
  // Environments that do not save their state begin new episodes, unless none were begun before.
  Status state_restored();

 private:
  Trainer(const Config& config, int threads, std::unique_ptr<VecEnv> envs, Ranks& ranks);

  // The machine can run it and has the memory.
  static Result<std::unique_ptr<Trainer>> create_checked(const Config& config, int threads,
                                                         std::unique_ptr<VecEnv> envs,
                                                         Ranks& ranks);

  ObsNormalizers normalizers();
  BackendSetup backend_setup(Ranks& ranks);
  Status begin_new_episodes();
  void apply_schedules();
  void follow_shape();
  Status collect();
  Status fill_block();
  const std::uint8_t* fillers() const;  // of the block; null: there are none
  void scale_rewards();
  void bootstrap_values();
  void compute_targets();
  Status update();
  bool is_measured(const RunClock& at) const;  // the iteration whose block ends there
  bool is_watched(const RunClock& at) const;   // by instruments that measure it
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
  ActorCritic network_;
  Learner learner_;
  RolloutBlock block_;
  std::optional<ObsNormalizer> obs_norm_, critic_norm_;
  std::optional<RewardNormalizer> reward_norm_;
  EpisodeTracker tracker_;
  StepSums step_sums_;
  std::unique_ptr<Actor> actor_;
  Collector collector_;
  std::unique_ptr<Backend> backend_;  // collects and learns; after all that it works with
  InstrumentSet instruments_;
  std::optional<BlockHasher> hasher_;
  RunClock clock_;
  std::int64_t trained_steps_;
  std::optional<std::size_t> phase_;  // of shape_schedule that all is shaped for
  Schedule learning_rate_;
  IterationReport report_;
  StageSeconds stage_seconds_;
  Recorder* recorder_ = nullptr;
  bool episodes_lost_ = false;  // state was restored but for the environments'
};

}  // namespace broadloom
