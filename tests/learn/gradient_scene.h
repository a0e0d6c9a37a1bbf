// A small network and a block that it acted in, for tests of updates.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {

// A block that the network itself acted in, on random observations.
struct Scene {
  static constexpr int kObservation = 4;
  static constexpr int kActions = 3;
  static constexpr std::uint64_t kSeed = 1;  // of the minibatches
  static constexpr std::int64_t kIteration = 1;

  Scene(int num_steps, int num_envs)
      : network(shape()),
        learner(network.parameter_count()),
        block(num_steps, num_envs, kObservation, 1, 0) {
    network.initialise(5, learner.params.data());
    learner.learning_rate = 1e-3;
    Random random(11, Purpose::kUser, 0, 0);
    for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
    for (float& x : block.advantages) x = static_cast<float>(random.normal());
    TileWorkspace<float> work = network.make_workspace<float>();
    std::vector<float> normaliser(kTileRows), action(kTileRows), log_prob(kTileRows);
    // One row at a time: the update's tiles must find the same bits.
    for (std::size_t i = 0; i < block.size(); ++i) {
      network.forward(learner.params.data(), &block.observations.floats()[i * kObservation], 1,
                      work);
      const float* logits = work.policy.data();
      action[0] = static_cast<float>(random.below(kActions));
      categorical_normalisers(logits, kActions, 1, normaliser.data());
      categorical_log_probs(logits, normaliser.data(), action.data(), kActions, 1, log_prob.data());
      block.actions[i] = action[0];
      block.log_probs[i] = log_prob[0];
      block.values[i] = work.values[0];
    }
  }

  static NetworkShape shape() {
    NetworkShape shape;
    shape.observation_size = kObservation;
    shape.action_outputs = kActions;
    shape.hidden_sizes = {32, 16};
    return shape;
  }

  Status update(const PpoSettings& settings, int minibatches, UpdateObserver* observer = nullptr) {
    ThreadPool pool(2);
    Ppo ppo(network, settings, static_cast<int>(block.size()), minibatches, kObservation, 1, pool);
    ppo.set_observer(observer);
    const Status status = ppo.update(block, kSeed, kIteration, learner);
    stats = ppo.stats();
    epochs = ppo.epochs();
    return status;
  }

  ActorCritic network;
  Learner learner;
  RolloutBlock block;
  UpdateStats stats;
  int epochs = 0;
};

}  // namespace broadloom
