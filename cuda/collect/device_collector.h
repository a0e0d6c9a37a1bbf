// Environments and a block on a side (cuda/sides); kernels collect the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/ranks.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/rollout/block_shape.h"
#include "broadloom/rollout/rank_cut.h"
#include "cuda/collect/advantages_kernel.h"
#include "cuda/collect/collect_kernels.h"
#include "cuda/collect/denormalise_kernel.h"
#include "cuda/collect/env_stepper.h"
#include "cuda/env/device_normalizer.h"

namespace broadloom::cuda {

struct RolloutOptions {
  std::vector<BlockShape> shapes;   // all shapes that blocks may have, the initial one first
  FrameLayout frames = {};          // of the frame stacks that policies see
  bool has_critic_rows = false;     // whether the critic reads observations of its own
  ObsNormalizers normalizers = {};  // null: observations are used as they are
  bool with_means = false;          // of the policy
  Ranks& ranks = Ranks::alone();    // processes that collect the block together
};

template <class Side>
class DeviceCollector {
 public:
  // Collects blocks of environments like `like`. Policies see them through `network`. stepper: the
  // same kind and number of environments, on the side. If options.frames has a layout, `like` shows
  // whole stacks, or single frames, which are stacked here. side, `like` and the normalizer must
  // outlive this object. Stacks made here are empty before take_envs().
  DeviceCollector(Side& side, const VecEnv& like, std::unique_ptr<EnvStepper> stepper,
                  const DeviceNetwork& network, const RolloutOptions& options)
      : side_(side),
        network_(network),
        like_(like),
        ranks_(options.ranks),
        cut_(cut_of(options.shapes[0])),
        normalizer_(side, options.normalizers.policy, options.shapes),
        critic_normalizer_(side, options.normalizers.critic, options.shapes),
        envs_(std::move(stepper)),
        value_runs_(side, network.valuer(), most_values(like.num_envs(), options.shapes)) {
    make_block(like.spec(), options);
    make_tiles(like.num_envs());
    reshape(options.shapes[0]);
    observe();
  }

  // Sets the shape of later blocks. Environments beyond its N keep their state.
  void reshape(const BlockShape& shape) {
    block_.T = shape.num_steps;
    block_.N = shape.num_envs;
    block_.S = like_.max_truncations(shape.num_steps);
    cut_ = cut_of(shape);
    block_.first_env = cut_.envs().begin;
    block_.end_env = cut_.envs().end;
    block_.observations.frames = is_kept_once(block_.frames, shape)
                                     ? FramesOnce{block_.frames, shape.num_envs, ages_}
                                     : FramesOnce{};
    normalizer_.reshape(shape);
    critic_normalizer_.reshape(shape);
  }

  // Copies the state of the host's environments to the side; bring_envs() copies it back.
  void take_envs(VecEnv& envs) {
    envs_->take(envs);
    observe();
    each_stack(envs, [this](std::uint8_t* theirs, std::size_t bytes) {
      side_.copy_in(block_.now.bytes, theirs, bytes);
    });
  }
  Status bring_envs(VecEnv& envs) {
    each_stack(envs, [this](std::uint8_t* theirs, std::size_t bytes) {
      side_.copy_out(theirs, block_.now.bytes, bytes);
    });
    return envs_->bring(envs);
  }

  // Collects a block from the run's step first_step, with all values. acting: PolicyActing or
  // EpsilonActing. An error is of environments without kernels, or the fault before it.
  template <class Acting>
  Status collect(const Acting& acting, const float* params, std::int64_t first_step) {
    BROADLOOM_TRY(collect_own(acting, params, first_step));
    finish_block();
    return {};
  }

