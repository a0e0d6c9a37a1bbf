// A rollout block collected on the device. It has the bits of Collector (rollout/collector.h),
// except where tensor cores round.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/core/random.h"
#include "broadloom/nn/played_number.h"
#include "broadloom/rollout/collect_fault.h"
#include "cuda/collect/acting.h"
#include "cuda/collect/device_rollout.h"
#include "cuda/collect/row_runs.h"
#include "cuda/env/frame_stacks.h"
#include "cuda/env/kernels.h"
#include "cuda/env/next_observations.h"
#include "cuda/env/normalise_kernels.h"
#include "cuda/tile/forward.h"

namespace broadloom::cuda {

// Environments per thread block. A step is a chain of waits rather than arithmetic. So blocks are
// small, and every multiprocessor has one as long as there are enough environments.
inline int collect_rows(int num_envs, int multiprocessors) {
  int rows = 32;
  while (rows > 8 && num_envs / rows < multiprocessors) rows /= 2;
  return rows;
}
// Steps of one launch. The next launch continues there, and the bits do not depend on the number.
inline constexpr int kStepsAtOnce = 64;

// Every byte is finite.
BROADLOOM_HD inline bool all_numbers(const std::uint8_t*, int) { return true; }
BROADLOOM_HD inline bool all_numbers(const float* row, int width) {
  bool all = true;
  for (int i = 0; i < width; ++i) all = all && std::isfinite(row[i]);
  return all;
}

// Arguments for steps [begin, end) of a block, for any environment type.
struct CollectSteps {
  DeviceNetwork network;
  const float* params;
  DeviceRollout rollout;
  TileMemory tiles;
  TilePlaces places;  // of the actor
  ObservationScale scale, critic_scale;
  std::int64_t first_step;  // step of the run at the block's first step
  int begin, end;
};

// An observation as environments show it.
struct ShownNumbers {
  int size;     // numbers of a row
  int checked;  // of which the first ones are checked; of a one-hot row all are NaN, or none
};

// Writes the results of a step into the block, and notes faults. One thread for each environment.
template <class Observed>
struct StepKeeper {
  const CollectSteps& steps;
  ShownNumbers shown;

  // Checks what environment n shows, before a clip could hide a fault.
  BROADLOOM_HD void check(int n, int t, const DeviceObservations& rows_of, FaultPlace place) const {
    note(n, t, all_numbers(row_of(rows_of, n), shown.checked), place);
  }
  // The same for rows of the critic's own.
  BROADLOOM_HD void check_critic(int n, int t, const DeviceObservations& rows_of,
                                 FaultPlace place) const {
    const int width = steps.rollout.critic.D;
    if (width == 0 || rows_of.floats == nullptr) return;
    note(n, t, all_numbers(rows_of.floats + static_cast<std::size_t>(n) * width, width), place);
  }
  // The reward of step t; the final observation of an episode that was truncated there; and the new
  // frame of a stack. Rows of the step's results begin at t * N.
  BROADLOOM_HD void keep(int n, int t) const {
    const DeviceRollout& rollout = steps.rollout;
    const std::size_t row = static_cast<std::size_t>(t) * rollout.N + static_cast<std::size_t>(n);
    note(n, t, std::isfinite(rollout.rewards[row]), FaultPlace::kReward);
    if (rollout.truncated[row] != 0) {
      note(n, t, rollout.truncations[n] < rollout.S, FaultPlace::kTruncation);
    }
    if (rollout.truncated[row] != 0 && rollout.truncations[n] < rollout.S) {
      check(n, t, rollout.ends, FaultPlace::kFinalObservation);
      check_critic(n, t, rollout.critic.ends, FaultPlace::kFinalObservation);
      keep_final(n);
    }
    take_frame(n, has_ended(row));
  }
  BROADLOOM_HD bool has_ended(std::size_t row) const {
    return (steps.rollout.terminated[row] | steps.rollout.truncated[row]) != 0;
  }

