// PQN, parallelised Q-network (Gallici et al. 2024, arXiv 2407.04811): Q(lambda) on blocks of many
// environments, without target network and replay buffer. Layer normalisation keeps it stable.
#pragma once

#include <cstdint>

#include "broadloom/learn/algorithm.h"
#include "broadloom/learn/epsilon_greedy.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/rollout/advantages.h"

namespace broadloom {

struct PqnSettings {
  double gamma = 0.99;
  double gae_lambda = 0.65;  // of Q(lambda)
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  EpsilonSchedule epsilon;
  double vf_coef = 1.0;
  int update_epochs = 2;
  double max_grad_norm = 10.0;  // 0: no clipping
  double adam_eps = 1e-8;
  int steps_together = 1;  // see MinibatchSettings
};

// Means over all minibatch steps of one update, except epsilon.
struct PqnStats {
  double td_loss = 0.0;
  double q_values = 0.0;   // of the actions taken
  double epsilon = 0.0;    // of the block's collection
  double grad_norm = 0.0;  // before clipping

  template <class Visitor>
  void visit(Visitor&& visit) const {
    visit(NumberInfo{"td_loss", "TD loss", "", "losses/td_loss"}, td_loss);
    visit(NumberInfo{"q_values", "Q of the actions taken", "", "losses/q_values"}, q_values);
    visit(NumberInfo{"epsilon", "Epsilon", "", "charts/epsilon"}, epsilon);
    visit(NumberInfo{"grad_norm", "Gradient norm before clipping", "", "losses/grad_norm"},
          grad_norm);
  }

  // Adds one minibatch step. Means are sums until finish().
  void add(const MinibatchReport& minibatch, const PqnSums& sums);
  void finish(int steps);
};

// Fails if a loss or gradient is not finite, or if the first minibatch does not give the values of
// its block.
Status check_minibatch(const MinibatchReport& minibatch, const PqnSums& sums,
                       std::int64_t iteration);

class Pqn final : public Algorithm, private MinibatchRules<PqnLoss> {
 public:
  // network: its outputs are action values. minibatch_count: minibatches per epoch of a block of
  // batch_size B samples.
  Pqn(const ActorCritic& network, const PqnSettings& settings, int batch_size, int minibatch_count,
      int observation_size, ThreadPool& pool, Ranks& ranks = Ranks::alone());
  // Memory of one, bytes.
  static std::size_t bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                           int threads);

  void begin_block(double progress) override { epsilon_ = settings_.epsilon.epsilon(progress); }
  // G_t = r_t + gamma (lambda G_{t+1} + (1 - lambda) max_a Q(s_{t+1}, a)). This is the return of
  // generalised advantage estimation with V = max_a Q.
  void compute_targets(RolloutBlock& block, int begin, int end) const override;
  // Also fails if the first minibatch does not give the block's values.
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override;
  int epochs() const override { return update_.epochs(); }
  void visit_numbers(const NumberVisitor& visit) const override { stats_.visit(visit); }
  void set_observer(UpdateObserver* observer) override { update_.set_observer(observer); }

 private:
  PqnLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override { return {}; }
  void describe(const PqnSums&, MinibatchReport&) const override {}
  Status before_step(const MinibatchReport& minibatch, const PqnSums& sums,
                     Learner& learner) override;

  PqnSettings settings_;
  double epsilon_;
  MinibatchUpdate<PqnLoss> update_;
  PqnStats stats_;
  std::int64_t iteration_ = 0;
};

}  // namespace broadloom