  // The two halves of collect(). Between them, ranks pass the rows of their own environments, with
  // values but not normalised, to each other.
  template <class Acting>
  Status collect_own(const Acting& acting, const float* params, std::int64_t first_step) {
    brought_fault_ = kNoFault;
    normalizer_.begin_block();
    critic_normalizer_.begin_block();
    if (block_.own_envs() > 0) BROADLOOM_TRY(step_own(acting, params, first_step));
    if (block_.old_log_std != nullptr && network_.has_log_std) {
      side_.run(KeepLogStdKernel{network_, params, block_.old_log_std},
                shape_for_rows(network_.pairs.count));
    }
    const bool is_own = block_.critic.are_there();
    const CriticRows& own = block_.critic;
    value_all(params, block_.read_by(1), is_own ? own.now : block_.now,
              is_own ? own.final_observations : block_.final_observations,
              is_own ? critic_normalizer_.scale() : normalizer_.scale());
    if (network_.values > 1) keep_last_observations();
    find_first_fault();
    return {};
  }
  void finish_block() {
    normalise(normalizer_, block_.observations.floats, block_.D);
    normalise(critic_normalizer_, block_.critic.observations.floats, block_.critic.D);
  }

  // Waits for the rows of collect_own(), and fails as take_sums() does.
  Status await_own(std::int64_t first_step) {
    side_.copy_out(&brought_fault_, first_fault_, 1);
    side_.wait();
    BROADLOOM_TRY(side_.status());
    return brought_status(first_step);
  }
  // Sort key of the error of collect_own() or await_own() within the block, as on the host.
  std::uint64_t error_order() const {
    if (brought_fault_ != kNoFault) return brought_fault_;
    return fault_order(envs_->last_step(), FaultPlace::kStep, block_.first_env);
  }
  // The environments of each rank.
  const RankCut& cut() const { return cut_; }

  // Copies to the host: the first fault, and the block's sums for the normaliser.
  void bring_sums() {
    side_.copy_out(&brought_fault_, first_fault_, 1);
    normalizer_.bring_sums();
    critic_normalizer_.bring_sums();
  }
  // Call it once the copies have arrived. Fails with the error that the host's collector would
  // give, at the first number that is not finite, and then adds nothing. first_step: of the block.
  Status take_sums(std::int64_t first_step) {
    BROADLOOM_TRY(side_.status());
    BROADLOOM_TRY(brought_status(first_step));
    normalizer_.take_sums();
    critic_normalizer_.take_sums();
    return {};
  }
  // Tells the environments of end flags [T, N] on the host. An error is the environments'.
  Status took_block(const std::uint8_t* terminated, const std::uint8_t* truncated) {
    return envs_->took_block(block_.T, terminated, truncated);
  }
  // The first fault, on the side.
  const std::uint64_t* fault() const { return first_fault_; }

  // Replaces the collected rewards by [T, N] of the host.
  void set_rewards(const float* rewards) {
    side_.copy_in(block_.rewards, rewards,
                  static_cast<std::size_t>(block_.T) * static_cast<std::size_t>(block_.N));
  }

  // Turns all values of the block from outputs of the critic into values.
  void denormalise_values(const ValueUnit& unit) {
    const auto denormalise = [&](float* values, int count) {
      if (count > 0) side_.run(DenormaliseKernel{unit, count, values}, shape_for_rows(count));
    };
    denormalise(block_.values, block_.T * block_.N);
    denormalise(block_.last_values, block_.N);
    denormalise(block_.final_values, block_.N * block_.S);
  }

  void compute_advantages(double gamma, double gae_lambda, TruncationMode mode,
                          GaeWeights weights = GaeWeights::kGeometric) {
    const Discounts discounts = Discounts::make(gamma, gae_lambda, weights);
    side_.run(AdvantagesKernel{block_.T, block_.N, block_.S, block_.rewards, block_.values,
                               block_.terminated, block_.truncated, block_.last_values,
                               block_.truncations, block_.final_values, discounts, mode,
                               block_.advantages},
              shape_for_rows(block_.N));
  }

