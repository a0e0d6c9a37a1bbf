// Compares three updates in turn with those of sb3-contrib's RecurrentPPO and MaskablePPO, and the
// log-probabilities and entropies of the first parameters. make_contrib_updates.py recorded them.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "broadloom/nn/policy_distribution.h"
#include "tests/learn/recorded.h"

namespace broadloom::contrib_updates {
namespace {

constexpr int kSteps = 12, kEnvs = 6, kSeen = 3, kWidth = 8, kUpdates = 3;

// A recorded case, with a block of ours.
struct Case {
  Case(const Recorded& file, const std::string& name, const nlohmann::json& recorded)
      : heads(recorded.at("heads").get<std::vector<int>>()),
        is_recurrent(name.starts_with("recurrent")),
        length(recorded.at("length")),
        units(recorded.value("units", 0)),
        network(shape()),
        block(sizes()) {
    show(file.tensor(name + ".observations"), block);
    block.actions = file.tensor(name + ".actions");
    block.advantages = file.tensor(name + ".advantages");
    if (is_recurrent) {
      first_states = file.tensor(name + ".states");
      const std::vector<float> ended = file.tensor(name + ".ended");
      std::copy(ended.begin(), ended.end(), block.terminated.begin());
    } else {
      const std::vector<float> valid = file.tensor(name + ".valid");
      std::copy(valid.begin(), valid.end(), block.valid_actions.begin());
    }
    settings.loss.vf_coef = 1.0;
    settings.loss.clip_vloss = !recorded.at("clip_range_vf").is_null();
    if (settings.loss.clip_vloss) settings.loss.clip_vloss_coef = recorded.at("clip_range_vf");
    settings.loss.clips_value_alone = true;
    settings.shuffle = Shuffle::kOff;
    settings.steps_together = length;
  }

  NetworkShape shape() const {
    NetworkShape shape;
    shape.observation_size = kSeen;
    for (const int count : heads) shape.action_outputs += count;
    if (heads.size() > 1) {
      shape.action_kind = SpaceKind::kMultiDiscrete;
      shape.action_heads = heads;
    }
    shape.masked = !is_recurrent;
    shape.hidden_sizes = {kWidth};
    shape.recurrent = is_recurrent ? CellKind::kLstm : CellKind::kNone;
    shape.recurrent_units = units;
    return shape;
  }
  BlockSizes sizes() const {
    return {.T = kSteps,
            .N = kEnvs,
            .D = kSeen,
            .A = static_cast<int>(heads.size()),
            .M = is_recurrent ? 0 : network.shape().action_outputs,
            .state_size = static_cast<int>(network.state_size()),
            .sequence = is_recurrent ? length : 0};
  }

  std::vector<int> heads;
  bool is_recurrent;
  int length;
  int units;  // of the LSTM before the hidden layer, or 0
  ActorCritic network;
  RolloutBlock block;
  std::vector<float> first_states;  // [N, state_size]
  PpoSettings settings;
};

// The policy row by row through the block, from its first states on.
template <class Real>
class Play {
 public:
  Play(Case& recorded, const std::vector<Real>& params)
      : recorded_(recorded),
        params_(params),
        work_(recorded.network.make_workspace<Real>()),
        size_(recorded.network.state_size()),
        distribution_(recorded.network.shape()) {
    std::copy_n(recorded.first_states.begin(), recorded.first_states.size(),
                std::back_inserter(states_));
  }
  // Calls visit(row, log_prob, entropy, value) for each row in turn.
  template <class Visit>
  void run(Visit&& visit) {
    RolloutBlock& block = recorded_.block;
    const std::size_t heads = recorded_.heads.size();
    const auto rows = static_cast<std::size_t>(PolicyDistribution::term_rows(network().shape()));
    std::vector<Real> actions(heads * kTileRows), terms(rows * kTileRows),
        normalisers(heads * kTileRows), head_entropies(heads * kTileRows), log_prob(kTileRows),
        entropy(kTileRows);
    for (int t = 0; t < block.T; ++t) {
      for (int n = 0; n < block.N; ++n) {
        const std::size_t i = block.index(t, n);
        const float* seen = &block.observations.floats()[i * kSeen];
        const std::vector<Real> x(seen, seen + kSeen);
        NetworkInput<Real> input(x.data());
        input.valid = block.valid_row(i);
        begin(t, n);
        network().forward(params_.data(), input, 1, work_);
        keep(n);
        for (std::size_t h = 0; h < heads; ++h) {
          actions[h * kTileRows] = static_cast<Real>(block.actions[i * heads + h]);
        }
        const PolicyRows<Real> row{
            work_.policy.data(),  nullptr, actions.data(), 1, terms.data(), normalisers.data(),
            head_entropies.data()};
        distribution_.log_probs(row, log_prob.data());
        distribution_.entropies(row, entropy.data());
        visit(i, log_prob[0], entropy[0], work_.values[0]);
      }
    }
  }