  // Records a fault unless is_right; only an environment's first one, as they come in order.
  BROADLOOM_HD void note(int n, int t, bool is_right, FaultPlace place) const {
    if (is_right || steps.rollout.faults[n] != kNoFault) return;
    steps.rollout.faults[n] = fault_order(t, place, n);
  }

 private:
  // Row n as the environment shows it.
  BROADLOOM_HD Observed* row_of(const DeviceObservations& rows_of, int n) const {
    return rows_of.as<Observed>() +
           static_cast<std::size_t>(n) * static_cast<std::size_t>(shown.size);
  }

  // Stores the final observation of a truncated episode.
  BROADLOOM_HD void keep_final(int n) const {
    const DeviceRollout& rollout = steps.rollout;
    const std::size_t width = static_cast<std::size_t>(rollout.D);
    const std::size_t place = static_cast<std::size_t>(n) * rollout.S + rollout.truncations[n]++;
    keep_critic_final(n, place);
    Observed* const kept = rollout.final_observations.template as<Observed>() + place * width;
    const Observed* const last = row_of(rollout.ends, n);
    for (int i = 0; i < rollout.D; ++i) {
      if constexpr (std::is_same_v<Observed, std::uint8_t>) {
        if (rollout.shows_frames()) {
          kept[i] = pushed(rollout.frames, rollout.now.bytes + n * width, last, i);
          continue;
        }
      }
      kept[i] = steps.scale.apply(last[i], i);
    }
  }

  BROADLOOM_HD void keep_critic_final(int n, std::size_t place) const {
    const CriticRows& critic = steps.rollout.critic;
    const std::size_t width = static_cast<std::size_t>(critic.D);
    critic.ends.visit([&](const auto* ends) {
      using Number = std::remove_const_t<std::remove_pointer_t<decltype(ends)>>;
      Number* const kept = critic.final_observations.template as<Number>() + place * width;
      for (int i = 0; i < critic.D; ++i) {
        kept[i] = steps.critic_scale.apply(ends[static_cast<std::size_t>(n) * width + i], i);
      }
    });
  }

  // Pushes environment n's new frame onto its stack, if it shows frames.
  BROADLOOM_HD void take_frame([[maybe_unused]] int n, [[maybe_unused]] bool begins) const {
    if constexpr (std::is_same_v<Observed, std::uint8_t>) {
      const DeviceRollout& rollout = steps.rollout;
      if (!rollout.shows_frames()) return;
      std::uint8_t* const stack =
          rollout.now.bytes + static_cast<std::size_t>(n) * static_cast<std::size_t>(rollout.D);
      const std::uint8_t* const frame = row_of(rollout.shown, n);
      if (begins) {
        begin_on_stack(rollout.frames, rollout.D, frame, stack);
      } else {
        push_on_stack(rollout.frames, rollout.D, frame, stack);
      }
    }
  }
};

// Stores what environments show at a step, and draws their actions. A separate critic has no part
// here: ValuesKernel computes its values afterwards, for all steps at once.
template <class Observed, class Acting>
struct StepActor {
  StepKeeper<Observed> keeper;
  std::uint64_t seed;
  const ActionBounds& bounds;
  const Acting& acting;

