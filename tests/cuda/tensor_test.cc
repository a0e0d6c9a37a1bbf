// What tensor cores make of layers, emulated: beside the same kernels in float32, from which they
// differ by how their inputs are rounded, and beside themselves in any order of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/envs/minatar/breakout.h"
#include "broadloom/math/random_formulas.h"
#include "cuda/sides/tf32.h"
#include "tests/cuda/update_pairs.h"

namespace broadloom::cuda {
namespace {

TEST(Tf32, KeepsTenBitsOfMantissa) {
  constexpr float kStep = 1.0f / 1024.0f;
  EXPECT_EQ(to_tf32(1.0f + kStep), 1.0f + kStep);
  EXPECT_EQ(to_tf32(1.0f + 0.49f * kStep), 1.0f);
  EXPECT_EQ(to_tf32(1.0f + 0.5f * kStep), 1.0f + kStep);  // away from zero
  EXPECT_EQ(to_tf32(-1.0f - 0.5f * kStep), -1.0f - kStep);
  EXPECT_EQ(to_tf32(-0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(to_tf32(-0.0f)));
  EXPECT_EQ(to_tf32(std::numeric_limits<float>::infinity()),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_tf32(std::numeric_limits<float>::quiet_NaN())));
}

// sums [16, 8] += a [16, 8] b [8, 8], of one warp.
struct MultiplyKernel {
  const float *a, *b;
  float* sums;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const TensorLane lane(block.thread());
    const auto of_a = [&](int row, int k) { return a[(lane.group + row) * 8 + lane.within + k]; };
    const auto of_b = [&](int k) { return b[(lane.within + k) * 8 + lane.group]; };
    float own[4];
    const auto place = [&](int c) {
      return (lane.group + c / 2 * 8) * 8 + 2 * lane.within + c % 2;
    };
    for (int c = 0; c < 4; ++c) own[c] = sums[place(c)];
    for (int turn = 0; turn < 2; ++turn) {
      block.multiply_add({{of_a(0, 0), of_a(8, 0), of_a(0, 4), of_a(8, 4)}}, {{of_b(0), of_b(4)}},
                         own);
    }
    for (int c = 0; c < 4; ++c) sums[place(c)] = own[c];
  }
};

TEST(Tf32, MultipliesByAWarp) {
  std::vector<float> a(128), b(64), expected(128);
  for (int i = 0; i < 128; ++i) a[static_cast<std::size_t>(i)] = static_cast<float>(i % 23 - 7);
  for (int i = 0; i < 64; ++i) b[static_cast<std::size_t>(i)] = static_cast<float>(i % 11 - 3);
  for (int i = 0; i < 128; ++i) {
    float sum = 5.0f;
    for (int k = 0; k < 8; ++k) {
      sum += 2.0f * a[static_cast<std::size_t>(i / 8 * 8 + k)] *
             b[static_cast<std::size_t>(k * 8 + i % 8)];
    }
    expected[static_cast<std::size_t>(i)] = sum;
  }
  for (const FiberOrder order :
       {FiberOrder::kForward, FiberOrder::kReversed, FiberOrder::kShuffled}) {
    std::vector<float> sums(128, 5.0f);
    emulate(MultiplyKernel{a.data(), b.data(), sums.data()}, {1, kWarp, 0}, order);
    EXPECT_EQ(sums, expected);
  }
}

template <class Sums>
class FirstGradient final : public StepWatcher<Sums> {
 public:
  void on_batch(const StepReport<Sums>&, std::span<const float>) override {}
  void on_step(int, int, const StepReport<Sums>& step, std::span<const float> gradient) override {
    if (!of.empty()) return;
    of.assign(gradient.begin(), gradient.end());
    sums = step.sums;
  }
  std::vector<float> of;
  Sums sums;
};

struct Learnt {
  std::vector<float> gradient, params;  // the first minibatch's, and after an update
};

struct SideOptions {
  FiberOrder order = FiberOrder::kForward;
  std::size_t shared_bytes = 227 * 1024;
  int multiprocessors = 2, rows = 65536;
};

// An iteration in a precision, of a block that is collected in it.
template <class Env, class Both>
Learnt learn(NetworkShape shape, Precision precision, const Case& of, const SideOptions& with) {
  const typename Env::Params params = Env::make_params({}).value();
  EnvSpec spec = Env::spec(params);
  spec.max_episode_steps = of.limit;
  VecEnvOptions options;
  options.num_envs = of.num_envs;
  options.seed = kSeed;
  options.max_episode_steps = of.limit;
  BatchedEnv<Env> envs(params, spec, options);
  shape.precision = precision;
  const ActorCritic network(shape);
  std::vector<float> begun(network.parameter_count());
  network.initialise(kSeed, begun.data());
  HostSide side(with.order, {.shared_bytes = with.shared_bytes,
                             .rows = with.rows,
                             .multiprocessors = with.multiprocessors});
  DeviceCollector<HostSide> device(
      side, envs, std::make_unique<EnvStepperOf<Env, HostSide>>(side, envs),
      device_network(network), {.shapes = {{of.num_envs, of.num_steps}}});
  DeviceUpdate<HostSide, typename Both::Loss> update(
      side, network, Both::loss(of), Both::settings(of), Both::norm(of),
      {MinibatchCut{of.num_envs * of.num_steps, of.minibatches}});
  update.set_params(begun.data());
  device.collect(Both::acting(network), update.params(), 0);
  device.compute_advantages(of.settings.gamma, of.settings.gae_lambda, of.settings.truncation_mode);
  FirstGradient<typename Both::Loss::Sums> first;
  update.begin(device.block(), kSeed, 1, StepRules<typename Both::Loss::Sums>(), 3e-3, 0, &first);
  double learning_rate = 0.0;
  Learnt learnt{first.of, std::vector<float>(network.parameter_count())};
  const auto reports = update.finish(learnt.params.data(), learning_rate);
  Both::check(reports);  // a row that acts and a row that learns have the same bits
  return learnt;
}

double length_of(const float* of, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(of[i]) * of[i];
  return std::sqrt(sum);
}

// Numbers that are not rounded for once.
class Unrounded {
 public:
  Unrounded() { rounds_to_tf32 = false; }
  ~Unrounded() { rounds_to_tf32 = true; }
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> off(a.size());
  for (std::size_t i = 0; i < off.size(); ++i) off[i] = a[i] - b[i];
  return length_of(off.data(), off.size());
}

// Of the first gradient: number by number where nothing is rounded, and all together where it is.
template <class Env, class Both>
void expect_near(const Case& of, NetworkShape shape, const SideOptions& with) {
  const Learnt exact = learn<Env, Both>(shape, Precision::kFp32, of, with);
  Learnt unrounded;
  {
    const Unrounded now;
    unrounded = learn<Env, Both>(shape, Precision::kTf32, of, with);
  }
  const double whole = length_of(exact.gradient.data(), exact.gradient.size());
  ASSERT_GT(whole, 0.0);
  for (std::size_t i = 0; i < exact.gradient.size(); ++i) {
    ASSERT_NEAR(exact.gradient[i], unrounded.gradient[i], 3e-6 * whole) << "parameter " << i;
  }
  const Learnt rounded = learn<Env, Both>(shape, Precision::kTf32, of, with);
  EXPECT_LT(distance(exact.gradient, rounded.gradient), 0.03 * whole);
  if (shape.hidden_sizes.empty() && shape.encoder == Encoder::kMlp) return;  // nothing is rounded
  EXPECT_NE(unrounded.gradient, rounded.gradient);
}

template <class Env, class Both = PpoOnBoth>
void expect_near(const Case& of, const SideOptions& with = {}) {
  const EnvSpec spec = Env::spec(Env::make_params({}).value());
  expect_near<Env, Both>(of, network_shape(spec, of, Both::kActionValues), with);
}

Case quick(std::vector<int> hidden_sizes) {
  Case of;
  of.hidden_sizes = std::move(hidden_sizes);
  of.settings.update_epochs = 1;
  return of;
}

TEST(Tensor, LearnsNearlyAsInFloat32) {
  expect_near<CartPole>(quick({64, 64}));
  expect_near<Pendulum>(quick({33, 70}), {.order = FiberOrder::kShuffled});
  expect_near<CartPole, PqnOnBoth>(quick({24}), {.order = FiberOrder::kReversed});
  expect_near<CartPole>(quick({}));
}

// More than a piece of weights either way, whose numbers lie in fours or not.
TEST(Tensor, TakesWideAndDeepBodies) {
  expect_near<CartPole>(quick({200, 140}));
  expect_near<CartPole>(quick({131, 67, 9}), {.order = FiberOrder::kReversed});
  expect_near<Pendulum>(quick(std::vector<int>(kMostLayers, 9)));
}

TEST(Tensor, NormalisesAndShares) {
  Case of = quick({40, 72});
  of.normalisation = Normalisation::kAll;
  expect_near<Pendulum>(of);
  of.shared_encoder = true;
  expect_near<CartPole>(of, {.order = FiberOrder::kShuffled});
  of.normalisation = Normalisation::kNone;
  of.activation = Activation::kElu;
  expect_near<Pendulum>(of, {.order = FiberOrder::kReversed});
}

// Of Breakout's picture, as encoder = minatar reads it.
template <class Both>
void expect_near_on_images(const Case& of, const SideOptions& with = {}) {
  const EnvSpec spec = Breakout::spec(Breakout::make_params({}).value());
  NetworkShape shape = network_shape(spec, of, Both::kActionValues);
  shape.encoder = Encoder::kMinatar;
  const std::vector<int> extents = spec.observation.extents();
  shape.image = {extents[0], extents[1], extents[2]};
  expect_near<Breakout, Both>(of, shape, with);
}

TEST(Tensor, ReadsImages) {
  Case of = quick({128});
  of.activation = Activation::kRelu;
  of.num_envs = 9;
  of.num_steps = 9;
  of.minibatches = 2;
  expect_near_on_images<PqnOnBoth>(of);
  of.normalisation = Normalisation::kChannels;
  expect_near_on_images<PqnOnBoth>(of, {.order = FiberOrder::kReversed});
  of.normalisation = Normalisation::kAll;
  of.hidden_sizes = {20, 24};
  expect_near_on_images<PpoOnBoth>(of, {.order = FiberOrder::kShuffled});
  of.hidden_sizes = {};  // the head behind the convolution itself
  expect_near_on_images<PqnOnBoth>(of);
}

// The same bits in any order of threads, on a device of any number of multiprocessors, and of a
// minibatch that goes in pieces.
TEST(Tensor, HasBitsOfItsOwn) {
  Case of = quick({40, 20});
  of.normalisation = Normalisation::kChannels;
  of.num_envs = 41;
  of.num_steps = 23;
  of.minibatches = 1;
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  const NetworkShape shape = network_shape(spec, of, true);
  const auto learnt = [&](const SideOptions& with) {
    return learn<CartPole, PqnOnBoth>(shape, Precision::kTf32, of, with).params;
  };
  const std::vector<float> expected = learnt({});
  EXPECT_EQ(learnt({.order = FiberOrder::kReversed}), expected);
  EXPECT_EQ(learnt({.order = FiberOrder::kShuffled, .multiprocessors = 40}), expected);
  EXPECT_EQ(learnt({.rows = 128}), expected);
}

// Fewer rows at a time, and a shorter ring.
TEST(Tensor, MakesDoWithLessSharedMemory) {
  Case of = quick({150, 30});
  for (const std::size_t kilobytes : {80, 100}) {
    const SideOptions with{.order = FiberOrder::kShuffled, .shared_bytes = kilobytes * 1024};
    const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
    NetworkShape shape = network_shape(spec, of);
    shape.precision = Precision::kTf32;
    const TensorTile tile =
        TensorTile::within(device_network(ActorCritic(shape)), with.shared_bytes, 16);
    EXPECT_GT(tile.rows, 0);
    EXPECT_LT(tile.rows * tile.places, 16 * WeightStream::kPlaces);
    expect_near<CartPole>(of, with);
  }
}

}  // namespace
}  // namespace broadloom::cuda
