// Environments that the host steps, for a block on a side (cuda/sides): simulators of others, and
// those of the library without kernels.
//
// The side chooses actions and keeps the block; the host steps, or plays the block by one call.
// Each step copies actions [N, A] to the host, waits for them once, and copies observations,
// rewards and end flags to the side. So the bits are those of the host's collector
// (rollout/collector.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/block_player.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/rollout/collect_fault.h"
#include "broadloom/rollout/observations.h"
#include "cuda/collect/env_stepper.h"

namespace broadloom::cuda {

// Calls of environments that the host steps, with rows for all of them. Threads step parts of them,
// unless a simulator steps whole batches.
class HostRows {
 public:
  // like: of the number and kind of environments. critic_type: of observations that only the critic
  // reads; empty: it reads none. most_steps: of a block.
  HostRows(const VecEnv& like, const ObservationType& critic_type, ThreadPool& pool, int most_steps)
      : pool_(pool),
        now_(observation_type(like.spec().observation), count(like)),
        last_(observation_type(like.spec().observation), count(like)),
        critic_now_(critic_type, count(like)),
        critic_last_(critic_type, count(like)),
        masks_(like.spec(), count(like)),
        rewards_(count(like)),
        terminated_(count(like)),
        truncated_(count(like)),
        truncations_(count(like)),
        actions_(count(like) * static_cast<std::size_t>(like.spec().action_size())) {
    if (like.spec().names_success) ends_.resize(count(like) * static_cast<std::size_t>(most_steps));
  }

  float* actions() { return actions_.data(); }  // [N, A]
  Observations& now() { return now_; }          // [N, D]
  Observations& last() { return last_; }        // [N, D] of episodes that were truncated
  Observations& critic_now() { return critic_now_; }
  Observations& critic_last() { return critic_last_; }
  const MaskRows& masks() const { return masks_; }  // [N, M]
  const float* rewards() const { return rewards_.data(); }
  const std::uint8_t* terminated() const { return terminated_.data(); }
  const std::uint8_t* truncated() const { return truncated_.data(); }
  // [N] of step t; null: the environments name no success.
  EpisodeEnd* ends(int t, int N) {
    return ends_.empty() ? nullptr : &ends_[static_cast<std::size_t>(t) * N];
  }

  // Shows environments `own`.
  Status observe(VecEnv& envs, Shard own, std::int64_t step) {
    const Status seen = each_part(envs, own, [&](int begin, int end) -> Status {
      const std::size_t row = static_cast<std::size_t>(begin);
      observe_simulator(envs, begin, end, now_.rows(row), critic_now_.rows(row));
      masks_.read(envs, begin, end, row);
      return {};
    });
    if (!seen.ok()) return step_failed(step, seen);
    is_broken_ = !shows_what_can_act(own);
    return {};
  }

  // Steps environments `own` at step t of a block.
  Status step(VecEnv& envs, Shard own, const DeviceRollout& block, int t, std::int64_t first_step) {
    const Status stepped = each_part(envs, own, [&](int begin, int end) -> Status {
      BROADLOOM_TRY(step_simulator(envs, begin, end, rows_of_step(envs, block.N, t, begin)));
      masks_.read(envs, begin, end, static_cast<std::size_t>(begin));
      return {};
    });
    if (!stepped.ok()) return step_failed(first_step + t, stepped);
    look_at_step(own, block.S, t);
    return {};
  }
  // The rows of step t for environments from `begin` on.
  StepRows rows_of_step(const VecEnv& envs, int N, int t, int begin = 0) {
    const std::size_t row = static_cast<std::size_t>(begin);
    EpisodeEnd* const ended = ends(t, N);
    return {&actions_[row * static_cast<std::size_t>(envs.spec().action_size())],
            now_.rows(row),
            &rewards_[row],
            &terminated_[row],
            &truncated_[row],
            last_.rows(row),
            ended == nullptr ? nullptr : ended + row,
            critic_now_.rows(row),
            critic_last_.rows(row)};
  }
  // After a player of blocks (env/block_player.h) has written these rows.
  void took_step(const VecEnv& envs, const DeviceRollout& block, int t) {
    masks_.read(envs, 0, block.N, 0);
    look_at_step({0, block.N}, block.S, t);
  }
  // Whether the last results have a number that is not finite, no valid action, or more truncations
  // than the block has slots. Their environments are not stepped any more, as on the CPU.
  bool is_broken() const { return is_broken_; }