  // Then calls step(n) for each environment that has an action, in its own thread. read, work: of
  // the block's tile.
  template <class Block, class Step>
  BROADLOOM_HD void act_all(Block& block, const TileParams& read, float* work, int t,
                            const Step& step) const {
    const CollectSteps& steps = keeper.steps;
    const DeviceRollout& rollout = steps.rollout;
    const DeviceNetwork& network = steps.network;
    const int tile_rows = steps.tiles.rows;
    const int first = rollout.first_env + block.index() * tile_rows;
    const int left = rollout.end_env - first, rows = left < tile_rows ? left : tile_rows;
    const std::size_t first_row = static_cast<std::size_t>(t) * rollout.N + first;
    const std::size_t width = static_cast<std::size_t>(rollout.D);
    const DeviceObservations seen = rollout.now.offset_by(first * width);
    load_rows(block, seen, 0, rollout.D, rows, steps.scale, work);
    over_elements(block, rows, rollout.D, [&](int r) {
      const std::size_t row = first_row + static_cast<std::size_t>(r);
      const Observed* const numbers =
          seen.template as<Observed>() + static_cast<std::size_t>(r) * width;
      return [&rollout, row, numbers](int i) {
        rollout.observations.keep(row, i, rollout.D, numbers[i]);
      };
    });
    keep_critic(block, first, first_row, rows);
    keep_ages(block, t, first_row, rows);
    block.sync();
    forward_tile<true>(block, network.actor, network.activation, read, steps.places, work, rows);
    if (block.thread() >= rows) return;
    float* const outputs = work + steps.places.outputs + block.thread();
    if (network.action_values) {
      rollout.values[first_row + block.thread()] = largest_of(outputs, network.outputs, tile_rows);
    } else if (network.sides() == 1) {
      keep_values(first_row + block.thread(), work + steps.places.values + block.thread());
    }
    const int n = first + block.thread();
    if (t == 0) {
      rollout.faults[n] = kNoFault;
      rollout.truncations[n] = 0;
    }
    keeper.check(n, t, rollout.shown, FaultPlace::kObservation);
    keeper.check_critic(n, t, rollout.critic.now, FaultPlace::kCriticObservation);
    mask(n, t, first_row + block.thread(), outputs);
    if (rollout.faults[n] != kNoFault) return;  // as on the host, it is not stepped any more
    act(n, t, outputs, first_row + block.thread());
    step(n);
  }

 private:
  // Stores the flags of valid options, and applies them to the logits.
  BROADLOOM_HD void mask(int n, int t, std::size_t row, float* logits) const {
    const ActionChoices& choices = keeper.steps.rollout.choices;
    if (choices.M == 0) return;
    const std::size_t width = static_cast<std::size_t>(choices.M);
    const std::uint8_t* const flags = choices.valid_now + static_cast<std::size_t>(n) * width;
    for (int i = 0; i < choices.M; ++i) choices.valid[row * width + i] = flags[i];
    keeper.note(n, t, choices.can_act(flags), FaultPlace::kNoValidAction);
    choices.mask(flags, logits, keeper.steps.tiles.rows);
  }

  // Stores what only the critic reads.
  template <class Block>
  BROADLOOM_HD void keep_critic(Block& block, int first, std::size_t first_row, int rows) const {
    const CriticRows& critic = keeper.steps.rollout.critic;
    const std::size_t width = static_cast<std::size_t>(critic.D), all = rows * width;
    critic.now.visit([&](const auto* now) {
      using Number = std::remove_const_t<std::remove_pointer_t<decltype(now)>>;
      Number* const kept = critic.observations.template as<Number>() + first_row * width;
      for (std::size_t i = block.thread(); i < all; i += block.threads()) {
        kept[i] = now[static_cast<std::size_t>(first) * width + i];
      }
    });
  }

  // Stores the values of a critic that shares the actor's body.
  BROADLOOM_HD void keep_values(std::size_t row, const float* values) const {
    const CollectSteps& steps = keeper.steps;
    steps.rollout.values[row] = values[0];
    if (steps.network.values > 1) steps.rollout.int_values[row] = values[steps.tiles.rows];
  }

  // Records which frame stacks begin their episodes.
  template <class Block>
  BROADLOOM_HD void keep_ages(Block& block, int t, std::size_t first_row, int rows) const {
    const DeviceRollout& rollout = keeper.steps.rollout;
    if (!rollout.observations.frames.is_there() || block.thread() >= rows) return;
    const std::size_t row = first_row + static_cast<std::size_t>(block.thread());
    const std::size_t before = t == 0 ? row : row - static_cast<std::size_t>(rollout.N);
    rollout.observations.frames.keep_age(row, keeper.has_ended(before));
  }