  // Call it after compute_advantages(): adds advantages of intrinsic rewards, times `scale`, and
  // joins both for the policy. Intrinsic rewards form one stream that no episode end cuts.
  struct IntrinsicRule {
    double gamma, gae_lambda, scale, ext_coef, int_coef;
  };
  void add_intrinsic_advantages(const IntrinsicRule& rule) {
    const Discounts discounts = Discounts::make(rule.gamma, rule.gae_lambda);
    side_.run(IntrinsicAdvantagesKernel{block_.T, block_.N, block_.int_rewards,
                                        static_cast<float>(rule.scale), block_.int_values,
                                        block_.last_int_values, discounts, block_.advantages,
                                        rule.ext_coef, rule.int_coef, block_.int_advantages,
                                        block_.learnt},
              shape_for_rows(block_.N));
  }

  const DeviceRollout& block() const { return block_; }

 private:
  void observe() { envs_->observe(block_.shown); }

  RankCut cut_of(const BlockShape& shape) const {
    return {ShardPlan(shape.num_envs, kTileRows), ranks_};
  }

  template <class Acting>
  Status step_own(const Acting& acting, const float* params, std::int64_t first_step) {
    BROADLOOM_TRY(envs_->begin_block(block_, first_step));
    const KernelShape shape =
        shape_of_rows(network_.actor, acting_room_, acting_room_.rows, block_.own_envs());
    const int at_once = envs_->steps_at_once(block_.T);
    for (int t = 0; t < block_.T; t += at_once) {
      const int end = std::min(t + at_once, block_.T);
      const Status stepped =
          envs_->step(acting,
                      {network_, params, block_, acting_tiles_, acting_places_, normalizer_.scale(),
                       critic_normalizer_.scale(), first_step, t, end},
                      shape);
      if (stepped.ok()) continue;
      find_first_fault();
      BROADLOOM_TRY(await_own(first_step));  // a fault comes before what ended the steps
      return stepped;
    }
    return {};
  }

  void find_first_fault() {
    side_.run(FirstFaultKernel{block_.faults + block_.first_env, block_.own_envs(), first_fault_},
              FirstFaultKernel::shape());
  }

  // The error of the fault that was brought.
  Status brought_status(std::int64_t first_step) {
    if (brought_fault_ == kNoFault) return {};
    const FaultLocation fault = decode_fault(brought_fault_);
    if (fault.place == FaultPlace::kTruncation) {
      return too_many_truncations(like_.spec(), fault.env, first_step + fault.step, block_.S);
    }
    return fault_status(brought_fault_, first_step, group_of(fault));
  }
  // The environment was not stepped any more, so its row is still there; a simulator on the device
  // may have stepped on.
  std::string group_of(const FaultLocation& fault) {
    const Space& space = like_.spec().observation;
    const bool is_seen = fault.place == FaultPlace::kObservation;
    if (space.groups.empty() || !(is_seen || fault.place == FaultPlace::kFinalObservation))
      return "";
    std::vector<float> row(static_cast<std::size_t>(space.size));
    const DeviceObservations& rows = is_seen ? block_.shown : block_.ends;
    side_.copy_out(row.data(), rows.floats + static_cast<std::size_t>(fault.env) * row.size(),
                   row.size());
    side_.wait();
    return group_of_fault(space, row);
  }

  // Calls f(stacks [N, D], bytes) if stacks are made here. They come last in the state of the
  // host's environments.
  template <class F>
  void each_stack(VecEnv& envs, F&& f) const {
    if (!block_.shows_frames()) return;
    for (const TensorRef& tensor : tensors_of(envs)) {
      if (tensor.name == "envs.frames") f(static_cast<std::uint8_t*>(tensor.data), tensor.bytes());
    }
  }

