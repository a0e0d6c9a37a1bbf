// A trainer's device (train/device.h) on a side (cuda/sides), which holds environments, block,
// parameters and moments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/rollout/block_exchange.h"
#include "broadloom/train/device.h"
#include "cuda/collect/block_copies.h"
#include "cuda/collect/device_collector.h"
#include "cuda/collect/env_stepper.h"
#include "cuda/collect/host_stepper.h"
#include "cuda/collect/simulator_stepper.h"
#include "cuda/learn/device_update.h"
#include "cuda/learn/learning_ways.h"
#include "cuda/refusals.h"
#include "cuda/sides/counting_side.h"

namespace broadloom::cuda {

// Way: PpoWay or PqnWay.
template <class Side, class Way>
class DeviceLearning final : public Device, private StepWatcher<typename Way::Loss::Sums> {
 public:
  // setup: must have passed check_device(). stepper: the environments of the setup, on the side.
  DeviceLearning(std::unique_ptr<Side> side, const DeviceSetup& setup,
                 std::unique_ptr<EnvStepper> stepper)
      : side_(std::move(side)),
        ranks_(setup.ranks),
        exchange_(setup.ranks),
        name_(side_->name()),
        way_(setup.config),
        scales_rewards_(setup.config.norm_reward || setup.config.reward_scale != 1.0),
        stepped_by_(stepped_by(setup.envs)),
        outputs_(setup.network.shape().action_outputs),
        collector_(*side_, stepped_by_ == SteppedBy::kKernels ? unstacked(setup.envs) : setup.envs,
                   std::move(stepper), device_network(setup.network),
                   {shapes_of(setup.config), frames_of(setup.envs.spec().observation),
                    reads_own(setup.network), setup.normalizers,
                    run_block_sizes(setup.config.of_phase(0), setup.envs).with_means, setup.ranks}),
        update_(*side_, setup.network, way_.loss(), way_.minibatches(), way_.norm(),
                cuts_of(setup.config), setup.ranks),
        rnd_(rnd_of(*side_, setup)),
        value_head_(setup.network.value_head()),
        values_(setup.values) {
    if constexpr (requires { update_.loss().units; }) {
      if (values_ != nullptr)
        update_.loss().units = units_ = side_->template allocate<LearntUnits>(1);
    }
    update_.set_fault(collector_.fault());
    update_.set_rnd(rnd_.get());
  }

  // The first error on the side.
  Status status() const { return side_->status(); }

  const std::string& name() const override { return name_; }
  std::size_t memory_bytes() const override { return side_->allocated(); }

  Status take_state(const Learner& learner, VecEnv& envs) override {
    failed_ = {};
    has_begun_ = false;
    update_.set_params(learner.params.data());
    update_.set_moments(learner.adam_m.data(), learner.adam_v.data());
    collector_.take_envs(envs);
    return status();
  }
  Status take_environments(VecEnv& envs) override {
    collector_.take_envs(envs);
    return status();
  }
  Status bring_moments(Learner& learner) override {
    BROADLOOM_TRY(failed_);  // the moments are those of the failed update
    update_.bring_moments(learner.adam_m.data(), learner.adam_v.data());
    return status();
  }
  Status bring_environments(VecEnv& envs) override {
    BROADLOOM_TRY(collector_.bring_envs(envs));
    // Simulators have brought more than what append_state() lists.
    return stepped_by_ == SteppedBy::kKernels ? envs.state_restored() : Status();
  }
  bool steps_on_host() const override { return stepped_by_ == SteppedBy::kHost; }

  void reshape(const Config& now) override {
    collector_.reshape(shape_of(now));
    update_.reshape(cut_of(now));
  }

  Status begin_run(const VecEnv& envs, ObsNormalizers normalizers) override {
    return rnd_ == nullptr ? Status() : rnd_->statistics().begin_run(envs, normalizers.policy);
  }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    if (rnd_ != nullptr) rnd_->statistics().append_state(prefix, out);
  }
  void state_restored() override {
    if (rnd_ != nullptr) rnd_->statistics().state_restored();
  }

  void begin_block(double progress) override { way_.begin_block(progress, update_.loss()); }

  Status collect(std::int64_t first_step, BlockParts parts, RolloutBlock& block) override {
    BROADLOOM_TRY(failed_);
    if (has_begun_) {
      return {ErrorKind::kInvalidConfig,
              "device = cuda: an update was begun and never asked for; take_state() first"};
    }
    Status collected = collector_.collect_own(way_.acting(outputs_), update_.params(), first_step);
    if (together()) collected = share_rows(std::move(collected), first_step, block);
    BROADLOOM_TRY(collected);
    collector_.finish_block();
    parts_ = parts;
    if (rnd_ != nullptr) look(block);
    bring_block(block);
    ends_[0] = block.terminated.data();
    ends_[1] = block.truncated.data();
    if (!waits_for_host()) compute_advantages(block);
    collector_.bring_sums();
    side_->mark();
    return status();
  }