  // Stores the policy of a Box that drew a row's action.
  BROADLOOM_HD void keep_policy(const float* outputs, std::size_t row) const {
    const CollectSteps& steps = keeper.steps;
    const DeviceNetwork& network = steps.network;
    const int stride = steps.tiles.rows;
    float* const kept = steps.rollout.means + row * static_cast<std::size_t>(network.outputs);
    for (int o = 0; o < network.outputs; ++o) kept[o] = outputs[o * stride];
  }

  // Environment n draws from Random(seed, kAction, n, step), as on the host. clipped: the action
  // within its bounds.
  BROADLOOM_HD void act(int n, int t, const float* outputs, std::size_t row) const {
    const CollectSteps& steps = keeper.steps;
    const DeviceRollout& rollout = steps.rollout;
    Random random(seed, Purpose::kAction, static_cast<std::uint32_t>(n),
                  static_cast<std::uint64_t>(steps.first_step + t));
    float* const drawn = rollout.actions + row * rollout.A;
    rollout.log_probs[row] = acting.act(steps.network, rollout.choices, steps.params, outputs,
                                        steps.tiles.rows, random, drawn);
    if (rollout.means != nullptr) keep_policy(outputs, row);
    const DeviceNetwork& network = steps.network;
    for (int a = 0; a < rollout.A; ++a) {
      rollout.clipped[static_cast<std::size_t>(n) * rollout.A + a] = played_number(
          network.pairs.kind, network.is_squashed, drawn[a], bounds.low[a], bounds.high[a]);
    }
  }
};

// Collects these steps for all own environments: observe, draw actions, step, store.
//
// Environments are independent, so a thread block loops over the steps of its own environments
// without waiting for others. Its copy of the policy's weights serves all steps.
template <class Env, class Acting>
struct CollectKernel : CollectSteps {
  static constexpr int kThreads = kMostCollectThreads, kBlocksAtOnce = 1;
  using Observed = EnvObserved<Env>;

  EnvSetup<Env> setup;
  EnvArrays arrays;
  ActionBounds bounds;
  Acting acting;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const TileParams read = params_of(block, tiles, network.actor, params);
    float* const work = tiles.memory(block, block.template shared<float>());
    const int size = setup.observation_size;
    const StepKeeper<Observed> keeper{*this, {size, setup.is_one_hot ? 1 : size}};
    const StepActor<Observed, Acting> actor{keeper, setup.seed, bounds, acting};
    for (int t = begin; t < end; ++t) {
      actor.act_all(block, read, work, t, [&](int n) {
        step_row(n, t);
        keeper.keep(n, t);
      });
      block.sync();
    }
  }

 private:
  BROADLOOM_HD void step_row(int n, int t) const {
    const std::size_t first = static_cast<std::size_t>(t) * rollout.N;
    step_env(setup, arrays,
             StepArrays<Env>{rollout.clipped, rollout.shown.as<Observed>(), rollout.rewards + first,
                             rollout.terminated + first, rollout.truncated + first,
                             rollout.ends.as<Observed>(),
                             rollout.outcomes == nullptr ? nullptr : rollout.outcomes + first},
             n);
  }
};

// The first half of a step of environments without kernels.
template <class Observed, class Acting>
struct ActKernel : CollectSteps {
  static constexpr int kThreads = kMostCollectThreads, kBlocksAtOnce = 1;

  ShownNumbers shown;
  std::uint64_t seed;
  ActionBounds bounds;
  Acting acting;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const TileParams read = params_of(block, tiles, network.actor, params);
    float* const work = tiles.memory(block, block.template shared<float>());
    const StepActor<Observed, Acting> actor{{*this, shown}, seed, bounds, acting};
    actor.act_all(block, read, work, begin, [](int) {});
  }
};

// Results of a step as a simulator on the device writes them, [N] each.
struct StepResults {
  float* rewards = nullptr;  // null: the results are in the block
  std::uint8_t *terminated = nullptr, *truncated = nullptr, *reasons = nullptr,
               *successes = nullptr;
  int reasons_of_all = 0;  // reasons for ends, the last one is the time limit
  bool names_success = false;
};

