// PPO with intrinsic rewards for novel states: random network distillation (Burda et al. 2018,
// arXiv 1810.12894). The critic has one value for each kind of reward.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "broadloom/learn/rnd.h"

namespace broadloom {

struct PpoRndSettings {
  PpoSettings ppo;  // loss.ext_coef and loss.int_coef weigh the two advantages
  RndSettings rnd;
};

struct RndStats {
  double int_reward = 0.0;      // mean over the block, scaled
  double int_reward_raw = 0.0;  // mean over the block, before scaling
  double int_value_loss = 0.0;  // mean over minibatch steps
  double int_explained = 0.0;   // explained variance of intrinsic value targets
  double rnd_loss = 0.0;        // mean over minibatch steps

  template <class Visitor>
  void visit(Visitor&& visit) const {
    visit(NumberInfo{"int_reward", "Intrinsic reward, scaled", "", "charts/int_reward"},
          int_reward);
    visit(NumberInfo{"int_reward_raw", "Intrinsic reward before scaling"}, int_reward_raw);
    visit(NumberInfo{"int_value_loss", "Loss of intrinsic values", "", "losses/int_value_loss"},
          int_value_loss);
    visit(NumberInfo{"int_explained_variance", "Explained variance of intrinsic values", "",
                     "losses/int_explained_variance"},
          int_explained);
    visit(NumberInfo{"rnd_loss", "Loss of RND's predictor", "", "losses/fwd_loss"}, rnd_loss);
  }
};

class PpoRnd final : public Algorithm {
 public:
  // network: its critic has two values. Blocks must have intrinsic rewards and num_envs
  // environments.
  PpoRnd(const ActorCritic& network, const PpoRndSettings& settings, int num_envs, int batch_size,
         int minibatch_count, int observation_size, int action_size, ThreadPool& pool,
         Ranks& ranks = Ranks::alone());
  // Memory of one with the predictor's parameters and Adam moments, bytes.
  static std::size_t bytes(const ActorCritic& network, const PpoRndSettings& settings, int num_envs,
                           int batch_size, int largest_minibatch, int observation_size,
                           int action_size, int threads);

  void initialise(Learner& learner) override;
  Status begin_run(const VecEnv& envs, ObsNormalizers normalizers) override {
    return rnd_.statistics().begin_run(envs, normalizers.policy);
  }
  void begin_block(double progress) override { ppo_.begin_block(progress); }
  // Computes intrinsic rewards.
  void take_block(const Learner& learner, RolloutBlock& block) override;
  // Computes advantages of both kinds of reward.
  void compute_targets(RolloutBlock& block, int begin, int end) const override;
  // Also fails if the first minibatch does not give the prediction errors that the block was
  // rewarded with.
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override;
  int epochs() const override { return ppo_.epochs(); }
  void visit_numbers(const NumberVisitor& visit) const override;
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    rnd_.statistics().append_state(prefix, out);
  }
  void state_restored() override { rnd_.statistics().state_restored(); }
  void set_observer(UpdateObserver* observer) override { ppo_.set_observer(observer); }

 private:
  double int_gamma_, gae_lambda_;
  Ppo ppo_;
  Rnd rnd_;
  RndStats stats_;
};

}  // namespace broadloom