  Status await_block(std::int64_t first_step) override {
    side_->wait_marked();
    const Status status = collector_.take_sums(first_step);
    if (!status.ok()) has_begun_ = false;  // no update uses this block
    if (status.ok() && rnd_ != nullptr) rnd_->take_sums();
    if (!status.ok()) return status;
    failed_ = collector_.took_block(ends_[0], ends_[1]);  // an update may have begun
    return failed_;
  }

  void begin_update(std::uint64_t seed, std::int64_t iteration, const Learner& learner) override {
    if (waits_for_host() || way_.decide() || together()) {
      return update_.draw(seed, iteration);  // the host's part of the work, done early
    }
    update_.begin(collector_.block(), seed, iteration, way_, learner.learning_rate,
                  learner.adam_steps);
    has_begun_ = true;
  }

  void take_block(const Learner&, RolloutBlock& block) override {
    if (!waits_for_host()) return;  // the block already has its advantages
    if (scales_rewards_) collector_.set_rewards(block.rewards.data());
    if (values_ != nullptr) {
      collector_.denormalise_values(values_->unit());
      bring_values(block);
    }
    compute_advantages(block);
    if (rnd_ != nullptr) compute_intrinsic_advantages(block);
    side_->wait();
  }

  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override {
    iteration_ = iteration;
    if (values_ != nullptr) take_values(block, learner);
    if (!has_begun_) {
      update_.begin(collector_.block(), seed, iteration, way_, learner.learning_rate,
                    learner.adam_steps, observer_ == nullptr ? nullptr : this);
    }
    has_begun_ = false;
    params_.resize(learner.params.size());
    double rate = 0.0;
    const auto steps = update_.finish(params_.data(), rate);
    failed_ = ranks_.agree(status());  // others have learnt from a lost device's gradients
    BROADLOOM_TRY(failed_);
    failed_ = take_in(steps, block);
    BROADLOOM_TRY(failed_);
    std::copy(params_.begin(), params_.end(), learner.params.begin());
    learner.learning_rate = rate;
    learner.adam_steps += static_cast<std::int64_t>(steps.size());
    return status();
  }

  int epochs() const override { return epochs_; }
  void visit_numbers(const NumberVisitor& visit) const override {
    stats_.visit(visit);
    if (rnd_ != nullptr) rnd_->numbers().visit(visit);
  }
  void set_observer(UpdateObserver* observer) override { observer_ = observer; }

 private:
  using Step = StepReport<typename Way::Loss::Sums>;

  // Whether the critic reads observations of its own.
  static bool reads_own(const ActorCritic& network) {
    return network.shape().critic_observation_size > 0;
  }
  // As on the host, only stacks of bytes are taken apart.
  static FrameLayout frames_of(const Space& seen) {
    return seen.dtype == Dtype::kU8 ? seen.frame_layout() : FrameLayout{};
  }
  static BlockShape shape_of(const Config& now) { return {now.num_envs, now.num_steps}; }
  static MinibatchCut cut_of(const Config& now) {
    return {static_cast<int>(now.batch_size()), static_cast<int>(now.minibatch_count())};
  }
  // The shapes of all phases of a run.
  static std::vector<BlockShape> shapes_of(const Config& config) {
    std::vector<BlockShape> shapes;
    for (std::size_t p = 0; p < config.phase_count(); ++p) {
      shapes.push_back(shape_of(config.of_phase(p)));
    }
    return shapes;
  }
  static std::vector<MinibatchCut> cuts_of(const Config& config) {
    std::vector<MinibatchCut> cuts;
    for (std::size_t p = 0; p < config.phase_count(); ++p) {
      cuts.push_back(cut_of(config.of_phase(p)));
    }
    return cuts;
  }

  static std::unique_ptr<DeviceRnd<Side>> rnd_of(Side& side, const DeviceSetup& setup) {
    const Config& config = setup.config;
    if (config.algorithm != "ppo_rnd") return nullptr;
    return std::make_unique<DeviceRnd<Side>>(side, ppo_rnd_settings(config, setup.envs.spec()),
                                             shape_of(config), cut_of(config), setup.ranks);
  }

  // Whether the host has a part between a block and its advantages, or its update: it scales
  // rewards, or keeps the statistics of values.
  bool waits_for_host() const { return scales_rewards_ || rnd_ != nullptr || values_ != nullptr; }
  // Takes a block's values and targets into the statistics, which may change the value head.
  void take_values(const RolloutBlock& block, Learner& learner) {
    values_->take(block, value_head_, learner.params.data());
    side_->copy_in(units_, &values_->learnt(), 1);
    update_.set_params(learner.params.data());
  }

