// Environments that the host steps, for a block on a side (cuda/sides): simulators of others, and
// those of the library without kernels.
//
// The side chooses actions and keeps the block; the host steps. Each step copies actions [N, A] to
// the host, waits for them once, and copies observations, rewards and end flags to the side. So the
// bits are those of the host's collector (rollout/collector.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
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
  // like: of the number and kind of environments; most_steps: of a block.
  HostRows(const VecEnv& like, ThreadPool& pool, int most_steps)
      : pool_(pool),
        now_(observation_type(like.spec().observation), count(like)),
        last_(observation_type(like.spec().observation), count(like)),
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
  const float* rewards() const { return rewards_.data(); }
  const std::uint8_t* terminated() const { return terminated_.data(); }
  const std::uint8_t* truncated() const { return truncated_.data(); }
  // [N] of step t; null: the environments name no success.
  EpisodeEnd* ends(int t, int N) {
    return ends_.empty() ? nullptr : &ends_[static_cast<std::size_t>(t) * N];
  }

  Status observe(VecEnv& envs, int N, std::int64_t step) {
    const Status seen = each_part(envs, N, [&](int begin, int end) -> Status {
      observe_simulator(envs, begin, end, now_.rows(static_cast<std::size_t>(begin)));
      return {};
    });
    if (!seen.ok()) return step_failed(step, seen);
    is_broken_ = !all_finite(now_, 0, N);
    return {};
  }

  // Steps environments [0, N) at step t of a block with S slots for truncations.
  Status step(VecEnv& envs, int N, int t, int S, std::int64_t first_step) {
    const std::size_t width = static_cast<std::size_t>(envs.spec().action_size());
    if (t == 0) {
      std::fill(truncations_.begin(), truncations_.end(), 0);
      excess_ = {};
    }
    const Status stepped = each_part(envs, N, [&](int begin, int end) {
      const std::size_t row = static_cast<std::size_t>(begin);
      EpisodeEnd* const ended = ends(t, N);
      return step_simulator(
          envs, begin, end,
          {&actions_[row * width], now_.rows(row), &rewards_[row], &terminated_[row],
           &truncated_[row], last_.rows(row), ended == nullptr ? nullptr : ended + row});
    });
    if (!stepped.ok()) return step_failed(first_step + t, stepped);
    is_broken_ = !all_finite(now_, 0, N) ||
                 !broadloom::all_finite(rewards_.data(), static_cast<std::size_t>(N));
    any_truncated_ = false;
    for (int n = 0; n < N; ++n) {
      if (truncated_[static_cast<std::size_t>(n)] == 0) continue;
      any_truncated_ = true;
      is_broken_ = is_broken_ || !all_finite(last_, n, 1);
      if (++truncations_[static_cast<std::size_t>(n)] <= S || !excess_.ok()) continue;
      excess_ = too_many_truncations(envs.spec(), n, first_step + t, S);
    }
    return {};
  }
  // After a step that truncated more often than the block has slots: the error, which comes after
  // faults of the same step.
  const Status& excess() const { return excess_; }
  // Whether the last results have a number that is not finite. Their environments are not stepped
  // any more, as on the CPU.
  bool is_broken() const { return is_broken_; }
  bool any_truncated() const { return any_truncated_; }

 private:
  static std::size_t count(const VecEnv& envs) { return static_cast<std::size_t>(envs.num_envs()); }

  static bool all_finite(Observations& rows, int first, int count) {
    if (rows.type().dtype != Dtype::kF32) return true;
    return broadloom::all_finite(
        rows.rows(static_cast<std::size_t>(first)).floats(),
        static_cast<std::size_t>(count) * static_cast<std::size_t>(rows.type().size));
  }

  // Calls f(begin, end) for parts of [0, N), and returns the first part's error.
  template <class F>
  Status each_part(const VecEnv& envs, int N, const F& f) {
    const auto call = [&f](int begin, int end) {
      return with_simulator_errors([&] { return f(begin, end); });
    };
    if (envs.traits().whole_batch) return call(0, N);
    const int parts = std::min(N, pool_.threads());
    std::vector<Status> errors(static_cast<std::size_t>(parts));
    const auto edge = [&](int part) {
      return static_cast<int>(static_cast<std::int64_t>(N) * part / parts);
    };
    pool_.run(parts, [&](int part) {
      errors[static_cast<std::size_t>(part)] = call(edge(part), edge(part + 1));
    });
    for (const Status& error : errors) BROADLOOM_TRY(error);
    return {};
  }

  ThreadPool& pool_;
  Observations now_, last_;
  AlignedVector<float> rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<int> truncations_;  // [N] in this block
  AlignedVector<float> actions_;
  std::vector<EpisodeEnd> ends_;  // [T, N]
  Status excess_;
  bool is_broken_ = false, any_truncated_ = false;  // in the last step
};

