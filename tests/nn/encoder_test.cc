// Compares bodies of every encoder with PyTorch's and with finite differences.
#include "broadloom/nn/encoder.h"
#include "tests/support/folders.h"
#include "tests/support/release_only.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

// The values of make_golden_encoders.py: evenly spread over offset +- scale, rounded to float.
template <class Real>
std::vector<Real> numbers(std::size_t count, std::uint64_t stream, double scale = 1.0,
                          double offset = 0.0) {
  std::vector<Real> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t z = ((stream << 32) + i) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z = z ^ (z >> 31);
    const double even = static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
    out[i] = static_cast<Real>(static_cast<float>(offset + scale * even));
  }
  return out;
}
constexpr std::uint64_t kImages = 1001, kWeights = 1002, kDirections = 1003;

// A chain with its parameters and workspace.
template <class Real>
struct Body {
  Body(RowShape in, const std::vector<LayerPlan>& plan, Activation activation)
      : chain(in, plan, activation, layout),
        params(layout.size()),
        grads(layout.size()),
        transposed(layout.size()),
        activations(chain.workspace_size()),
        deltas(chain.workspace_size()),
        scratch(chain.scratch_size()) {}

  std::size_t out_size() const {
    return static_cast<std::size_t>(chain.layers().back().out.size());
  }
  const Real* forward(const std::vector<Real>& x, int rows) {
    return chain.forward(params.data(), x.data(), rows, activations.data(), {scratch.data()});
  }
  // The gradient of sum over all outputs of weight * output.
  void backward(const std::vector<Real>& x, int rows, const std::vector<Real>& weights) {
    chain.refresh_transposed(params.data(), transposed.data());
    std::copy_n(weights.data(), rows * out_size(), chain.output_delta(deltas.data()));
    std::fill(grads.begin(), grads.end(), Real(0));
    chain.backward(params.data(), transposed.data(), x.data(), rows, activations.data(),
                   deltas.data(), grads.data(), {scratch.data()});
  }

  ParameterLayout layout;
  Chain chain;
  std::vector<Real> params, grads, transposed;
  AlignedVector<Real> activations, deltas, scratch;
};

Encoder encoder_named(const std::string& name) {
  if (name == "minatar") return Encoder::kMinatar;
  if (name == "nature") return Encoder::kNature;
  return name == "impala" ? Encoder::kImpala : Encoder::kMlp;
}
Normalisation normalisation_named(const std::string& name) {
  if (name == "channels") return Normalisation::kChannels;
  return name == "all" ? Normalisation::kAll : Normalisation::kNone;
}

// Filled like in make_golden_encoders.py: tensor after tensor, W before b, gains about 1.
template <class Real>
void fill_parameters(const Chain& chain, std::vector<Real>& params) {
  std::uint64_t tensor = 0;
  const auto fill = [&](std::size_t first, int size, double scale, double offset) {
    const auto values = numbers<Real>(static_cast<std::size_t>(size), tensor++, scale, offset);
    std::copy(values.begin(), values.end(), params.begin() + static_cast<std::ptrdiff_t>(first));
  };
  for (const Layer& layer : chain.layers()) {
    const LinearSlice& slice = layer.slice;
    if (!layer.has_parameters()) continue;
    const bool norm = layer.kind == LayerKind::kLayerNorm;
    fill(slice.weight, slice.in * slice.out, norm ? 0.5 : std::sqrt(6.0 / slice.in), norm ? 1 : 0);
    fill(slice.bias, slice.out, norm ? 0.5 : 0.1, 0.0);
  }
}

nlohmann::json golden() {
  std::ifstream file(source_folder() + "/tests/nn/golden_encoders.json");
  return nlohmann::json::parse(file);
}

template <class Real>
void check_gradients(const nlohmann::json& expected, const Chain& chain,
                     const std::vector<Real>& grads, double tolerance) {
  std::size_t tensor = 0;
  const auto check = [&](std::size_t first, int size) {
    const nlohmann::json& one = expected.at(tensor++);
    ASSERT_EQ(one["size"], size) << "tensor " << tensor;
    const auto along = numbers<float>(static_cast<std::size_t>(size), kDirections);
    double squares = 0.0, product = 0.0;
    for (std::size_t i = 0; i < along.size(); ++i) {
      squares += std::pow(static_cast<double>(grads[first + i]), 2.0);
      product += static_cast<double>(grads[first + i]) * along[i];
    }
    const double norm = one["norm"];
    EXPECT_NEAR(std::sqrt(squares), norm, tolerance * norm) << "tensor " << tensor;
    EXPECT_NEAR(product, one["along"].get<double>(), tolerance * norm) << "tensor " << tensor;
  };
  for (const Layer& layer : chain.layers()) {
    if (!layer.has_parameters()) continue;
    check(layer.slice.weight, layer.slice.in * layer.slice.out);
    check(layer.slice.bias, layer.slice.out);
  }
  EXPECT_EQ(tensor, expected.size());
}

