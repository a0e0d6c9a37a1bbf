// Networks with convolutions on an emulated block of threads, compared with ActorCritic: outputs
// and gradients equal to the bit, in any order of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/random_formulas.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/observations.h"
#include "cuda/learn/delta_kernel.h"
#include "cuda/learn/weights_jobs.h"
#include "cuda/learn/weights_kernel.h"
#include "cuda/sides/emulated_block.h"

namespace broadloom::cuda {
namespace {

constexpr auto kUse = TilePlaces::kForwardAndBack;

// Runs rows through the first body and back, tile by tile with one block. Results go to the arrays
// of all rows.
struct TilesKernel {
  DeviceNetwork network;
  const float* params;
  float* transposed;    // [P], or null: the kernels read weights as they are
  float* x;             // [rows, observation_size]
  const float* deltas;  // [outputs, rows]
  int rows;
  float* work;     // of a tile
  float* outputs;  // [outputs, rows]
  float* arrays;   // TilePlaces of whole tiles

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const DeviceBody& body = network.actor;
    const TilePlaces places(body, kTileRows, kUse), all(body, whole(rows), kUse);
    const TileParams read{params, 0, transposed};
    for (int l = 1; l < body.layers && transposed != nullptr; ++l) {
      const DeviceLayer& layer = body.hidden[l];
      transpose(block, params + layer.weight, layer.in, layer.out, transposed + layer.weight);
    }
    float* const own = work + places.outputs;
    for (int first = 0; first < rows; first += kTileRows) {
      const int left = rows - first, count = left < kTileRows ? left : kTileRows;
      load_rows(block, DeviceObservations::make(x, 1.0f), first, network.observation_size, count,
                {nullptr, nullptr, 0.0f}, work + places.x);
      block.sync();
      forward_tile(block, body, network.activation, read, places, work, count);
      for (int e = block.thread(); e < network.outputs * count; e += block.threads()) {
        const int o = e / count, r = e % count, place = o * kTileRows + r;
        outputs[o * rows + first + r] = own[place];
        own[place] = deltas[o * rows + first + r];
      }
      block.sync();
      const HeadDeltas heads{own, work + places.values, kTileRows};
      backward_tile(block, body, network.activation, read, places, heads, work, count);
      hand_on(block, body, places, work, all, arrays, {first, first, count});
      block.sync();
    }
  }

