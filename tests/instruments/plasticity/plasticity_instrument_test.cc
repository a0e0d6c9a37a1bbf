#include "broadloom/instruments/plasticity/plasticity_instrument.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "broadloom/core/random.h"
#include "broadloom/instruments/probe_states.h"
#include "tests/instruments/instrument_scene.h"

namespace broadloom {
namespace {

using Numbers = std::map<std::string, double>;

// One-hot states: a state's row of the first layer's weights, plus bias, is what a ReLU layer makes
// of it. Two units over three states, shared by policy and value.
NetworkShape table_shape(Activation activation) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_outputs = 2;
  shape.hidden_sizes = {2};
  shape.activation = activation;
  shape.shared_encoder = true;
  return shape;
}

void set_table(InstrumentScene& scene, const std::vector<float>& weights,
               const std::vector<float>& biases) {
  const LinearSlice& layer = scene.network.encoder().layers()[0].slice;
  std::copy(weights.begin(), weights.end(), scene.params.begin() + layer.weight);
  std::copy(biases.begin(), biases.end(), scene.params.begin() + layer.bias);
}

Numbers measure_table(Activation activation, const std::vector<float>& weights,
                      const std::vector<float>& biases) {
  InstrumentScene scene(table_shape(activation), SpaceKind::kDiscrete);
  scene.probe = one_hot_rows(3);
  set_table(scene, weights, biases);
  PlasticityInstrument instrument(scene.setup());
  return scene.measure(instrument);
}

// F = [3 0; 4 5; 0 0] has the singular values sqrt(45) and sqrt(5).
TEST(PlasticityInstrument, RanksAreThoseWorkedByHand) {
  const Numbers n = measure_table(Activation::kRelu, {3, 0, 4, 5, 0, 0}, {0, 0});
  EXPECT_EQ(n.at("plasticity/encoder_approximate_rank"), 2.0);  // 45 of 50 are too few
  const double p = 3.0 / 4.0;                                   // sqrt(45) : sqrt(5) = 3 : 1
  EXPECT_NEAR(n.at("plasticity/encoder_effective_rank"),
              std::exp(-p * std::log(p) - (1 - p) * std::log(1 - p)), 1e-12);
  EXPECT_EQ(n.at("plasticity/encoder_srank"), 2.0);
  EXPECT_EQ(n.at("plasticity/encoder_feature_rank"), 2.0);
  EXPECT_EQ(n.at("plasticity/encoder_numeric_rank"), 2.0);
  EXPECT_NEAR(n.at("plasticity/encoder_feature_norm"), (3.0 + std::sqrt(41.0)) / 3.0, 1e-12);
  EXPECT_EQ(n.count("plasticity/actor_srank"), 0u);
}

TEST(PlasticityInstrument, ADeadReluIsDormantInEverySense) {
  const Numbers n = measure_table(Activation::kRelu, {3, 1, 4, 1, 0, 1}, {0, -2});
  for (const char* key : {"dormant", "tau_dormant", "silent", "constant"}) {
    EXPECT_EQ(n.at(std::string("plasticity/encoder_layer1_") + key), 50.0) << key;
    EXPECT_EQ(n.at(std::string("plasticity/") + key), 50.0) << key;
  }
  EXPECT_EQ(n.at("plasticity/encoder_numeric_rank"), 1.0);
}

TEST(PlasticityInstrument, ASaturatedTanhIsConstantOnly) {
  const Numbers n = measure_table(Activation::kTanh, {1, 1, -1, 1, 0, -1}, {0, 20});
  EXPECT_EQ(n.at("plasticity/constant"), 50.0);
  for (const char* key : {"dormant", "tau_dormant", "silent"}) {
    EXPECT_EQ(n.at(std::string("plasticity/") + key), 0.0) << key;
  }
}

TEST(PlasticityInstrument, UnitsInAnotherOrderGiveTheSame) {
  const Numbers a = measure_table(Activation::kTanh, {3, 0, 4, 5, -1, 2}, {0.1f, -0.3f});
  const Numbers b = measure_table(Activation::kTanh, {0, 3, 5, 4, 2, -1}, {-0.3f, 0.1f});
  for (const auto& [name, value] : a) EXPECT_NEAR(value, b.at(name), 1e-6) << name;
}

TEST(PlasticityInstrument, NormAndGradientAreOfAllParameters) {
  InstrumentScene scene(table_shape(Activation::kTanh), SpaceKind::kDiscrete);
  scene.probe = one_hot_rows(3);
  std::fill(scene.params.begin(), scene.params.end(), 0.0f);
  scene.params.front() = 3.0f;
  scene.params.back() = -4.0f;
  scene.gradient = {0.0f, 1.0f, 1.0f, 0.0f, 1.0f};
  PlasticityInstrument instrument(scene.setup());
  const Numbers n = scene.measure(instrument);
  EXPECT_NEAR(n.at("plasticity/weight_norm"), 5.0, 1e-12);
  EXPECT_NEAR(n.at("plasticity/grad_kurtosis"), 7.0 / 6.0, 1e-9);
  EXPECT_EQ(n.at("plasticity/grad_zeros"), 40.0);
  EXPECT_EQ(n.at("plasticity/silent"), 50.0);  // one unit has a weight of its own
}

NetworkShape box_shape(std::vector<int> hidden, bool shared) {
  NetworkShape shape;
  shape.observation_size = 5;
  shape.action_outputs = 3;
  shape.hidden_sizes = std::move(hidden);
  shape.shared_encoder = shared;
  return shape;
}

std::vector<float> random_probe(std::uint64_t seed) {
  Random random(seed, Purpose::kUser, 0, 0);
  std::vector<float> probe(std::size_t{kProbeStates} * 5);
  for (float& x : probe) x = static_cast<float>(random.normal());
  return probe;
}

TEST(PlasticityInstrument, NamesEveryLayerOfEveryBody) {
  std::set<std::string> keys;
  for (const bool shared : {false, true}) {
    InstrumentScene scene(box_shape({70, 20}, shared), SpaceKind::kBox);
    scene.probe = random_probe(1);
    PlasticityInstrument instrument(scene.setup());
    const Numbers n = scene.measure(instrument);
    EXPECT_EQ(n.size(), 7u + (shared ? 1u : 2u) * (6u + 2u * 4u));
    for (const auto& [name, value] : n) {
      EXPECT_EQ(name.rfind("plasticity/", 0), 0u);
      EXPECT_TRUE(std::isfinite(value)) << name;
      keys.insert(name);
    }
  }
  EXPECT_EQ(keys.count("plasticity/encoder_layer2_silent"), 1u);
  EXPECT_EQ(keys.count("plasticity/critic_layer1_constant"), 1u);
}

TEST(PlasticityInstrument, ANetworkWithoutHiddenLayersHasItsParametersOnly) {
  InstrumentScene scene(box_shape({}, false), SpaceKind::kBox);
  scene.probe = random_probe(1);
  PlasticityInstrument instrument(scene.setup());
  const Numbers n = scene.measure(instrument);
  EXPECT_EQ(n.size(), 7u);
  EXPECT_GT(n.at("plasticity/weight_norm"), 0.0);
  EXPECT_TRUE(std::isnan(n.at("plasticity/dormant")));
}

// The states that the block happens to hold, and how many they are, play no part.
TEST(PlasticityInstrument, LooksAtTheProbeAlone) {
  InstrumentScene small(box_shape({16, 8}, false), SpaceKind::kBox, 2, 1);
  InstrumentScene large(box_shape({16, 8}, false), SpaceKind::kBox, 64, 32);
  for (InstrumentScene* scene : {&small, &large}) scene->probe = random_probe(2);
  std::fill(large.block.observations.floats().begin(), large.block.observations.floats().end(),
            9.0f);
  PlasticityInstrument a(small.setup()), b(large.setup());
  EXPECT_EQ(small.measure(a), large.measure(b));
}

TEST(PlasticityInstrument, SeesTheProbeThroughTheNormaliser) {
  InstrumentScene raw(box_shape({16, 8}, false), SpaceKind::kBox);
  raw.probe = random_probe(3);
  InstrumentScene seen(box_shape({16, 8}, false), SpaceKind::kBox);
  seen.probe = random_probe(3);
  for (float& x : seen.probe) x = 100.0f + 7.0f * x;
  ObsNormalizer normalizer(5, 10.0, 1);
  normalizer.accumulate(0, seen.probe.data(), kProbeStates);
  normalizer.commit();
  seen.normalizer = &normalizer;
  PlasticityInstrument a(raw.setup()), b(seen.setup());
  const Numbers n = raw.measure(a), m = seen.measure(b);
  EXPECT_NEAR(n.at("plasticity/actor_feature_norm"), m.at("plasticity/actor_feature_norm"), 0.05);
  seen.normalizer = nullptr;
  EXPECT_GT(seen.measure(b).at("plasticity/actor_feature_norm"),
            1.2 * n.at("plasticity/actor_feature_norm"));
}

}  // namespace
}  // namespace broadloom