  // Values of the rows that the valuer reads. The block's are known if it acted, too.
  void value_all(const float* params, const DeviceObservations& all, const DeviceObservations& now,
                 const DeviceObservations& finals, const ObservationScale& scale) {
    if (network_.sides() == 2) {
      values(params, all, block_.T * block_.N, scale, block_.values, block_.int_values);
    }
    values(params, now, block_.N, scale, block_.last_values, block_.last_int_values);
    // Slots without a final observation are also valued, but not read. N rows at a time, to fit the
    // tile memory.
    const std::size_t n = static_cast<std::size_t>(block_.N),
                      width = n * network_.valuer().row_in();
    for (std::size_t s = 0; s < static_cast<std::size_t>(block_.S); ++s) {
      values(params, finals.offset_by(s * width), block_.N, {}, block_.final_values + s * n,
             nullptr);
    }
  }
  void values(const float* params, const DeviceObservations& rows, int count,
              const ObservationScale& scale, float* values_out, float* int_values) {
    value_runs_.run(count, [&](const RowRun& run) {
      return ValuesKernel{network_, params, rows, run, scale, values_out, int_values};
    });
  }

  // Keeps the observations that follow the block, as networks see them.
  void keep_last_observations() {
    block_.now.visit([&](auto* now) {
      using Number = std::remove_pointer_t<decltype(now)>;
      normalizer_.normalise(now, static_cast<std::size_t>(block_.N), block_.D,
                            block_.last_observations.as<Number>());
    });
  }
  // Replaces raw observations by those that networks saw, once all are collected.
  void normalise(DeviceNormalizer<Side>& normalizer, float* seen, int D) {
    if (normalizer.scale().mean == nullptr) return;
    normalizer.add_up(FloatRows{seen}, false, block_.T, block_.N);
    normalizer.normalise(
        seen, static_cast<std::size_t>(block_.T) * static_cast<std::size_t>(block_.N), D, seen);
  }

  // As on the host: a block of one step holds no frame twice.
  static bool is_kept_once(const FrameLayout& frames, const BlockShape& shape) {
    return frames.count > 1 && shape.num_steps > 1;
  }

  // The largest sizes over all shapes.
  struct Room {
    std::size_t transitions = 0, finals = 0;
    std::size_t seen = 0;  // numbers of all observations
    std::size_t ages = 0;  // of stacks whose frames are stored once
  };
  Room room_for(const std::vector<BlockShape>& shapes, const FrameLayout& frames) const {
    Room room;
    for (const BlockShape& shape : shapes) {
      const std::size_t n = static_cast<std::size_t>(shape.num_envs);
      const std::size_t all = n * static_cast<std::size_t>(shape.num_steps);
      const bool once = is_kept_once(frames, shape);
      const std::size_t older = once ? n * static_cast<std::size_t>(frames.count - 1) : 0;
      const int D = network_.observation_size;
      const std::size_t width = static_cast<std::size_t>(once ? D / frames.count : D);
      const std::size_t S = static_cast<std::size_t>(like_.max_truncations(shape.num_steps));
      room.transitions = std::max(room.transitions, all);
      room.finals = std::max(room.finals, n * S);
      room.seen = std::max(room.seen, (all + older) * width);
      room.ages = std::max(room.ages, once ? all : 0);
    }
    return room;
  }

  static int most_values(int num_envs, const std::vector<BlockShape>& shapes) {
    int most = num_envs;
    for (const BlockShape& shape : shapes) most = std::max(most, shape.batch());
    return most;
  }

  void make_tiles(int num_envs) {
    const SideShape shape = side_.shape();
    acting_room_ = forward_room(network_.actor, collect_rows(num_envs, shape.multiprocessors),
                                shape.shared_bytes);
    const int blocks =
        shape_of_rows(network_.actor, acting_room_, acting_room_.rows, num_envs).blocks;
    acting_tiles_ = acting_room_.make(side_, static_cast<std::size_t>(blocks));
    acting_places_ = TilePlaces(network_.actor, acting_room_.rows, TilePlaces::kForward);
  }