  // Takes the numbers of an update, unless one of its steps should not have been taken.
  Status take_in(const std::vector<Step>& steps, const RolloutBlock& block) {
    stats_ = {};
    if (rnd_ != nullptr) rnd_->begin_numbers();
    const int per_epoch = update_.minibatches().count();
    for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
      const Step& record = steps[static_cast<std::size_t>(step)];
      const MinibatchReport minibatch = report_of(step / per_epoch, step % per_epoch, record);
      if (rnd_ != nullptr) BROADLOOM_TRY(rnd_->take_in(static_cast<std::size_t>(step)));
      BROADLOOM_TRY(check_minibatch(minibatch, record.sums, iteration_));
      stats_.add(minibatch, record.sums);
    }
    stats_.finish(static_cast<int>(steps.size()));
    way_.complete(stats_);
    if constexpr (requires { stats_.int_value_loss; }) {
      if (rnd_ != nullptr) rnd_->finish_numbers(block, stats_.int_value_loss);
    }
    epochs_ = static_cast<int>(steps.size()) / per_epoch;
    return {};
  }

  MinibatchReport report_of(int epoch, int m, const Step& step) const {
    MinibatchReport report;
    report.epoch = epoch;
    report.minibatch = m;
    report.samples = update_.minibatches().size(m);
    report.norm = step.norms.network;
    report.clipped_norm = step.norms.clipped;
    return report;
  }

  void on_batch(const Step& batch, std::span<const float> gradient) override {
    MinibatchReport report = report_of(0, 0, batch);
    report.samples = update_.minibatches().samples;
    report.gradient = gradient;
    Way::describe(batch.sums, report);
    observer_->on_batch(report);
  }
  // Reports only steps that may be taken, judged by the network's own gradient.
  void on_step(int epoch, int m, const Step& step, std::span<const float> gradient) override {
    MinibatchReport report = report_of(epoch, m, step);
    if (!check_minibatch(report, step.sums, iteration_).ok()) return;
    report.gradient = gradient;
    Way::describe(step.sums, report);
    observer_->on_minibatch(report);
  }

  void compute_advantages(RolloutBlock& block) {
    collector_.compute_advantages(way_.settings.gamma, way_.settings.gae_lambda,
                                  way_.settings.truncation_mode, way_.gae_weights());
    bring(collector_.block().advantages, block.advantages);
  }

  // Computes intrinsic rewards and their values.
  void look(RolloutBlock& block) {
    const DeviceRollout& kept = collector_.block();
    rnd_->look(kept);
    rnd_->bring_sums();
    bring(kept.int_rewards, block.int_rewards);
  }
  void compute_intrinsic_advantages(RolloutBlock& block) {
    rnd_->take_rewards(block);
    const PpoRndSettings& settings = rnd_->settings();
    collector_.add_intrinsic_advantages({settings.rnd.int_gamma, settings.ppo.gae_lambda,
                                         rnd_->statistics().reward_scale(),
                                         settings.ppo.loss.ext_coef, settings.ppo.loss.int_coef});
    bring(collector_.block().int_advantages, block.int_advantages);
  }

  bool together() const { return ranks_.size() > 1; }
  // Passes the rows of each rank's environments to the others, if all ranks collected without a
  // fault. They go through the host's block. collected: of this rank.
  Status share_rows(Status collected, std::int64_t first_step, RolloutBlock& block) {
    const DeviceRollout& kept = collector_.block();
    if (collected.ok()) {
      each_collected(kept, block, bringing());
      collected = collector_.await_own(first_step);
    }
    BROADLOOM_TRY(ranks_.agree(collected, collector_.error_order()));
    for (const BlockStage stage : {BlockStage::kCollect, BlockStage::kBootstrap}) {
      add_arrays(block, stage, collector_.cut().env_bounds(), exchange_);
    }
    exchange_.finish();
    BROADLOOM_TRY(ranks_.status());
    each_collected(kept, block, [this](auto* rows, auto* here, std::size_t count) {
      side_->copy_in(here, rows, count);
    });
    side_->wait();  // frees the pages of both copies
    return {};
  }

  // Copies to the host; the data is there once the side has waited.
  template <class Number, class Numbers>
  void bring(const Number* source, Numbers& target) {
    side_->copy_out(target.data(), source, target.size());
  }
  auto bringing() {
    return [this](auto* target, const auto* source, std::size_t count) {
      side_->copy_out(target, source, count);
    };
  }
  void bring_block(RolloutBlock& block) {
    const DeviceRollout& kept = collector_.block();
    if (parts_ == BlockParts::kAll) return each_collected(kept, block, bringing());
    bring(kept.rewards, block.rewards);
    bring(kept.values, block.values);
    bring(kept.terminated, block.terminated);
    bring(kept.truncated, block.truncated);
    if (kept.outcomes != nullptr) bring(kept.outcomes, block.ends);
    if (rnd_ != nullptr) bring(kept.int_values, block.int_values);
  }
  void bring_values(RolloutBlock& block) {
    const DeviceRollout& kept = collector_.block();
    bring(kept.values, block.values);
    if (parts_ != BlockParts::kAll) return;
    bring(kept.last_values, block.last_values);
    bring(kept.final_values, block.final_values);
  }

  std::unique_ptr<Side> side_;  // outlives the objects on it
  Ranks& ranks_;
  Exchange exchange_;
  std::string name_;
  Way way_;
  bool scales_rewards_;  // the host scales the collected rewards
  SteppedBy stepped_by_;
  int outputs_;  // of the policy
  DeviceCollector<Side> collector_;
  DeviceUpdate<Side, typename Way::Loss> update_;
  std::unique_ptr<DeviceRnd<Side>> rnd_;  // null: no intrinsic rewards
  LinearSlice value_head_;
  ValueNormalizer* values_;       // null: the critic's outputs are values
  LearntUnits* units_ = nullptr;  // of the present update, on the side
  BlockParts parts_ = BlockParts::kForReports;
  typename Way::Stats stats_;
  const std::uint8_t* ends_[2] = {};  // flags of the block that was collected, on the host
  std::vector<float> params_;         // [P] after an update that may have failed
  bool has_begun_ = false;            // whether the present block's update has begun
  int epochs_ = 0;
  std::int64_t iteration_ = 0;
  Status failed_;  // of an update, whose parameters must not be used
  UpdateObserver* observer_ = nullptr;
};