// In double to what JSON and float32 directions keep, in float to 1e-5.
template <class Real>
void check_against_torch(double tolerance) {
  const nlohmann::json recorded = golden();
  ASSERT_FALSE(recorded["cases"].empty());
  for (const nlohmann::json& one : recorded["cases"]) {
    const std::string encoder = one["encoder"], norm = one["layer_norm"];
    SCOPED_TRACE(encoder + ", layer_norm " + norm);
    RowShape in{one["height"], one["width"], one["channels"]};
    if (encoder == "mlp") in = {1, 1, in.size()};
    Body<Real> body(in,
                    body_plan(encoder_named(encoder), normalisation_named(norm),
                              one["hidden_sizes"].get<std::vector<int>>()),
                    Activation::kRelu);
    fill_parameters(body.chain, body.params);
    const int rows = one["rows"];
    const auto x = numbers<Real>(static_cast<std::size_t>(rows) * in.size(), kImages, 0.5, 0.5);
    const Real* y = body.forward(x, rows);
    const std::size_t every = one["every"];
    double largest = 0.0;
    for (const double value : one["outputs"]) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < one["outputs"].size(); ++i) {
      EXPECT_NEAR(y[i * every], one["outputs"][i].get<double>(), tolerance * largest)
          << "output " << i;
    }
    body.backward(x, rows, numbers<Real>(rows * body.out_size(), kWeights));
    check_gradients(one["gradients"], body.chain, body.grads, tolerance);
  }
}

TEST(Encoders, EqualPyTorchInDouble) { check_against_torch<double>(1e-7); }
TEST(Encoders, EqualPyTorchInFloat) { check_against_torch<float>(1e-5); }

struct Case {
  const char* name;
  Encoder encoder;
  Normalisation normalisation;
  RowShape in;
  std::vector<int> hidden;
};

class EncoderGradient : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Encoder encoder = GetParam().encoder;
    if (encoder == Encoder::kNature || encoder == Encoder::kImpala) {
      RELEASE_ONLY("smaller networks run the same code");
    }
  }
};

// Central differences of order h^4 of as many parameters as take a moment, spread over all.
TEST_P(EncoderGradient, EqualsFiniteDifferences) {
  constexpr int kRows = 3;
  constexpr std::size_t kTried = 400;
  const Case& c = GetParam();
  Body<double> body(c.in, body_plan(c.encoder, c.normalisation, c.hidden), Activation::kTanh);
  Random random(5, Purpose::kUser, 0, 0);
  for (double& p : body.params) p = 0.3 * random.normal();
  std::vector<double> x(static_cast<std::size_t>(kRows) * c.in.size());
  for (double& v : x) v = random.normal();
  std::vector<double> weights(kRows * body.out_size());
  for (double& w : weights) w = random.normal();
  const auto loss = [&] {
    const double* y = body.forward(x, kRows);
    double sum = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  loss();
  body.backward(x, kRows, weights);
  double largest = 0.0;
  for (const double g : body.grads) largest = std::max(largest, std::abs(g));
  constexpr double h = 2e-5;
  const std::size_t step = std::max<std::size_t>(1, body.params.size() / kTried);
  for (std::size_t i = 0; i < body.params.size(); i += step) {
    const double kept = body.params[i];
    const auto loss_at = [&](double offset) {
      body.params[i] = kept + offset;
      return loss();
    };
    const double numeric =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    body.params[i] = kept;
    ASSERT_NEAR(body.grads[i], numeric, 1e-6 * largest) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, EncoderGradient,
    ::testing::Values(
        Case{"minatar", Encoder::kMinatar, Normalisation::kNone, {10, 10, 3}, {12}},
        Case{"minatar_channels", Encoder::kMinatar, Normalisation::kChannels, {7, 6, 2}, {12}},
        Case{"minatar_all", Encoder::kMinatar, Normalisation::kAll, {7, 6, 2}, {12}},
        Case{"nature", Encoder::kNature, Normalisation::kNone, {36, 40, 2}, {9}},
        Case{"impala", Encoder::kImpala, Normalisation::kNone, {9, 8, 2}, {9}},
        Case{"mlp_channels", Encoder::kMlp, Normalisation::kChannels, {1, 1, 6}, {9, 7}}),
    [](const auto& info) { return std::string(info.param.name); });

// The contract behind "the first minibatch has ratio exactly 1".
TEST(Encoders, ARowsBitsDoNotDependOnItsTile) {
  for (const Encoder encoder : {Encoder::kMinatar, Encoder::kImpala}) {
    Body<float> body({10, 10, 4}, body_plan(encoder, Normalisation::kNone, {32}),
                     Activation::kRelu);
    fill_parameters(body.chain, body.params);
    const std::size_t size = 400, out = body.out_size();
    const auto x = numbers<float>(5 * size, kImages, 0.5, 0.5);
    const float* y = body.forward(x, 5);
    const std::vector<float> together(y, y + 5 * out);
    for (std::size_t r = 0; r < 5; ++r) {
      const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * size),
                                   x.begin() + static_cast<std::ptrdiff_t>((r + 1) * size));
      const float* alone = body.forward(row, 1);
      for (std::size_t o = 0; o < out; ++o) ASSERT_EQ(alone[o], together[r * out + o]);
    }
  }
}