  BROADLOOM_HD static int whole(int rows) { return (rows + kTileRows - 1) / kTileRows * kTileRows; }
};

struct Case {
  RowShape image{10, 10, 4};
  std::vector<int> hidden_sizes{24};
  Normalisation normalisation = Normalisation::kNone;
  Activation activation = Activation::kRelu;
  int rows = 70;  // more than a tile
  Encoder encoder = Encoder::kMinatar;
  bool transposes = false;
};

// Compares outputs and gradients for changed parameters, so gains and biases do not have their
// initial values.
void expect_the_same(const Case& test_case, FiberOrder order) {
  if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  constexpr int kOutputs = 3;
  NetworkShape shape;
  shape.observation_size = test_case.image.size();
  shape.action_outputs = kOutputs;
  shape.hidden_sizes = test_case.hidden_sizes;
  shape.activation = test_case.activation;
  shape.encoder = test_case.encoder;
  shape.normalisation = test_case.normalisation;
  shape.image = test_case.image;
  shape.action_values = true;
  const ActorCritic network(shape);
  ASSERT_TRUE(fits_kernels(network));
  Random random(4, Purpose::kInit, 0, 0);
  const auto drawn = [&](std::size_t count, float scale) {
    std::vector<float> numbers(count);
    for (float& x : numbers) x = scale * (2.0f * draw_uniform(random) - 1.0f);
    return numbers;
  };
  const std::size_t rows = static_cast<std::size_t>(test_case.rows);
  const std::size_t width = static_cast<std::size_t>(test_case.image.size());
  const std::vector<float> params = drawn(network.parameter_count(), 0.3f);
  const std::vector<float> deltas = drawn(kOutputs * rows, 1.0f);
  std::vector<float> x = drawn(rows * width, 1.0f);

  const DeviceNetwork known = device_network(network);
  const auto floats_of = [&](int count) { return GradientWork<PqnSums>::floats_for(known, count); };
  const int whole = TilesKernel::whole(test_case.rows);
  std::vector<float> room(floats_of(kTileRows)), arrays(floats_of(whole));
  std::vector<float> outputs(kOutputs * rows), grads(params.size()), turned(params.size());
  emulate(
      TilesKernel{known, params.data(), test_case.transposes ? turned.data() : nullptr, x.data(),
                  deltas.data(), test_case.rows, room.data(), outputs.data(), arrays.data()},
      {1, 128, 0}, order);
  const std::vector<WeightsJob> jobs = weights_jobs(known);
  std::vector<PqnSums> tile_sums(static_cast<std::size_t>(whole / kTileRows)), sums(1);
  const GradientWork<PqnSums> work{known,
                                   params.data(),
                                   nullptr,
                                   arrays.data(),
                                   arrays.size(),
                                   nullptr,
                                   tile_sums.data(),
                                   nullptr,
                                   grads.data(),
                                   sums.data(),
                                   nullptr,
                                   kTileRows,
                                   {test_case.rows, 1, 0, 1, 0, whole},
                                   {TilePlaces(known.actor, whole, kUse), {}}};
  emulate(WeightsKernel<PqnSums>{{work, jobs.data()}},
          WeightsKernel<PqnSums>::shape(work.network, static_cast<int>(jobs.size()), 1), order);

  std::vector<float> transposed(params.size()), expected(params.size());
  network.refresh_transposed(params.data(), transposed.data());
  TileWorkspace<float> host = network.make_workspace<float>();
  for (int first = 0; first < test_case.rows; first += kTileRows) {
    const int count = std::min(kTileRows, test_case.rows - first);
    const float* const input = x.data() + static_cast<std::size_t>(first) * width;
    network.forward<float>(params.data(), input, count, host);
    for (int o = 0; o < kOutputs; ++o) {
      for (int r = 0; r < count; ++r) {
        const std::size_t here = static_cast<std::size_t>(o * kTileRows + r);
        const std::size_t there = static_cast<std::size_t>(o) * rows + first + r;
        ASSERT_EQ(outputs[there], host.policy[here]) << "output " << o << " of row " << first + r;
        host.policy_delta[here] = deltas[there];
      }
    }
    network.backward<float>(params.data(), transposed.data(), input, count, host, expected.data());
  }
  const auto [theirs, ours] = std::mismatch(expected.begin(), expected.end(), grads.begin());
  EXPECT_TRUE(theirs == expected.end())
      << "derivative " << theirs - expected.begin() << " is " << *ours << ", not " << *theirs;
  EXPECT_NE(grads[0], 0.0f);
}

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

TEST(DeviceTile, ConvolvesToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same({}, order);
}

// Images that are not square, a number of patches that is no multiple, and a head directly after
// the convolution.
TEST(DeviceTile, TakesImagesOfAllSizes) {
  expect_the_same({.image = {4, 7, 3}, .rows = 1}, FiberOrder::kReversed);
  expect_the_same({.image = {7, 4, 10}, .hidden_sizes = {}, .rows = 64}, FiberOrder::kShuffled);
  expect_the_same({.image = {3, 3, 1}, .hidden_sizes = {8, 40}, .activation = Activation::kTanh},
                  FiberOrder::kForward);
  expect_the_same({.image = {5, 13, 2}, .rows = 9}, FiberOrder::kShuffled);  // 11 patches across
  // Two rows exceed shared memory.
  expect_the_same({.image = {20, 20, 4}, .normalisation = Normalisation::kChannels, .rows = 3},
                  FiberOrder::kReversed);
  // The same for rows with fast reads: of the convolution and of the normalisation.
  expect_the_same({.image = {10, 10, 80}, .rows = 2}, FiberOrder::kForward);
  expect_the_same({.image = {18, 18, 2}, .normalisation = Normalisation::kChannels, .rows = 2},
                  FiberOrder::kReversed);
  expect_the_same({.image = {10, 10, 1}, .rows = 3}, FiberOrder::kForward);  // unaligned numbers
}

// Normalises each pixel separately, and the whole image.
TEST(DeviceTile, NormalisesConvolutions) {
  for (const FiberOrder order : kOrders) {
    expect_the_same({.normalisation = Normalisation::kChannels}, order);
    expect_the_same({.normalisation = Normalisation::kAll}, order);
  }
  expect_the_same({.image = {5, 3, 6},
                   .hidden_sizes = {19, 7, 140},
                   .normalisation = Normalisation::kChannels,
                   .activation = Activation::kElu,
                   .rows = 101},
                  FiberOrder::kShuffled);
}

// The last pixels of lines that no patch covers, several channels, and a last convolution of one
// pixel that leaves pixels out.
TEST(DeviceTile, ChainsConvolutionsToTheHostsBits) {
  for (const bool transposes : {false, true}) {
    for (const RowShape image : {RowShape{36, 36, 1}, RowShape{38, 47, 4}, RowShape{45, 37, 2}}) {
      for (const Normalisation each : {Normalisation::kNone, Normalisation::kChannels}) {
        expect_the_same({.image = image,
                         .hidden_sizes = {12},
                         .normalisation = each,
                         .rows = 3,
                         .encoder = Encoder::kNature,
                         .transposes = transposes},
                        FiberOrder::kShuffled);
      }
    }
  }
  expect_the_same({.image = {52, 44, 4},
                   .hidden_sizes = {},
                   .activation = Activation::kTanh,
                   .rows = 2,
                   .encoder = Encoder::kNature,
                   .transposes = true},
                  FiberOrder::kReversed);
}

TEST(DeviceTile, AcceptsOtherEncoders) {
  NetworkShape shape;
  shape.action_outputs = 3;
  shape.image = {84, 84, 4};
  shape.observation_size = shape.image.size();
  shape.hidden_sizes = {8};
  for (const Encoder encoder : {Encoder::kNature, Encoder::kImpala}) {
    shape.encoder = encoder;
    shape.precision = Precision::kFp32;
    EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
    shape.precision = Precision::kTf32;
    EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
  }
}

// Runs rows through the first body with one block, with weights read directly or through a stage.
struct StageKernel {
  DeviceNetwork network;
  const float* params;
  const float* x;  // [rows, observation_size]
  int rows;
  bool is_staged;
  float* work;  // of a tile

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const TilePlaces places(network.actor, kTileRows, TilePlaces::kForward);
    const TileParams read{params, 0, nullptr, is_staged ? block.template shared<float>() : nullptr};
    const int width = network.observation_size;
    over_elements(block, rows, width, [&](int r) {
      return [&, r](int i) { work[r * TilePlaces::row(width) + i] = x[r * width + i]; };
    });
    block.sync();
    forward_tile<true>(block, network.actor, network.activation, read, places, work, rows);
  }
};

