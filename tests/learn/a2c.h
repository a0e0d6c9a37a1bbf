// Advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783, the synchronous form), for Discrete
// actions: one step per block on the mean of -A log pi - ent_coef H + vf_coef (V - R)^2 / 2. It
// shows that an algorithm needs only its own file.
#pragma once

#include <cmath>
#include <memory>

#include "broadloom/config/config.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/learn/minibatch_update-inl.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/settings.h"

namespace broadloom {

struct A2cLoss {
  struct Tile {
    Tile(int observation_size, int critic_observation_size, int outputs)
        : observations(static_cast<std::size_t>(kTileRows) * observation_size),
          critic_observations(static_cast<std::size_t>(kTileRows) * critic_observation_size),
          probs(static_cast<std::size_t>(kTileRows) * outputs) {
      for (auto* column :
           {&actions, &advantages, &targets, &normalisers, &log_probs, &entropies, &weights}) {
        column->resize(kTileRows);
      }
    }
    std::size_t bytes() const {
      return sizeof(float) *
             (observations.size() + critic_observations.size() + probs.size() + 7 * kTileRows);
    }

    NetworkInput<float> input() const {
      const float* seen = observations.data();
      return {seen, critic_observations.empty() ? seen : critic_observations.data()};
    }

    int rows = 0;
    AlignedVector<float> observations;                  // [kTileRows, D]
    AlignedVector<float> critic_observations;           // what only the critic reads; or empty
    AlignedVector<float> probs;                         // [outputs, kTileRows]
    AlignedVector<float> actions, advantages, targets;  // [kTileRows] each
    AlignedVector<float> normalisers, log_probs, entropies, weights;
  };
  struct Sums {
    double policy_loss = 0.0, value_loss = 0.0, entropy = 0.0, advantage = 0.0;
    void add(const Sums& other) {
      policy_loss += other.policy_loss;
      value_loss += other.value_loss;
      entropy += other.entropy;
      advantage += other.advantage;
    }
  };
  struct Context {};

  static Tile make_tile(const ActorCritic& network, int observation_size, int) {
    return {observation_size, network.shape().critic_observation_size,
            network.shape().action_outputs};
  }

  static void gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide, Tile& tile) {
    tile.rows = rows;
    for (int r = 0; r < rows; ++r) {
      const std::size_t i = static_cast<std::size_t>(indices[r]);
      const std::size_t row = static_cast<std::size_t>(r);
      block.observations.read(i, 1, &tile.observations[row * block.D]);
      if (block.has_critic()) {
        block.critic_observations.read(i, 1, &tile.critic_observations[row * block.critic.size]);
      }
      tile.actions[r] = block.actions[i];
      tile.advantages[r] = block.advantages[i];
      tile.targets[r] = block.advantages[i] + block.values[i];
    }
  }

  void add_gradient(const ActorCritic& network, int samples, const float* params,
                    const float* transposed, Tile& tile, TileWorkspace<float>& work, float* grads,
                    Sums& sums, NetworkSide side) const {
    const float share = 1.0f / static_cast<float>(samples);
    network.forward(params, tile.input(), tile.rows, work, side);
    if (side != NetworkSide::kValue) policy_side(share, tile, work, sums);
    if (side != NetworkSide::kPolicy) value_side(share, tile, work, sums);
    network.backward(params, transposed, tile.input(), tile.rows, work, grads, side);
  }

  void policy_side(float share, Tile& tile, TileWorkspace<float>& work, Sums& sums) const {
    const float* logits = work.policy.data();
    categorical_normalisers(logits, outputs, tile.rows, tile.normalisers.data());
    categorical_log_probs(logits, tile.normalisers.data(), tile.actions.data(), outputs, tile.rows,
                          tile.log_probs.data());
    categorical_entropies(logits, tile.normalisers.data(), outputs, tile.rows, tile.probs.data(),
                          tile.entropies.data());
    for (int r = 0; r < tile.rows; ++r) {
      tile.weights[r] = -share * tile.advantages[r];
      sums.policy_loss -= static_cast<double>(tile.advantages[r]) * tile.log_probs[r];
      sums.entropy += tile.entropies[r];
      sums.advantage += tile.advantages[r];
    }
    categorical_backward(logits, tile.normalisers.data(), tile.probs.data(), tile.entropies.data(),
                         tile.actions.data(), tile.weights.data(), -ent_coef * share, outputs,
                         tile.rows, work.policy_delta.data());
  }