 private:
  static std::size_t count(const VecEnv& envs) { return static_cast<std::size_t>(envs.num_envs()); }

  void look_at_step(Shard own, int S, int t) {
    if (t == 0) std::fill(truncations_.begin(), truncations_.end(), 0);
    is_broken_ = !shows_what_can_act(own) ||
                 !broadloom::all_finite(&rewards_[static_cast<std::size_t>(own.begin)],
                                        static_cast<std::size_t>(own.size()));
    for (int n = own.begin; n < own.end; ++n) {
      if (truncated_[static_cast<std::size_t>(n)] == 0) continue;
      is_broken_ = is_broken_ || !all_finite(last_, n, 1) || !all_finite(critic_last_, n, 1);
      is_broken_ = is_broken_ || ++truncations_[static_cast<std::size_t>(n)] > S;
    }
  }

  // Whether all observations are finite and leave a valid action.
  bool shows_what_can_act(Shard own) {
    if (!all_finite(now_, own.begin, own.size()) ||
        !all_finite(critic_now_, own.begin, own.size())) {
      return false;
    }
    for (int n = own.begin; n < own.end && masks_.width() > 0; ++n) {
      if (!masks_.can_act(static_cast<std::size_t>(n))) return false;
    }
    return true;
  }
  static bool all_finite(Observations& rows, int first, int count) {
    if (rows.type().dtype != Dtype::kF32 || rows.empty()) return true;
    return broadloom::all_finite(
        rows.rows(static_cast<std::size_t>(first)).floats(),
        static_cast<std::size_t>(count) * static_cast<std::size_t>(rows.type().size));
  }

  // Calls f(begin, end) for parts of `own`, and returns the first part's error.
  template <class F>
  Status each_part(const VecEnv& envs, Shard own, const F& f) {
    const auto call = [&f](int begin, int end) {
      return with_simulator_errors([&] { return f(begin, end); });
    };
    if (envs.traits().whole_batch) return call(own.begin, own.end);
    const int parts = std::min(own.size(), pool_.threads());
    std::vector<Status> errors(static_cast<std::size_t>(parts));
    const auto edge = [&](int part) {
      return own.begin + static_cast<int>(std::int64_t{own.size()} * part / parts);
    };
    pool_.run(parts, [&](int part) {
      errors[static_cast<std::size_t>(part)] = call(edge(part), edge(part + 1));
    });
    for (const Status& error : errors) BROADLOOM_TRY(error);
    return {};
  }

  ThreadPool& pool_;
  Observations now_, last_, critic_now_, critic_last_;
  MaskRows masks_;
  AlignedVector<float> rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<int> truncations_;  // [N] in this block
  AlignedVector<float> actions_;
  std::vector<EpisodeEnd> ends_;  // [T, N]
  bool is_broken_ = false;        // in the last step
};

template <class Side>
class HostStepper final : public StepByStep<HostStepper<Side>, Side> {
  using Base = StepByStep<HostStepper<Side>, Side>;

 public:
  // like, critic_type: see HostRows. pool must outlive this object.
  HostStepper(Side& side, const VecEnv& like, const ObservationType& critic_type, ThreadPool& pool,
              std::uint64_t seed, int most_steps)
      : Base(side, like, seed), rows_(like, critic_type, pool, most_steps) {}

  Status bring(VecEnv&) override { return {}; }  // the host has their state
  // Anew for each block, as on the CPU: the environments may have begun new episodes.
  Status begin_block(const DeviceRollout& block, std::int64_t first_step) override {
    BROADLOOM_TRY(rows_.observe(*this->envs_, own(block), first_step));
    send_now(block);
    return {};
  }

