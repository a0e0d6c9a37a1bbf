#include "broadloom/instruments/policy/policy_instrument.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/nn/distributions.h"
#include "tests/instruments/instrument_scene.h"

namespace broadloom {
namespace {

// No hidden layer: a one-hot state's logits are its column of the head's weights.
NetworkShape table_shape(SpaceKind actions, int states, int outputs) {
  NetworkShape shape;
  shape.observation_size = states;
  shape.action_kind = actions;
  shape.action_outputs = outputs;
  shape.hidden_sizes = {};
  return shape;
}

void set_output(InstrumentScene& scene, std::vector<float>& params, int state, int output,
                float value) {
  params[scene.network.policy_head().at(state, output)] = value;
}

TEST(PolicyInstrument, VarianceOfACategoricalIsTheOneWorkedByHand) {
  InstrumentScene scene(table_shape(SpaceKind::kDiscrete, 2, 2), SpaceKind::kDiscrete);
  scene.probe = one_hot_rows(2);
  std::fill(scene.params.begin(), scene.params.end(), 0.0f);
  set_output(scene, scene.params, 0, 0, std::log(3.0f));  // 3/4 and 1/4 in state 0, even in state 1
  PolicyInstrument instrument(scene.setup());
  // Both probabilities are off their mean by 1/8.
  EXPECT_NEAR(scene.measure(instrument).at("policy/variance"), 1.0 / 64.0, 1e-8);
}

TEST(PolicyInstrument, VarianceOfAGaussianStacksMeansAndDeviations) {
  InstrumentScene scene(table_shape(SpaceKind::kBox, 2, 2), SpaceKind::kDiscrete);
  scene.probe = one_hot_rows(2);
  std::fill(scene.params.begin(), scene.params.end(), 0.0f);
  set_output(scene, scene.params, 0, 0, 3.0f);
  set_output(scene, scene.params, 1, 0, -1.0f);
  PolicyInstrument instrument(scene.setup());
  EXPECT_NEAR(scene.measure(instrument).at("policy/variance"), 4.0 / 4.0, 1e-6);
}

TEST(PolicyInstrument, APolicyThatTellsNoStatesApartHasNoVariance) {
  InstrumentScene scene(table_shape(SpaceKind::kDiscrete, 3, 4), SpaceKind::kDiscrete);
  scene.probe = one_hot_rows(3);
  std::fill(scene.params.begin(), scene.params.end(), 0.0f);
  for (int s = 0; s < 3; ++s) set_output(scene, scene.params, s, 2, 5.0f);
  PolicyInstrument instrument(scene.setup());
  EXPECT_NEAR(scene.measure(instrument).at("policy/variance"), 0.0, 1e-15);
}

NetworkShape box_shape(SpaceKind actions) {
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = actions;
  shape.action_outputs = 3;
  shape.hidden_sizes = {16, 8};
  return shape;
}

// A block as `before` acted in it; 100 rows are a full tile and a part.
void act(InstrumentScene& scene) {
  Random random(7, Purpose::kUser, 0, 0);
  for (float& x : scene.block.observations.floats()) x = static_cast<float>(random.normal());
  scene.probe.resize(std::size_t{kProbeStates} * 4);
  for (float& x : scene.probe) x = static_cast<float>(random.normal());
  TileWorkspace<float> work = scene.network.make_workspace<float>();
  std::vector<float> terms(3 * kTileRows), actions(3 * kTileRows), log_probs(kTileRows);
  const bool discrete = scene.network.shape().action_kind == SpaceKind::kDiscrete;
  for (std::size_t i = 0; i < scene.block.size(); ++i) {
    scene.network.forward(scene.before.data(), &scene.block.observations.floats()[i * 4], 1, work);
    for (int a = 0; a < scene.block.A; ++a) {
      actions[a * kTileRows] =
          discrete ? static_cast<float>(random.below(3)) : static_cast<float>(random.normal());
      scene.block.actions[i * scene.block.A + a] = actions[a * kTileRows];
    }
    if (discrete) {
      categorical_normalisers(work.policy.data(), 3, 1, terms.data());
      categorical_log_probs(work.policy.data(), terms.data(), actions.data(), 3, 1,
                            log_probs.data());
    } else {
      gaussian_log_probs(work.policy.data(), scene.before.data() + scene.network.log_std_offset(),
                         actions.data(), 3, 1, terms.data(), log_probs.data());
    }
    scene.block.log_probs[i] = log_probs[0];
  }
}

TEST(PolicyInstrument, AnUpdateThatMovesNothingIsNoShift) {
  for (const SpaceKind actions : {SpaceKind::kDiscrete, SpaceKind::kBox}) {
    InstrumentScene scene(box_shape(actions), SpaceKind::kBox, 25, 4);
    act(scene);
    PolicyInstrument instrument(scene.setup());
    const auto n = scene.measure(instrument);
    for (const char* key : {"policy/kl", "policy/kl_k1", "policy/kl_k3"}) EXPECT_EQ(n.at(key), 0.0);
    EXPECT_EQ(n.at("policy/min_ratio"), 1.0);
    EXPECT_EQ(n.at("policy/max_ratio"), 1.0);
    EXPECT_EQ(n.at("policy/ess"), 100.0);
  }
}

// A Gaussian whose first mean moves by d everywhere: KL d^2 / (2 s^2) in every state.
TEST(PolicyInstrument, SeesABiasThatMoved) {
  InstrumentScene scene(box_shape(SpaceKind::kBox), SpaceKind::kBox, 25, 4);
  act(scene);
  scene.params[scene.network.policy_head().bias] += 0.25f;
  PolicyInstrument instrument(scene.setup());
  const auto n = scene.measure(instrument);
  EXPECT_NEAR(n.at("policy/kl"), 0.5 * 0.0625, 1e-7);
  EXPECT_GT(n.at("policy/kl_k3"), 0.0);
  EXPECT_LT(n.at("policy/ess"), 99.0);
  EXPECT_GT(n.at("policy/ess"), 80.0);
  EXPECT_LT(n.at("policy/min_ratio"), 1.0);
  EXPECT_GT(n.at("policy/max_ratio"), 1.0);
}

// All logits of one action up: the mean over states of the KL, worked out state by state.
TEST(PolicyInstrument, KlIsTheMeanOverTheBlock) {
  InstrumentScene scene(box_shape(SpaceKind::kDiscrete), SpaceKind::kBox, 25, 4);
  act(scene);
  scene.params[scene.network.policy_head().bias + 1] += 0.5f;
  PolicyInstrument instrument(scene.setup());
  const auto n = scene.measure(instrument);
  TileWorkspace<float> work = scene.network.make_workspace<float>();
  double expected = 0.0;
  for (std::size_t i = 0; i < scene.block.size(); ++i) {
    scene.network.forward(scene.before.data(), &scene.block.observations.floats()[i * 4], 1, work);
    double sum = 0.0;
    for (int a = 0; a < 3; ++a) sum += std::exp(static_cast<double>(work.policy[a * kTileRows]));
    const double p = std::exp(static_cast<double>(work.policy[kTileRows])) / sum;
    expected += std::log(1.0 + p * (std::exp(0.5) - 1.0)) - 0.5 * p;
  }
  EXPECT_NEAR(n.at("policy/kl"), expected / scene.block.size(), 1e-6);
}

// The probe is fixed: a block of another size gives the same variance.
TEST(PolicyInstrument, VarianceDoesNotDependOnTheBlock) {
  InstrumentScene small(box_shape(SpaceKind::kDiscrete), SpaceKind::kBox, 2, 1);
  InstrumentScene large(box_shape(SpaceKind::kDiscrete), SpaceKind::kBox, 64, 4);
  act(small);
  act(large);
  large.probe = small.probe;
  PolicyInstrument a(small.setup()), b(large.setup());
  EXPECT_EQ(small.measure(a).at("policy/variance"), large.measure(b).at("policy/variance"));
}

}  // namespace
}  // namespace broadloom