  void value_side(float share, const Tile& tile, TileWorkspace<float>& work, Sums& sums) const {
    for (int r = 0; r < tile.rows; ++r) {
      const float error = work.values[r] - tile.targets[r];
      work.values_delta[r] = vf_coef * share * error;
      sums.value_loss += 0.5 * error * error;
    }
  }

  int outputs;
  float ent_coef, vf_coef;
};

class A2c : public Algorithm, private MinibatchRules<A2cLoss> {
 public:
  struct Numbers {
    double policy_loss = 0.0, value_loss = 0.0, entropy = 0.0, grad_norm = 0.0, advantage = 0.0;

    template <class Visitor>
    void visit(Visitor&& visit) const {
      visit(NumberInfo{"policy_loss", "Policy loss", "", "losses/policy_loss"}, policy_loss);
      visit(NumberInfo{"value_loss", "Value loss", "", "losses/value_loss"}, value_loss);
      visit(NumberInfo{"entropy", "Entropy", "nats", "losses/entropy"}, entropy);
      visit(NumberInfo{"grad_norm", "Gradient norm before clipping", "", "losses/grad_norm"},
            grad_norm);
      visit(NumberInfo{"mean_advantage", "Mean advantage of a block"}, advantage);
    }
  };

  explicit A2c(const AlgorithmSetup& setup)
      : config_(setup.config),
        update_(setup.network,
                {setup.network.shape().action_outputs, static_cast<float>(config_.ent_coef),
                 static_cast<float>(config_.vf_coef)},
                {1, config_.max_grad_norm, config_.adam_eps},
                static_cast<int>(config_.batch_size()), 1, setup.spec.observation_size(), 1,
                setup.pool) {}

  void compute_targets(RolloutBlock& block, int begin, int end) const override {
    compute_advantages(block, begin, end, config_.gamma, config_.gae_lambda,
                       truncation_mode(config_));
  }
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override {
    return update_.run(block, seed, iteration, learner, *this);
  }
  int epochs() const override { return update_.epochs(); }
  void visit_numbers(const NumberVisitor& visit) const override { numbers_.visit(visit); }
  void set_observer(UpdateObserver* observer) override { update_.set_observer(observer); }

  static AlgorithmEntry entry() {
    return {
        .name = "a2c",
        .make = [](const AlgorithmSetup& setup) -> std::unique_ptr<Algorithm> {
          return std::make_unique<A2c>(setup);
        },
        .bytes =
            [](const Config& config, const ActorCritic& network, const EnvSpec& spec, int threads) {
              return PartialGradients<A2cLoss>::bytes(network,
                                                      static_cast<int>(config.batch_size()),
                                                      spec.observation_size(), 1, threads);
            },
        .check =
            [](const Config&, const EnvSpec& spec) {
              if (spec.action.kind == SpaceKind::kDiscrete) return Status();
              return invalid(
                  "algorithm=a2c: got Box actions, expected Discrete ones; "
                  "algorithm=ppo takes both");
            },
        .declare_numbers =
            [](const InfoVisitor& declare) {
              Numbers().visit([&](const NumberInfo& info, double) { declare(info); });
            }};
  }

 private:
  A2cLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override { return {}; }
  void describe(const A2cLoss::Sums& sums, MinibatchReport& report) const override {
    report.entropy = sums.entropy / report.samples;
  }
  Status before_step(const MinibatchReport& block, const A2cLoss::Sums& sums, Learner&) override {
    const double samples = block.samples;
    numbers_ = {sums.policy_loss / samples, sums.value_loss / samples, sums.entropy / samples,
                block.norm, sums.advantage / samples};
    if (std::isfinite(block.norm + sums.policy_loss + sums.value_loss)) return {};
    return {ErrorKind::kNumeric, "loss or gradient is not finite. Try a smaller learning_rate."};
  }

  const Config& config_;
  MinibatchUpdate<A2cLoss> update_;
  Numbers numbers_;
};

}  // namespace broadloom
