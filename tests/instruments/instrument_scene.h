// A network, a block and a probe that instruments look at, for tests of one instrument.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/instruments/instrument.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

struct InstrumentScene {
  explicit InstrumentScene(NetworkShape shape, SpaceKind observation_kind, int num_steps = 4,
                           int num_envs = 2)
      : network(std::move(shape)),
        before(network.parameter_count()),
        params(before),
        block(num_steps, num_envs, network.shape().observation_size, action_size(network), 0),
        observations(observation_kind) {
    network.initialise(3, params.data());
    before = params;
  }
  static int action_size(const ActorCritic& network) {
    const NetworkShape& shape = network.shape();
    return shape.action_kind == SpaceKind::kDiscrete ? 1 : shape.action_outputs;
  }

  InstrumentSetup setup() const {
    return {.network = network,
            .num_steps = block.T,
            .num_envs = block.N,
            .observation_size = block.D,
            .action_size = block.A,
            .observation_kind = observations,
            .threads = pool.threads(),
            .probe = probe,
            .action = {}};
  }
  InstrumentView view() { return {1, network, block, params, before, normalizer, pool}; }
  // One measured iteration, with an update from `before` to `params`.
  std::map<std::string, double> measure(Instrument& instrument) {
    instrument.every_block(view());
    instrument.before_update(view());
    if (UpdateObserver* observer = instrument.observer()) {
      MinibatchReport batch;
      batch.gradient = gradient;
      observer->on_batch(batch);
      observer->on_minibatch(batch);
    }
    instrument.after_update(view());
    std::map<std::string, double> numbers;
    instrument.visit_numbers(
        [&](const NumberInfo& info, double value) { numbers[info.name] = value; });
    return numbers;
  }

  ActorCritic network;
  std::vector<float> before, params, probe;
  std::vector<float> gradient{1.0f, 2.0f};
  RolloutBlock block;
  SpaceKind observations;
  const ObsNormalizer* normalizer = nullptr;
  ThreadPool pool{2};
};

inline std::vector<float> one_hot_rows(int size) {
  std::vector<float> rows(static_cast<std::size_t>(size) * size);
  for (int i = 0; i < size; ++i) rows[static_cast<std::size_t>(i) * size + i] = 1.0f;
  return rows;
}

}  // namespace broadloom