template <class Side>
class HostStepper final : public EnvStepper {
 public:
  // like: see HostRows. seed: of the run. side and pool must outlive this object.
  HostStepper(Side& side, const VecEnv& like, ThreadPool& pool, std::uint64_t seed, int most_steps)
      : side_(side), seed_(seed), rows_(like, pool, most_steps) {
    const EnvSpec& spec = like.spec();
    shown_ = {spec.observation_size(), spec.observation_size()};
    bounds_ = bounds_on(side_, spec.action, static_cast<std::size_t>(spec.action_size()));
  }

  void take(VecEnv& envs) override { envs_ = &envs; }
  Status bring(VecEnv&) override { return {}; }  // the host has their state
  void observe(const DeviceObservations&) override {}
  // Anew for each block, as on the CPU: the environments may have begun new episodes.
  Status begin_block(const DeviceObservations& shown, int N, std::int64_t first_step) override {
    BROADLOOM_TRY(rows_.observe(*envs_, N, first_step));
    send(rows_.now(), shown, static_cast<std::size_t>(N));
    return {};
  }
  Status step(const PolicyActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }
  Status step(const EpsilonActing& acting, const CollectSteps& steps,
              const KernelShape& shape) override {
    return run(acting, steps, shape);
  }

 private:
  template <class Acting>
  Status run(const Acting& acting, const CollectSteps& steps, const KernelShape& shape) {
    for (int t = steps.begin; t < steps.end; ++t) {
      CollectSteps one = steps;
      one.begin = t;
      one.end = t + 1;
      BROADLOOM_TRY(steps.rollout.now.bytes == nullptr ? step_at<float>(acting, one, shape)
                                                       : step_at<std::uint8_t>(acting, one, shape));
    }
    if (steps.end == steps.rollout.T) side_.wait();  // a step and the whole block pass apart
    return {};
  }

  template <class Observed, class Acting>
  Status step_at(const Acting& acting, const CollectSteps& step, const KernelShape& shape) {
    const DeviceRollout& block = step.rollout;
    const std::size_t N = static_cast<std::size_t>(block.N);
    const int t = step.begin;
    side_.run(ActKernel<Observed, Acting>{step, shown_, seed_, bounds_, acting}, shape);
    if (rows_.is_broken()) {  // the kernels have noted where
      return not_finite(FaultPlace::kObservation, "an environment", step.first_step + t);
    }
    side_.copy_out(rows_.actions(), block.clipped, N * static_cast<std::size_t>(block.A));
    side_.wait();
    BROADLOOM_TRY(side_.status());
    BROADLOOM_TRY(rows_.step(*envs_, block.N, t, block.S, step.first_step));
    const std::size_t first = static_cast<std::size_t>(t) * N;
    side_.copy_in(block.rewards + first, rows_.rewards(), N);
    side_.copy_in(block.terminated + first, rows_.terminated(), N);
    side_.copy_in(block.truncated + first, rows_.truncated(), N);
    if (block.outcomes != nullptr) {
      side_.copy_in(block.outcomes + first, rows_.ends(t, block.N), N);
    }
    send(rows_.now(), block.shown, N);
    if (rows_.any_truncated()) send(rows_.last(), block.ends, N);
    side_.run(KeepKernel<Observed>{step, shown_}, shape_for_rows(block.N));
    return rows_.excess();
  }

  // Copies `count` rows.
  void send(Observations& rows, const DeviceObservations& target, std::size_t count) {
    target.visit([&](auto* numbers) {
      using Number = std::remove_pointer_t<decltype(numbers)>;
      side_.copy_in(numbers, rows.rows().template as<Number>(),
                    count * static_cast<std::size_t>(shown_.size));
    });
  }

  Side& side_;
  std::uint64_t seed_;
  ShownNumbers shown_{};
  ActionBounds bounds_{};
  HostRows rows_;
  VecEnv* envs_ = nullptr;  // null before take()
};

}  // namespace broadloom::cuda
