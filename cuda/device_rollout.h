// Environments and a block on a side (host_side.h, device_side.h), collected by kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"
#include "cuda/advantages_kernel.h"
#include "cuda/collect_kernels.h"
#include "cuda/device_normalizer.h"
#include "cuda/env_image.h"

namespace broadloom::cuda {

struct RolloutOptions {
  int num_steps = 32, num_envs = 64;  // T, N
  std::uint64_t seed = 1;
  int families = 0;  // as VecEnvOptions has them
};

// Environments have spec's time limit. No strata, curricula or disturbances.
template <class Env, class Side>
class DeviceCollector {
 public:
  // side must outlive this, as must normalizer; null: observations are used as they are.
  DeviceCollector(Side& side, const typename Env::Params& params, const EnvSpec& spec,
                  const DeviceNetwork& network, const RolloutOptions& options,
                  ObsNormalizer* normalizer = nullptr)
      : side_(side),
        network_(network),
        options_(options),
        normalizer_(side, normalizer, options.num_envs) {
    const EnvStreams streams = env_streams(StreamSet::kTraining);
    setup_ = {params,
              options.seed,
              streams.reset,
              streams.step,
              options.num_envs,
              spec.max_episode_steps,
              spec.observation_size(),
              spec.action_size(),
              spec.observation.kind == SpaceKind::kDiscrete};
    make_envs();
    make_block(spec);
    make_bounds(spec.action);
    tiles_ = collect_room(network).make(
        side, static_cast<std::size_t>(shape_of_rows(network, options.num_envs).blocks));
    side_.run(BeginKernel<Env>{setup_, envs_}, shape_for_rows(options.num_envs));
    observe();
  }

  // Environments go on from what those of the host are in.
  void take_envs(const EnvImage<Env>& image) {
    const std::size_t n = static_cast<std::size_t>(setup_.count);
    side_.copy_in(envs_.states, image.states.data(), image.states.size());
    side_.copy_in(envs_.episode, image.episode.data(), n);
    side_.copy_in(envs_.episode_step, image.episode_step.data(), n);
    side_.copy_in(envs_.total_step, image.total_step.data(), n);
    observe();
  }
  void bring_envs(EnvImage<Env>& image) {
    const std::size_t n = static_cast<std::size_t>(setup_.count);
    side_.copy_out(image.states.data(), envs_.states, image.states.size());
    side_.copy_out(image.episode.data(), envs_.episode, n);
    side_.copy_out(image.episode_step.data(), envs_.episode_step, n);
    side_.copy_out(image.total_step.data(), envs_.total_step, n);
  }

  // A block from the run's step first_step on, with all values. acting: PolicyActing or
  // EpsilonActing.
  template <class Acting>
  void collect(const Acting& acting, const float* params, std::int64_t first_step) {
    normalizer_.begin_block();
    const ObservationScale scale = normalizer_.scale(), as_it_is{};
    for (int t = 0; t < block_.T; ++t) {
      side_.run(CollectKernel<Env, Acting>{setup_, envs_, network_, acting, params, block_, tiles_,
                                           scale, low_, high_, options_.seed, first_step + t, t},
                CollectKernel<Env, Acting>::shape(network_, block_.N));
    }
    values(params, block_.now, block_.N, scale, block_.last_values);
    // Places that no episode has taken are valued, too, and not read. N at a time, for which there
    // is room.
    const std::size_t n = static_cast<std::size_t>(block_.N), width = n * block_.D;
    for (std::size_t s = 0; s < static_cast<std::size_t>(block_.S); ++s) {
      values(params, block_.final_observations.from(s * width), block_.N, as_it_is,
             block_.final_values + s * n);
    }
    normalizer_.take_block(block_.observations.floats, block_.T, block_.N);
  }

  // What the block adds to the normaliser's statistics, to the host's.
  Status bring_sums() { return normalizer_.bring_sums(); }

  // Others in the place of those that were collected: [T, N], of the host.
  void set_rewards(const float* rewards) {
    side_.copy_in(block_.rewards, rewards,
                  static_cast<std::size_t>(block_.T) * static_cast<std::size_t>(block_.N));
  }

