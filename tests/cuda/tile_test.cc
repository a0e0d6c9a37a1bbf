// Networks with a convolution by a block of threads, emulated, beside ActorCritic: outputs and
// gradients equal to the bit, in any order of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/random_formulas.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/observations.h"
#include "cuda/emulated_block.h"
#include "cuda/tile_backward.h"

namespace broadloom::cuda {
namespace {

constexpr auto kUse = TilePlaces::kForwardAndBack;

// Tiles of `rows` rows through the first body, one after another by one block.
struct TilesKernel {
  DeviceNetwork network;
  const float* params;
  float* x;             // [tiles, rows, observation_size]
  const float* deltas;  // [tiles, outputs, kTileRows]
  int tiles, rows;
  float* work;
  float* outputs;  // [tiles, outputs, kTileRows]
  float* grads;    // [P]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const TilePlaces places(network.actor, kTileRows, kUse);
    const int width = network.observation_size, count = network.outputs * kTileRows;
    float* const own = work + places.outputs;
    for (int tile = 0; tile < tiles; ++tile) {
      load_tile(block, DeviceObservations::of(x + tile * rows * width, 1.0f), width, rows,
                {nullptr, nullptr, 0.0f}, work + places.x);
      block.sync();
      const TileParams read{params};
      forward_tile(block, network.actor, network.activation, read, places, work, rows);
      for (int i = block.thread(); i < count; i += block.threads()) {
        outputs[tile * count + i] = own[i];
        own[i] = deltas[tile * count + i];
      }
      block.sync();
      backward_tile(block, network.actor, network.activation, read, places, work, rows, grads);
      block.sync();
    }
  }
};

struct Case {
  RowShape image{10, 10, 4};
  std::vector<int> hidden_sizes{24};
  Normalisation normalisation = Normalisation::kNone;
  Activation activation = Activation::kRelu;
  int rows = 5;
};

// Of outputs and gradients that are not the same for two tiles, of parameters that are not those of
// the beginning: gains and biases have values of their own.
void expect_the_same(const Case& of, FiberOrder order) {
  if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  constexpr int kTiles = 2, kOutputs = 3;
  NetworkShape shape;
  shape.observation_size = of.image.size();
  shape.action_outputs = kOutputs;
  shape.hidden_sizes = of.hidden_sizes;
  shape.activation = of.activation;
  shape.encoder = Encoder::kMinatar;
  shape.normalisation = of.normalisation;
  shape.image = of.image;
  shape.action_values = true;
  const ActorCritic network(shape);
  ASSERT_TRUE(fits_kernels(network));
  Random random(4, Purpose::kInit, 0, 0);
  const auto drawn = [&](std::size_t count, float scale) {
    std::vector<float> numbers(count);
    for (float& x : numbers) x = scale * (2.0f * draw_uniform(random) - 1.0f);
    return numbers;
  };
  const std::size_t tile = static_cast<std::size_t>(of.rows) * of.image.size();
  constexpr std::size_t kOut = kOutputs * kTileRows;
  const std::vector<float> params = drawn(network.parameter_count(), 0.3f);
  const std::vector<float> deltas = drawn(kTiles * kOut, 1.0f);
  std::vector<float> x = drawn(kTiles * tile, 1.0f);

  std::vector<float> transposed(params.size()), grads(params.size());
  network.refresh_transposed(params.data(), transposed.data());
  TileWorkspace<float> work = network.make_workspace<float>();
  const DeviceNetwork known = device_network(network);
  std::vector<float> room(static_cast<std::size_t>(TilePlaces(known.actor, kTileRows, kUse).size));
  std::vector<float> outputs(kTiles * kOut), device_grads(params.size());
  emulate(TilesKernel{known, params.data(), x.data(), deltas.data(), kTiles, of.rows, room.data(),
                      outputs.data(), device_grads.data()},
          {1, 128, 0}, order);
  for (std::size_t t = 0; t < kTiles; ++t) {
    const float* const rows = x.data() + t * tile;
    network.forward<float>(params.data(), rows, of.rows, work);
    for (int o = 0; o < kOutputs; ++o) {
      const auto column = static_cast<std::ptrdiff_t>(o * kTileRows);
      EXPECT_TRUE(std::equal(work.policy.begin() + column, work.policy.begin() + column + of.rows,
                             outputs.begin() + static_cast<std::ptrdiff_t>(t * kOut) + column))
          << "output " << o << " of tile " << t;
    }
    std::copy_n(deltas.begin() + static_cast<std::ptrdiff_t>(t * kOut), kOut,
                work.policy_delta.begin());
    network.backward<float>(params.data(), transposed.data(), rows, of.rows, work, grads.data());
  }
  const auto [host, device] = std::mismatch(grads.begin(), grads.end(), device_grads.begin());
  EXPECT_TRUE(host == grads.end())
      << "derivative " << host - grads.begin() << " is " << *device << ", not " << *host;
  EXPECT_NE(grads[0], 0.0f);
}

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

TEST(DeviceTile, ConvolvesToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same({}, order);
}

// Sides that are not the same, a number of patches that is no multiple, and the head behind the
// convolution itself.
TEST(DeviceTile, TakesImagesOfAllSizes) {
  expect_the_same({.image = {4, 7, 3}, .rows = 1}, FiberOrder::kReversed);
  expect_the_same({.image = {7, 4, 10}, .hidden_sizes = {}, .rows = 64}, FiberOrder::kShuffled);
  expect_the_same({.image = {3, 3, 1}, .hidden_sizes = {8, 40}, .activation = Activation::kTanh},
                  FiberOrder::kForward);
}

// Each pixel by itself, and the whole image.
TEST(DeviceTile, NormalisesWhatIsConvolved) {
  for (const FiberOrder order : kOrders) {
    expect_the_same({.normalisation = Normalisation::kChannels}, order);
    expect_the_same({.normalisation = Normalisation::kAll}, order);
  }
  expect_the_same({.image = {5, 3, 6},
                   .hidden_sizes = {19, 7},
                   .normalisation = Normalisation::kChannels,
                   .activation = Activation::kElu,
                   .rows = 33},
                  FiberOrder::kShuffled);
}

// Convolutions with padding, and more than one.
TEST(DeviceTile, KnowsOtherEncoders) {
  NetworkShape shape;
  shape.action_outputs = 3;
  shape.image = {84, 84, 4};
  shape.observation_size = shape.image.size();
  shape.hidden_sizes = {8};
  for (const Encoder encoder : {Encoder::kNature, Encoder::kImpala}) {
    shape.encoder = encoder;
    EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
  }
}

// Every byte, by scales of which a product with the inverse would have other bits, and floats.
TEST(DeviceObservations, AreReadAsOnTheHost) {
  constexpr int kBytes = 256;
  std::vector<float> seen(kBytes);
  for (const float full_scale : {1.0f, 7.0f, 255.0f}) {
    Observations host({kBytes, Dtype::kU8, full_scale}, 1);
    std::uint8_t* const bytes = host.rows().bytes();
    for (int i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    host.read(0, 1, seen.data());
    const DeviceObservations device = DeviceObservations::of(bytes, full_scale);
    for (std::size_t i = 0; i < kBytes; ++i) EXPECT_EQ(device.read(i), seen[i]) << full_scale;
    EXPECT_EQ(device.from(9).read(1), seen[10]);
    EXPECT_EQ(device.from(9).as<std::uint8_t>(), bytes + 9);
  }
  const DeviceObservations floats = DeviceObservations::of(seen.data(), 255.0f);
  EXPECT_EQ(floats.read(200), seen[200]);
  EXPECT_EQ(floats.from(9).as<float>(), seen.data() + 9);
}

}  // namespace
}  // namespace broadloom::cuda