// Before a simulator's step: it writes only flags that are 1, and a reward that it forgets must not
// be the last step's. shape: shape_for_rows(N).
struct ClearKernel {
  StepResults results;
  int N;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= N) return;
    results.rewards[n] = NAN;
    results.terminated[n] = results.truncated[n] = 0;
    results.reasons[n] = results.successes[n] = 0;
  }
};

// The second half: the results have come. shape: shape_for_rows(own_envs()).
template <class Observed>
struct KeepKernel : CollectSteps {
  ShownNumbers shown;
  StepResults results;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = rollout.first_env + block.index() * block.threads() + block.thread();
    if (n >= rollout.end_env || rollout.faults[n] != kNoFault) return;
    const StepKeeper<Observed> keeper{*this, shown};
    if (results.rewards != nullptr) take(keeper, n);
    keeper.keep(n, begin);
  }

 private:
  // Takes the results into the block. An end must have one kind and a reason.
  BROADLOOM_HD void take(const StepKeeper<Observed>& keeper, int n) const {
    const std::size_t row = static_cast<std::size_t>(begin) * rollout.N + n;
    const bool terminated = results.terminated[n] != 0, truncated = results.truncated[n] != 0;
    const int limit = results.reasons_of_all - 1, reason = terminated ? results.reasons[n] : limit;
    rollout.rewards[row] = results.rewards[n];
    rollout.terminated[row] = terminated ? 1 : 0;
    rollout.truncated[row] = truncated ? 1 : 0;
    keeper.note(n, begin, !(terminated && truncated) && (!terminated || reason < limit),
                FaultPlace::kStep);
    if (rollout.outcomes == nullptr || !(terminated || truncated)) return;
    EpisodeEnd outcome;
    outcome.reason = static_cast<std::int8_t>(reason);
    if (results.names_success) outcome.success = results.successes[n] != 0 ? 1 : 0;
    rollout.outcomes[row] = outcome;
  }
};

// Minimum of [count] faults, in one thread block.
struct FirstFaultKernel {
  static constexpr int kThreads = 256;

  const std::uint64_t* faults;
  int count;
  std::uint64_t* first;

  static KernelShape shape() { return {1, kThreads, kThreads * sizeof(std::uint64_t)}; }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    std::uint64_t* const lowest = block.template shared<std::uint64_t>();
    std::uint64_t own = kNoFault;
    for (int n = block.thread(); n < count; n += block.threads()) {
      own = faults[n] < own ? faults[n] : own;
    }
    lowest[block.thread()] = own;
    block.sync();
    if (block.thread() != 0) return;
    for (int i = 1; i < block.threads(); ++i) own = lowest[i] < own ? lowest[i] : own;
    *first = own;
  }
};

// Values of rows [.., D]: the critic's outputs, or the largest action value.
struct ValuesKernel {
  static constexpr int kThreads = kMostCollectThreads, kBlocksAtOnce = 1;

  DeviceNetwork network;
  const float* params;
  DeviceObservations rows_of;
  RowRun run;  // rows and tiles of this launch
  ObservationScale scale;
  float* values;
  float* int_values;  // the critic's second outputs; null: not needed

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const DeviceBody& body = network.valuer();
    const TileParams read = params_of(block, run.tiles, body, params);
    float* const work = run.tiles.memory(block, block.template shared<float>());
    const int first = run.first(block), rows = run.rows(block), own = first + block.thread();
    load_rows(block, rows_of, first, body.row_in(), rows, scale, work);
    block.sync();
    forward_tile<true>(block, body, network.activation, read, run.places, work, rows);
    if (block.thread() >= rows) return;
    const float* const outputs = work + run.places.outputs + block.thread();
    const int choices = network.action_values ? network.outputs : 1;
    values[own] = largest_of(outputs, choices, run.tiles.rows);
    if (int_values != nullptr) int_values[own] = outputs[run.tiles.rows];
  }
};

}  // namespace broadloom::cuda