 private:
  const ActorCritic& network() const { return recorded_.network; }
  void begin(int t, int n) {
    RolloutBlock& block = recorded_.block;
    if (size_ == 0) return;
    Real* state = &states_[static_cast<std::size_t>(n) * size_];
    if (block.begins_at(t, n)) std::fill_n(state, size_, Real(0));
    if (t % block.sequence_steps() == 0) {
      std::copy_n(state, size_, &block.states[block.sequence_row(t, n) * size_]);
    }
    work_.states.begin(1);
    std::copy_n(state, size_, work_.states.before.begin());
  }
  void keep(int n) {
    if (size_ > 0) network().copy_state(work_, 0, &states_[static_cast<std::size_t>(n) * size_]);
  }

  Case& recorded_;
  const std::vector<Real>& params_;
  TileWorkspace<Real> work_;
  std::size_t size_;
  PolicyDistribution distribution_;
  std::vector<Real> states_;
};

void expect_first_policy(const Recorded& file, const std::string& name, Case& recorded) {
  const std::vector<float> before = file.tensor(name + ".before");
  const std::vector<double> params(before.begin(), before.end());
  const auto log_probs = file.tensor<double>(name + ".log_probs");
  const auto entropies = file.tensor<double>(name + ".entropies");
  Play<double>(recorded, params).run([&](std::size_t i, double log_prob, double entropy, double) {
    ASSERT_NEAR(log_prob, log_probs[i], 1e-6) << name << ", row " << i;
    ASSERT_NEAR(entropy, entropies[i], 1e-6) << name << ", row " << i;
  });
}

void expect_three_updates(const Recorded& file, const std::string& name, const nlohmann::json& one,
                          int threads) {
  Case recorded(file, name, one);
  Learner learner = learner_at(file.tensor(name + ".before"), recorded.network);
  learner.learning_rate = 1e-3;
  ThreadPool pool(threads);
  RolloutBlock& block = recorded.block;
  Ppo ppo(recorded.network, recorded.settings, kSteps * kEnvs, one.at("minibatches"), kSeen,
          block.A, pool);
  for (int update = 0; update < kUpdates; ++update) {
    const std::vector<float> params(learner.params.begin(), learner.params.end());
    Play<float>(recorded, params).run([&](std::size_t i, float log_prob, float, float value) {
      block.log_probs[i] = log_prob;
      block.values[i] = value;
    });
    ppo.take_block(learner, block);
    const Status status = ppo.update(block, 1, 1, learner);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  SCOPED_TRACE(name);
  expect_near(learner.params, file.tensor(name + ".after"));
}

TEST(ContribUpdates, PoliciesAndThreeUpdatesAreTheRecordedOnes) {
  const Recorded file("contrib_updates.safetensors");
  const nlohmann::json cases = file.cases();
  ASSERT_EQ(cases.size(), 5u);
  for (const auto& [name, one] : cases.items()) {
    Case recorded(file, name, one);
    expect_first_policy(file, name, recorded);
    for (const int threads : {1, 2}) expect_three_updates(file, name, one, threads);
  }
}

}  // namespace
}  // namespace broadloom::contrib_updates
