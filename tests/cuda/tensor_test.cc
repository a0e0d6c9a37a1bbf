// What tensor cores make of layers, emulated: beside the same kernels in float32, from which they
// differ by how their inputs are rounded, and beside themselves in any order of threads.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/minatar/breakout.h"
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
  if (reports.size() > 1)
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

// Of the first gradient, number by number, where nothing is rounded. That of float32.
template <class Env, class Both>
std::vector<float> expect_same_unrounded(const Case& of, const NetworkShape& shape,
                                         const SideOptions& with) {
  const std::vector<float> exact = learn<Env, Both>(shape, Precision::kFp32, of, with).gradient;
  const Unrounded now;
  const std::vector<float> unrounded = learn<Env, Both>(shape, Precision::kTf32, of, with).gradient;
  const double whole = length_of(exact.data(), exact.size());
  EXPECT_GT(whole, 0.0);
  std::size_t i = 0;
  while (i < exact.size() && std::fabs(exact[i] - unrounded[i]) < 3e-6 * whole) ++i;
  EXPECT_EQ(i, exact.size()) << "parameter " << i << ": " << unrounded[i] << ", not " << exact[i];
  return exact;
}

// And all together where it is: more than by the order of sums, but where nothing is multiplied
// before the heads.
template <class Env, class Both>
void expect_near(const Case& of, const NetworkShape& shape, const SideOptions& with) {
  const std::vector<float> exact = expect_same_unrounded<Env, Both>(of, shape, with);
  const std::vector<float> rounded = learn<Env, Both>(shape, Precision::kTf32, of, with).gradient;
  const double whole = length_of(exact.data(), exact.size()), off = distance(exact, rounded);
  EXPECT_LT(off, 0.03 * whole);
  const bool has_layers = !shape.hidden_sizes.empty() || shape.encoder != Encoder::kMlp;
  EXPECT_EQ(off > 1e-5 * whole, has_layers) << off << " in " << whole;
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
NetworkShape image_shape(const Case& of, bool action_values) {
  const EnvSpec spec = Breakout::spec(Breakout::make_params({}).value());
  NetworkShape shape = network_shape(spec, of, action_values);
  shape.encoder = Encoder::kMinatar;
  const std::vector<int> extents = spec.observation.extents();
  shape.image = {extents[0], extents[1], extents[2]};
  return shape;
}
template <class Both>
void expect_near_on_images(const Case& of, const SideOptions& with = {}) {
  expect_near<Breakout, Both>(of, image_shape(of, Both::kActionValues), with);
}

TEST(Tensor, ReadsImages) {
  Case of = quick({40});
  of.activation = Activation::kRelu;
  of.num_envs = 5;
  of.num_steps = 7;
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

// Of so many samples that a block has 16 rows, and some go after others.
TEST(Tensor, TakesManySamples) {
  Case of = quick({12});
  of.activation = Activation::kRelu;
  of.normalisation = Normalisation::kChannels;
  of.num_envs = 64;
  of.num_steps = 17;
  of.minibatches = 1;
  const SideOptions with{.order = FiberOrder::kShuffled, .rows = 512};
  expect_same_unrounded<Breakout, PqnOnBoth>(of, image_shape(of, true), with);
  const EnvSpec spec = Pendulum::spec(Pendulum::make_params({}).value());
  expect_same_unrounded<Pendulum, PpoOnBoth>(of, network_shape(spec, of), with);
}

// The same bits in any order of threads, and on a device of any number of multiprocessors.
TEST(Tensor, HasBitsOfItsOwn) {
  Case of = quick({40, 20});
  of.normalisation = Normalisation::kChannels;
  of.num_envs = 41;
  of.num_steps = 9;
  of.minibatches = 1;
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  const NetworkShape shape = network_shape(spec, of, true);
  const auto learnt = [&](const SideOptions& with) {
    return learn<CartPole, PqnOnBoth>(shape, Precision::kTf32, of, with).params;
  };
  const std::vector<float> expected = learnt({});
  EXPECT_EQ(learnt({.order = FiberOrder::kReversed}), expected);
  EXPECT_EQ(learnt({.order = FiberOrder::kShuffled, .multiprocessors = 40}), expected);
}

// Fewer rows at a time.
TEST(Tensor, MakesDoWithLessSharedMemory) {
  const Case of = quick({150, 30});
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  NetworkShape shape = network_shape(spec, of);
  shape.precision = Precision::kTf32;
  const DeviceNetwork network = device_network(ActorCritic(shape));
  const auto rows_in = [&](std::size_t kilobytes) {
    return TensorTile::within(network, kilobytes * 1024, 2 * kTensorRows).rows;
  };
  EXPECT_EQ(rows_in(40), 16);
  EXPECT_EQ(rows_in(20), 8);
  EXPECT_EQ(rows_in(10), 0);
  expect_near<CartPole>(of, {.order = FiberOrder::kShuffled, .shared_bytes = 20 * 1024});
}

}  // namespace
}  // namespace broadloom::cuda