  void compute_advantages(double gamma, double gae_lambda, TruncationMode mode) {
    const Discounts discounts{static_cast<float>(gamma), static_cast<float>(gamma * gae_lambda)};
    side_.run(AdvantagesKernel{block_.T, block_.N, block_.S, block_.rewards, block_.values,
                               block_.terminated, block_.truncated, block_.last_values,
                               block_.truncations, block_.final_values, discounts, mode,
                               block_.advantages},
              shape_for_rows(block_.N));
  }

  const DeviceRollout& block() const { return block_; }

 private:
  void observe() {
    side_.run(ObserveKernel<Env>{setup_, envs_, block_.now.template as<EnvObserved<Env>>()},
              shape_for_rows(setup_.count));
  }

  void values(const float* params, const DeviceObservations& rows, int count,
              const ObservationScale& scale, float* to) {
    side_.run(ValuesKernel{network_, params, rows, count, tiles_, scale, to},
              ValuesKernel::shape(network_, count));
  }

  void make_envs() {
    const std::size_t n = static_cast<std::size_t>(setup_.count);
    std::vector<std::uint32_t> lanes(n);
    const int families = options_.families > 0 ? options_.families : setup_.count;
    for (std::size_t i = 0; i < n; ++i) lanes[i] = static_cast<std::uint32_t>(i) % families;
    std::uint32_t* const kept = side_.template allocate<std::uint32_t>(n);
    side_.copy_in(kept, lanes.data(), n);
    envs_ = {side_.template allocate<std::uint32_t>(n * state_words<Env>()), kept,
             side_.template allocate<std::int64_t>(n), side_.template allocate<std::int64_t>(n),
             side_.template allocate<std::int64_t>(n)};
  }

  void make_block(const EnvSpec& spec) {
    const int T = options_.num_steps, N = options_.num_envs;
    const int D = spec.observation_size(), A = spec.action_size();
    // One episode may be under way when the block begins.
    const int S = setup_.limit > 0 ? static_cast<int>((T - 1) / setup_.limit + 1) : 0;
    const std::size_t n = static_cast<std::size_t>(N), all = n * static_cast<std::size_t>(T);
    const std::size_t finals = n * static_cast<std::size_t>(S);
    const auto floats = [&](std::size_t count) { return side_.template allocate<float>(count); };
    const auto rows = [&](std::size_t count) {
      return DeviceObservations::of(side_.template allocate<EnvObserved<Env>>(count * D),
                                    spec.observation.full_scale());
    };
    const auto bytes = [&](std::size_t count) {
      return side_.template allocate<std::uint8_t>(count);
    };
    block_ = {T,
              N,
              D,
              A,
              S,
              rows(all),
              floats(all * A),
              floats(all),
              floats(all),
              floats(all),
              bytes(all),
              bytes(all),
              spec.names_success ? side_.template allocate<EpisodeEnd>(all) : nullptr,
              side_.template allocate<int>(n),
              rows(finals),
              floats(n),
              floats(finals),
              floats(all),
              rows(n),
              rows(n),
              floats(n * A)};
  }

  void make_bounds(const Space& space) {
    const std::size_t size = static_cast<std::size_t>(block_.A);
    std::vector<float> low(size, 0.0f), high(size, static_cast<float>(space.size - 1));
    for (std::size_t a = 0; space.kind == SpaceKind::kBox && a < size; ++a) {
      low[a] = space.low[a];
      high[a] = space.high[a];
    }
    low_ = side_.template allocate<float>(size);
    high_ = side_.template allocate<float>(size);
    side_.copy_in(low_, low.data(), size);
    side_.copy_in(high_, high.data(), size);
  }

  Side& side_;
  DeviceNetwork network_;
  RolloutOptions options_;
  DeviceNormalizer<Side> normalizer_;
  EnvSetup<Env> setup_;
  EnvArrays envs_;
  DeviceRollout block_;
  TileMemory tiles_{};
  float *low_ = nullptr, *high_ = nullptr;
};

}  // namespace broadloom::cuda
