// N environments on a side (cuda/sides), with their draws and disturbances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/streams.h"
#include "cuda/env/image.h"
#include "cuda/env/kernels.h"

namespace broadloom::cuda {

// Bounds of actions on the side; of a choice its least and largest index.
template <class Side>
ActionBounds bounds_on(Side& side, const Space& space, std::size_t size) {
  std::vector<float> low, high;
  for (std::size_t i = 0; i < size; ++i) {
    low.push_back(space.least(i));
    high.push_back(space.most(i));
  }
  return {space.kind, space.size, space.choice_count(), put_on(side, low.data(), size),
          put_on(side, high.data(), size)};
}

template <class Env, class Side>
class DeviceEnvironments {
 public:
  // Training environments at the start of their first episodes: of the number, type and seed of
  // `envs`. side must outlive this object.
  DeviceEnvironments(Side& side, const BatchedEnv<Env>& envs, const Disturbance& disturbance = {})
      : side_(side), image_(envs.num_envs(), !envs.strata().empty()), setup_(setup_of(envs)) {
    make_arrays(envs);
    make_draws(envs);
    bounds_ = bounds_on(side_, envs.spec().action, static_cast<std::size_t>(setup_.action_size));
    if (disturbance.any()) make_disturber(envs, disturbance);
    side_.run(BeginKernel<Env>{setup_, arrays_}, shape_for_rows(setup_.count));
  }

  const EnvSetup<Env>& setup() const { return setup_; }
  const EnvArrays& arrays() const { return arrays_; }
  const ActionBounds& bounds() const { return bounds_; }

  // Copies the state of the host's environments, which may have the same disturbances.
  void take(VecEnv& envs) {
    const std::vector<TensorRef> tensors = tensors_of(envs);
    image_.read(tensors);
    side_.copy_in(arrays_.states, image_.states.data(), image_.states.size());
    side_.copy_in(arrays_.constants, image_.constants.data(), image_.constants.size());
    each_alike(tensors, [this](std::byte* here, std::byte* theirs, std::size_t bytes) {
      side_.copy_in(here, theirs, bytes);
    });
  }
  // Copies the state back, unless the side has an error.
  Status bring(VecEnv& envs) {
    const std::vector<TensorRef> tensors = tensors_of(envs);
    side_.copy_out(image_.states.data(), arrays_.states, image_.states.size());
    side_.copy_out(image_.constants.data(), arrays_.constants, image_.constants.size());
    each_alike(tensors, [this](std::byte* here, std::byte* theirs, std::size_t bytes) {
      side_.copy_out(theirs, here, bytes);
    });
    side_.wait();
    BROADLOOM_TRY(side_.status());
    image_.write(tensors);
    return {};
  }

  // Current observations, [N, D].
  void observe(EnvObserved<Env>* observations) {
    side_.run(ObserveKernel<Env>{setup_, arrays_, observations}, shape_for_rows(setup_.count));
  }

 private:
  static EnvSetup<Env> setup_of(const BatchedEnv<Env>& envs) {
    const EnvSpec& spec = envs.spec();
    const EnvStreams streams = env_streams(StreamSet::kTraining);
    return {envs.params(),
            envs.draws().seed,
            streams.reset,
            streams.step,
            envs.num_envs(),
            spec.max_episode_steps,
            spec.observation_size(),
            spec.action_size(),
            spec.observation.kind == SpaceKind::kDiscrete};
  }

  std::size_t envs() const { return static_cast<std::size_t>(setup_.count); }
  template <class T>
  T* allocate(std::size_t count) {
    return side_.template allocate<T>(count);
  }
  template <class T>
  T* put(const T* source, std::size_t count) {
    return put_on(side_, source, count);
  }

  void make_arrays(const BatchedEnv<Env>& batched) {
    std::vector<std::uint32_t> lanes(envs());
    const std::size_t families = static_cast<std::size_t>(batched.draws().families);
    for (std::size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = static_cast<std::uint32_t>(i % families);
    arrays_ = {allocate<std::uint32_t>(image_.states.size()), put(lanes.data(), lanes.size()),
               allocate<std::int64_t>(envs()), allocate<std::int64_t>(envs()),
               allocate<std::int64_t>(envs())};
  }

  void make_draws(const BatchedEnv<Env>& batched) {
    if (batched.strata().empty()) return;
    const StrataTable table = batched.strata().table();
    const std::size_t edges = static_cast<std::size_t>(table.count) + 1;
    setup_.strata = {table.count, put(table.edges, edges), put(table.first, edges),
                     put(table.ranges, batched.strata().range_count())};
    setup_.draws = batched.draws();
    arrays_.constants = allocate<std::uint32_t>(image_.constants.size());
    arrays_.stratum = allocate<std::int32_t>(envs());
    const Curriculum& curriculum = batched.curriculum();
    if (curriculum.empty()) return;
    setup_.levels = curriculum.rule();
    setup_.level_strata = put(curriculum.strata().data(), curriculum.strata().size());
    arrays_.standings = allocate<LevelStanding>(envs());
  }

  void make_disturber(const BatchedEnv<Env>& batched, const Disturbance& disturbance) {
    const std::size_t width = envs() * static_cast<std::size_t>(setup_.action_size);
    setup_.disturber = {
        disturbance,
        setup_.seed,
        env_streams(StreamSet::kTraining).disturb,
        batched.draws().families,
        setup_.observation_size,
        setup_.action_size,
        bounds_,
        {allocate<std::int64_t>(envs()), allocate<std::int64_t>(envs()),
         allocate<std::int32_t>(envs()), allocate<float>(width),
         allocate<float>(width * static_cast<std::size_t>(disturbance.most_action_delay()))}};
  }

  // The side's array for an array that the host keeps in the same layout, by name; null for others.
  void* place_of(const std::string& name) const {
    const DisturbanceArrays& disturbed = setup_.disturber.arrays;
    const std::pair<const char*, void*> alike[] = {
        {"envs.episode", arrays_.episode},       {"envs.episode_step", arrays_.episode_step},
        {"envs.total_step", arrays_.total_step}, {"envs.curriculum", arrays_.standings},
        {"envs.stratum", arrays_.stratum},       {"envs.disturbed.steps", disturbed.steps},
        {"envs.disturbed.age", disturbed.age},   {"envs.disturbed.push_left", disturbed.push_left},
        {"envs.disturbed.push", disturbed.push}, {"envs.disturbed.delayed", disturbed.delayed}};
    for (const auto& [known, here] : alike) {
      if (name == known) return here;
    }
    return nullptr;
  }
  template <class F>
  void each_alike(const std::vector<TensorRef>& tensors, F&& f) const {
    for (const TensorRef& tensor : tensors) {
      void* const here = place_of(tensor.name);
      if (here == nullptr) continue;
      f(static_cast<std::byte*>(here), static_cast<std::byte*>(tensor.data), tensor.bytes());
    }
  }

  Side& side_;
  EnvImage<Env> image_;
  EnvSetup<Env> setup_;
  EnvArrays arrays_{};
  ActionBounds bounds_;
};

}  // namespace broadloom::cuda