  // One step, or by a player of blocks all of them. Players step as one batch, so no other rank has
  // a part.
  template <class Observed, class Acting>
  Status step_all(const Acting& acting, const CollectSteps& steps, const KernelShape& shape) {
    BlockPlayer* const player = block_player(*this->envs_);
    if (player == nullptr) return Base::template step_all<Observed>(acting, steps, shape);
    Status status;
    const Status played = with_simulator_errors([&] {
      return player->play(steps.end, [&](int t, StepRows& rows) {
        this->side_.enter_thread();
        this->last_step_ = std::min(t, steps.end - 1);
        if (t > 0) {
          rows_.took_step(*this->envs_, steps.rollout, t - 1);
          send<Observed>(this->one_step(steps, t - 1));
        }
        if (t == steps.end) return true;
        status = choose<Observed>(acting, this->one_step(steps, t), shape);
        rows = rows_.rows_of_step(*this->envs_, steps.rollout.N, t);
        return status.ok();
      });
    });
    if (!status.ok() || played.ok()) return status;
    return step_failed(steps.first_step + this->last_step_, played);
  }
  template <class Observed, class Acting>
  Status step_at(const Acting& acting, const CollectSteps& step, const KernelShape& shape) {
    const DeviceRollout& block = step.rollout;
    BROADLOOM_TRY(choose<Observed>(acting, step, shape));
    BROADLOOM_TRY(rows_.step(*this->envs_, own(block), block, step.begin, step.first_step));
    send<Observed>(step);
    return {};
  }

 private:
  static Shard own(const DeviceRollout& block) { return {block.first_env, block.end_env}; }

  // Brings actions of this step to the host.
  template <class Observed, class Acting>
  Status choose(const Acting& acting, const CollectSteps& step, const KernelShape& shape) {
    const DeviceRollout& block = step.rollout;
    const std::size_t actions = static_cast<std::size_t>(block.A);
    const std::size_t first = static_cast<std::size_t>(block.first_env) * actions;
    this->template act<Observed>(acting, step, shape);
    if (rows_.is_broken()) {  // the kernels have noted where
      return not_finite(FaultPlace::kObservation, "an environment", step.first_step + step.begin);
    }
    this->side_.copy_out(rows_.actions() + first, block.clipped + first,
                         static_cast<std::size_t>(block.own_envs()) * actions);
    this->side_.wait();
    return this->side_.status();
  }
  // Sends the results of this step, which kernels keep.
  template <class Observed>
  void send(const CollectSteps& step) {
    Side& side = this->side_;
    const DeviceRollout& block = step.rollout;
    const int t = step.begin;
    const std::size_t n = static_cast<std::size_t>(block.first_env);
    const std::size_t count = static_cast<std::size_t>(block.own_envs());
    const std::size_t first = static_cast<std::size_t>(t) * static_cast<std::size_t>(block.N) + n;
    side.copy_in(block.rewards + first, rows_.rewards() + n, count);
    side.copy_in(block.terminated + first, rows_.terminated() + n, count);
    side.copy_in(block.truncated + first, rows_.truncated() + n, count);
    if (block.outcomes != nullptr) {
      side.copy_in(block.outcomes + first, rows_.ends(t, block.N) + n, count);
    }
    send_now(block);
    send_last(block);
    side.run(KeepKernel<Observed>{step, this->shown_, {}}, shape_for_rows(block.own_envs()));
    if (t + 1 == block.T) side.wait();  // a step and the whole block pass apart
  }
  void send_now(const DeviceRollout& block) {
    send_rows(rows_.now(), block.shown, block.first_env, block.end_env);
    send_rows(rows_.critic_now(), block.critic.now, block.first_env, block.end_env);
    const std::size_t width = rows_.masks().width();
    const std::size_t first = static_cast<std::size_t>(block.first_env);
    if (width > 0) {
      this->side_.copy_in(block.choices.valid_now + first * width, rows_.masks().row(first),
                          static_cast<std::size_t>(block.own_envs()) * width);
    }
  }
  // Last observations of episodes that were truncated, by runs of neighbours: images are large.
  void send_last(const DeviceRollout& block) {
    for (int begin = block.first_env; begin < block.end_env;) {
      int end = begin;
      while (end < block.end_env && rows_.truncated()[end] != 0) ++end;
      send_rows(rows_.last(), block.ends, begin, end);
      send_rows(rows_.critic_last(), block.critic.ends, begin, end);
      begin = end + 1;
    }
  }
  // Copies rows [begin, end), if there are such rows.
  void send_rows(Observations& rows, const DeviceObservations& target, int begin, int end) {
    if (rows.empty() || begin == end) return;
    const std::size_t width = static_cast<std::size_t>(rows.type().size);
    target.visit([&](auto* numbers) {
      using Number = std::remove_pointer_t<decltype(numbers)>;
      this->side_.copy_in(numbers + static_cast<std::size_t>(begin) * width,
                          rows.rows(static_cast<std::size_t>(begin)).template as<Number>(),
                          static_cast<std::size_t>(end - begin) * width);
    });
  }

  HostRows rows_;
};

}  // namespace broadloom::cuda