// Widths that are no multiple of a stage's, and more rows than fit at a time.
TEST(DeviceTile, ReadsWeightsThroughAStage) {
  NetworkShape shape;
  shape.action_outputs = 3;
  shape.observation_size = 196;
  shape.hidden_sizes = {260, 68, 7};
  shape.action_values = true;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  const DeviceNetwork known = device_network(network);
  const TilePlaces places(known.actor, kTileRows, TilePlaces::kForward);
  for (const int rows : {1, 8, 40, 64}) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 196);
    Random random(5, Purpose::kInit, 0, 0);
    for (float& number : x) number = 2.0f * draw_uniform(random) - 1.0f;
    std::vector<float> outputs[2];
    for (const bool is_staged : {false, true}) {
      std::vector<float> work(static_cast<std::size_t>(places.size));
      emulate(StageKernel{known, params.data(), x.data(), rows, is_staged, work.data()},
              {1, Stage::kThreads, Stage::kFloats * sizeof(float)}, FiberOrder::kShuffled);
      outputs[is_staged].assign(work.begin() + places.outputs, work.end());
    }
    EXPECT_EQ(outputs[0], outputs[1]) << rows;
    EXPECT_NE(outputs[0][0], 0.0f);
  }
}

// Every byte, with scales for which multiplying by the inverse would give other bits, and floats.
TEST(DeviceObservations, AreReadAsOnTheHost) {
  constexpr int kBytes = 256;
  std::vector<float> seen(kBytes);
  for (const float full_scale : {1.0f, 7.0f, 255.0f}) {
    Observations host({kBytes, Dtype::kU8, full_scale}, 1);
    std::uint8_t* const bytes = host.rows().bytes();
    for (int i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    host.read(0, 1, seen.data());
    const DeviceObservations device = DeviceObservations::make(bytes, full_scale);
    for (std::size_t i = 0; i < kBytes; ++i) EXPECT_EQ(device.read(i), seen[i]) << full_scale;
    EXPECT_EQ(device.offset_by(9).read(1), seen[10]);
    EXPECT_EQ(device.offset_by(9).as<std::uint8_t>(), bytes + 9);
  }
  const DeviceObservations floats = DeviceObservations::make(seen.data(), 255.0f);
  EXPECT_EQ(floats.read(200), seen[200]);
  EXPECT_EQ(floats.offset_by(9).as<float>(), seen.data() + 9);
}

}  // namespace
}  // namespace broadloom::cuda