template <class Way, class Side>
Result<std::unique_ptr<Device>> make_learning(std::unique_ptr<Side> side, const DeviceSetup& setup,
                                              std::unique_ptr<EnvStepper> stepper) {
  auto made =
      std::make_unique<DeviceLearning<Side, Way>>(std::move(side), setup, std::move(stepper));
  BROADLOOM_TRY(made->status());
  return std::unique_ptr<Device>(std::move(made));
}

// T of the longest block of a run.
inline int most_steps(const Config& config) {
  int most = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    most = std::max(most, config.of_phase(p).num_steps);
  }
  return most;
}

// Makes the device without a check of its memory.
template <class Side>
Result<std::unique_ptr<Device>> make_unchecked(std::unique_ptr<Side> side,
                                               const DeviceSetup& setup) {
  std::unique_ptr<EnvStepper> stepper;
  const SteppedBy stepper_kind = stepped_by(setup.envs);
  if (stepper_kind == SteppedBy::kKernels) {
    stepper = make_stepper(*side, setup.envs);
  } else if (stepper_kind == SteppedBy::kSimulator) {
    stepper = std::make_unique<SimulatorStepper<Side>>(*side, setup.envs, setup.config.seed);
  } else {
    const ObservationType critic = setup.network.shape().critic_observation_size > 0
                                       ? observation_type(setup.envs.spec().critic_observation)
                                       : ObservationType{};
    stepper = std::make_unique<HostStepper<Side>>(*side, setup.envs, critic, setup.pool,
                                                  setup.config.seed, most_steps(setup.config));
  }
  return setup.network.shape().action_values
             ? make_learning<PqnWay>(std::move(side), setup, std::move(stepper))
             : make_learning<PpoWay>(std::move(side), setup, std::move(stepper));
}

// Makes a device on a side. setup: must have passed check_device().
template <class Side>
Result<std::unique_ptr<Device>> make_device_on(std::unique_ptr<Side> side,
                                               const DeviceSetup& setup) {
  const SideShape shape = side->shape();
  const DeviceNetwork network =
      learning_network(setup.network, PpoKernelLoss{ppo_settings(setup.config).loss});
  const auto acts = [&](const DeviceBody& body) {
    return tensor_room_within(shape.shared_bytes, body, kTensorRows).wanted_bytes() <=
           shape.shared_bytes;
  };
  const bool fits = TensorTile::fit(network, shape.shared_bytes, kTensorRows).rows > 0 &&
                    acts(network.actor) && acts(network.valuer());
  BROADLOOM_TRY(check_tensor_cores(setup, shape.has_tf32, fits));
  std::size_t bytes = 0;
  BROADLOOM_TRY(make_unchecked(std::make_unique<CountingSide>(bytes, shape), setup).status());
  const std::size_t free = side->free_bytes();
  BROADLOOM_TRY(side->status());
  BROADLOOM_TRY(check_device_memory(setup, bytes, free));
  return make_unchecked(std::move(side), setup);
}

}  // namespace broadloom::cuda