  // Allocates the arrays; reshape() sets the shape.
  void make_block(const EnvSpec& spec, const RolloutOptions& options) {
    const FrameLayout& frames = options.frames;
    const int D = network_.observation_size, A = spec.action_size(), F = spec.observation_size();
    const Room room = room_for(options.shapes, frames);
    const std::size_t envs = static_cast<std::size_t>(like_.num_envs()), all = room.transitions;
    const auto floats = [&](std::size_t count) { return side_.template allocate<float>(count); };
    const auto bytes = [&](std::size_t count) {
      return side_.template allocate<std::uint8_t>(count);
    };
    const auto numbers_of = [&](const Space& seen, std::size_t count) {
      return seen.dtype == Dtype::kU8 ? DeviceObservations::make(bytes(count), seen.full_scale())
                                      : DeviceObservations::make(floats(count), seen.full_scale());
    };
    const auto numbers = [&](std::size_t count) { return numbers_of(spec.observation, count); };
    const auto rows = [&](std::size_t count, int width) {
      return numbers(count * static_cast<std::size_t>(width));
    };
    const auto critic_rows = [&](std::size_t count) {
      return numbers_of(spec.critic_observation,
                        count * static_cast<std::size_t>(spec.critic_observation.size));
    };
    const DeviceObservations now = rows(envs, D), shown = F < D ? rows(envs, F) : now;
    const auto intrinsic = [&](std::size_t count) {
      return network_.values > 1 ? floats(count) : nullptr;
    };
    float* const advantages = floats(all);
    if (room.ages > 0) ages_ = bytes(room.ages);
    block_ = {.T = 0,
              .N = 0,
              .D = D,
              .A = A,
              .S = 0,
              .first_env = 0,
              .end_env = 0,
              .frames = frames,
              .observations = numbers(room.seen),
              .actions = floats(all * A),
              .log_probs = floats(all),
              .values = floats(all),
              .rewards = floats(all),
              .means = options.with_means ? floats(all * network_.outputs) : nullptr,
              .old_log_std = options.with_means ? floats(A) : nullptr,
              .terminated = bytes(all),
              .truncated = bytes(all),
              .outcomes = spec.names_success ? side_.template allocate<EpisodeEnd>(all) : nullptr,
              .truncations = side_.template allocate<int>(envs),
              .final_observations = rows(room.finals, D),
              .last_values = floats(envs),
              .final_values = floats(room.finals),
              .advantages = advantages,
              .now = now,
              .shown = shown,
              .ends = rows(envs, F),
              .clipped = floats(envs * A),
              .faults = side_.template allocate<std::uint64_t>(envs),
              .last_observations = rows(network_.values > 1 ? envs : 0, D),
              .int_values = intrinsic(all),
              .last_int_values = intrinsic(envs),
              .int_rewards = intrinsic(all),
              .int_advantages = intrinsic(all),
              .learnt = network_.values > 1 ? floats(all) : advantages,
              .critic = {},
              .choices = {}};
    const std::vector<int> options_of = spec.action.choices();
    ActionChoices& choices = block_.choices;
    choices.count = static_cast<int>(options_of.size());
    choices.options = put_on(side_, options_of.data(), options_of.size());
    choices.M = spec.action.mask_size();
    if (choices.M > 0) {
      choices.valid = bytes(all * static_cast<std::size_t>(choices.M));
      choices.valid_now = bytes(envs * static_cast<std::size_t>(choices.M));
    }
    if (options.has_critic_rows) {
      block_.critic = {spec.critic_observation.size, critic_rows(all), critic_rows(room.finals),
                       critic_rows(envs), critic_rows(envs)};
    }
    first_fault_ = side_.template allocate<std::uint64_t>(1);
  }

  Side& side_;
  DeviceNetwork network_;
  const VecEnv& like_;
  Ranks& ranks_;
  RankCut cut_;
  DeviceNormalizer<Side> normalizer_, critic_normalizer_;
  std::unique_ptr<EnvStepper> envs_;
  DeviceRollout block_;
  std::uint8_t* ages_ = nullptr;  // of stacks whose frames are stored once
  TileRoom acting_room_{};
  TileMemory acting_tiles_{};
  TilePlaces acting_places_{};
  RowRuns<Side> value_runs_;
  std::uint64_t* first_fault_ = nullptr;  // of the block
  std::uint64_t brought_fault_ = kNoFault;
};

}  // namespace broadloom::cuda