TEST(Encoders, KnowTheLeastImageThatTheyRead) {
  EXPECT_EQ(least_side(body_plan(Encoder::kNature, Normalisation::kNone, {512})), 36);
  EXPECT_EQ(least_side(body_plan(Encoder::kMinatar, Normalisation::kNone, {128})), 3);
  EXPECT_EQ(least_side(body_plan(Encoder::kImpala, Normalisation::kNone, {256})), 1);
  EXPECT_FALSE(fits(body_plan(Encoder::kNature, Normalisation::kNone, {512}), 84, 35));
}

// P as published: Nature's body and heads are the 1,684,128 and 513 (n + 1) weights of CleanRL's.
TEST(Encoders, HaveAsManyParametersAsPublished) {
  NetworkShape shape;
  shape.encoder = Encoder::kNature;
  shape.image = {84, 84, 4};
  shape.observation_size = 84 * 84 * 4;
  shape.hidden_sizes = {512};
  shape.shared_encoder = true;
  shape.action_outputs = 6;
  EXPECT_EQ(ActorCritic(shape).parameter_count(), 1684128u + 513u * 7u);
}

// Kernels of a layer are orthogonal, of the shorter of their two sides, with the gain of relu.
TEST(Encoders, PublishedOnesBeginOrthogonal) {
  RELEASE_ONLY("a network of images: smaller ones run the same code");
  for (const Encoder encoder : {Encoder::kNature, Encoder::kImpala}) {
    NetworkShape shape;
    shape.encoder = encoder;
    shape.image = {84, 84, 4};
    shape.observation_size = 84 * 84 * 4;
    shape.hidden_sizes = published_hidden_sizes(encoder);
    shape.shared_encoder = true;
    shape.action_outputs = 6;
    const ActorCritic network(shape);
    std::vector<float> params(network.parameter_count(), 7.0f);
    network.initialise(3, params.data());
    int layers = 0;
    for (const Layer& layer : network.encoder().layers()) {
      if (!layer.has_parameters()) continue;
      ++layers;
      const LinearSlice& slice = layer.slice;
      double squares = 0.0;
      for (int i = 0; i < slice.in * slice.out; ++i)
        squares += std::pow(static_cast<double>(params[slice.weight + i]), 2.0);
      EXPECT_NEAR(squares, 2.0 * std::min(slice.in, slice.out), 1e-2) << slice.in;
      for (int o = 0; o < slice.out; ++o) ASSERT_EQ(params[slice.bias + o], 0.0f);
    }
    EXPECT_EQ(layers, encoder == Encoder::kNature ? 4 : 16);
  }
}

TEST(Encoders, BeginOrthogonalWithGainsOfOne) {
  NetworkShape shape;
  shape.encoder = Encoder::kMinatar;
  shape.normalisation = Normalisation::kChannels;
  shape.image = {10, 10, 4};
  shape.observation_size = 400;
  shape.hidden_sizes = {128};
  shape.action_outputs = 3;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count(), 7.0f);
  network.initialise(3, params.data());
  const auto norm = [&](const LinearSlice& slice) {
    double squares = 0.0;
    for (int i = 0; i < slice.in * slice.out; ++i) {
      squares += std::pow(static_cast<double>(params[slice.weight + i]), 2.0);
    }
    return std::sqrt(squares);
  };
  const std::vector<Layer>& layers = network.actor().layers();
  EXPECT_NEAR(norm(layers[0].slice), std::sqrt(2.0 * 16.0), 1e-4);   // 36 x 16
  EXPECT_NEAR(norm(layers[1].slice), std::sqrt(16.0), 1e-6);         // gains of 1
  EXPECT_NEAR(norm(layers[2].slice), std::sqrt(2.0 * 128.0), 1e-3);  // 1024 x 128
  for (int o = 0; o < 16; ++o) EXPECT_EQ(params[layers[1].slice.bias + o], 0.0f);
}

}  // namespace
}  // namespace broadloom
