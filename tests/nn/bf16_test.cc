// The network in bfloat16 against itself in float32: the same parameters, nearly the same numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

constexpr int kObservation = 5;
constexpr int kOutputs = 3;
constexpr int kRows = 61;

NetworkShape shape_of(bool shared, Precision precision) {
  NetworkShape shape;
  shape.observation_size = kObservation;
  shape.action_outputs = kOutputs;
  shape.hidden_sizes = {96, 64, 70, 32};
  shape.shared_encoder = shared;
  shape.precision = precision;
  return shape;
}

void fill(AlignedVector<float>& values, std::uint64_t index) {
  Random random(31, Purpose::kUser, 0, index);
  for (float& v : values) v = static_cast<float>(random.normal());
}

// Derivatives of sums of the outputs, weighted at random.
std::vector<float> gradient(const ActorCritic& network) {
  std::vector<float> params(network.parameter_count()), grads(params.size());
  std::vector<float> transposed(params.size());
  network.initialise(7, params.data());
  AlignedVector<Bf16Pair> copies(network.bf16_size());
  for (int part = 0; part < 3; ++part) network.refresh_bf16(params.data(), copies.data(), part, 3);
  network.refresh_transposed(params.data(), transposed.data());
  TileWorkspace<float> work = network.make_workspace<float>(copies.data());
  fill(work.observations, 1);
  network.forward(params.data(), work.observations.data(), kRows, work);
  fill(work.policy_delta, 2);
  fill(work.values_delta, 3);
  network.backward(params.data(), transposed.data(), work.observations.data(), kRows, work,
                   grads.data());
  return grads;
}

double distance(const std::vector<float>& a, const std::vector<float>& b,
                const LinearSlice& layer) {
  double squares = 0.0, size = 0.0;
  for (std::size_t i = layer.weight; i < layer.bias + static_cast<std::size_t>(layer.out); ++i) {
    squares += std::pow(static_cast<double>(a[i]) - b[i], 2.0);
    size += std::pow(static_cast<double>(a[i]), 2.0);
  }
  return std::sqrt(squares / size);
}

// One rounding is off by at most 2^-9 of the number, and roundings are many but independent.
void expect_near(const Chain& body, const std::vector<float>& full,
                 const std::vector<float>& reduced) {
  for (const Layer& one : body.layers()) {
    const LinearSlice& layer = one.slice;
    const double off = distance(full, reduced, layer);
    EXPECT_LT(off, 0.02) << layer.in << " x " << layer.out;
    EXPECT_GT(off, 0.0) << layer.in << " x " << layer.out << ": nothing was rounded";
  }
}

class Bf16Network : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!bf16_available()) GTEST_SKIP() << "NOT TESTED: this processor has no avx512bf16";
  }
};

TEST_P(Bf16Network, GradientIsNearThatOfFloat32) {
  const ActorCritic full(shape_of(GetParam(), Precision::kFp32));
  const ActorCritic reduced(shape_of(GetParam(), Precision::kBf16));
  ASSERT_EQ(full.parameter_count(), reduced.parameter_count());
  const std::vector<float> expected = gradient(full);
  const std::vector<float> got = gradient(reduced);
  for (const Chain* body : {&reduced.encoder(), &reduced.actor(), &reduced.critic()}) {
    expect_near(*body, expected, got);
  }
}

INSTANTIATE_TEST_SUITE_P(Bodies, Bf16Network, ::testing::Bool());

TEST(Bf16Layers, AreThoseBetweenWideHiddenLayers) {
  const ActorCritic network(shape_of(false, Precision::kBf16));
  const std::vector<bool> expected{false, true, true, false};
  for (std::size_t l = 0; l < expected.size(); ++l) {
    EXPECT_EQ(network.actor().layers()[l].slice.bf16, expected[l]) << "layer " << l;
  }
  EXPECT_EQ(ActorCritic(shape_of(false, Precision::kFp32)).bf16_size(), 0u);
}

TEST(Tf32Layers, AreFloat32OnTheProcessor) {
  for (const bool shared : {false, true}) {
    const ActorCritic network(shape_of(shared, Precision::kTf32));
    EXPECT_EQ(network.bf16_size(), 0u);
    EXPECT_EQ(gradient(network), gradient(ActorCritic(shape_of(shared, Precision::kFp32))));
  }
}

}  // namespace
}  // namespace broadloom
