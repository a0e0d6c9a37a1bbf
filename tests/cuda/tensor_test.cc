// Layers on emulated tensor cores. They are compared with the same kernels in float32, which differ
// by the rounding of inputs, and with themselves in any order of threads.
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
#include "tests/support/release_only.h"

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

// Computes sums [16, 8] += a [16, 8] b [8, 8] with one warp.
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
    if (!kept.empty()) return;
    kept.assign(gradient.begin(), gradient.end());
    sums = step.sums;
  }
  std::vector<float> kept;
  Sums sums;
};

struct Learnt {
  std::vector<float> gradient, params;  // of the first minibatch; after an update
};

struct SideOptions {
  FiberOrder order = FiberOrder::kForward;
  std::size_t shared_bytes = 227 * 1024;
  int multiprocessors = 2, rows = 65536;
};

// Collects a block and trains one iteration in the given precision.
template <class Env, class Both>
Learnt learn(NetworkShape shape, Precision precision, const Case& test_case,
             const SideOptions& side_options) {
  const typename Env::Params params = Env::make_params({}).value();
  EnvSpec spec = Env::spec(params);
  spec.max_episode_steps = test_case.limit;
  VecEnvOptions options;
  options.num_envs = test_case.num_envs;
  options.seed = kSeed;
  options.max_episode_steps = test_case.limit;
  BatchedEnv<Env> envs(params, spec, options);
  shape.precision = precision;
  const ActorCritic network(shape);
  std::vector<float> begun(network.parameter_count());
  network.initialise(kSeed, begun.data());
  HostSide side(side_options.order, {.shared_bytes = side_options.shared_bytes,
                                     .rows = side_options.rows,
                                     .multiprocessors = side_options.multiprocessors});
  DeviceCollector<HostSide> device(
      side, envs, std::make_unique<EnvStepperOf<Env, HostSide>>(side, envs),
      device_network(network), {.shapes = {{test_case.num_envs, test_case.num_steps}}});
  DeviceUpdate<HostSide, typename Both::Loss> update(
      side, network, Both::loss(test_case), Both::settings(test_case), Both::norm(test_case),
      {MinibatchCut{test_case.num_envs * test_case.num_steps, test_case.minibatches}});
  update.set_params(begun.data());
  EXPECT_TRUE(device.collect(Both::acting(network), update.params(), 0).ok());
  device.compute_advantages(test_case.settings.gamma, test_case.settings.gae_lambda,
                            test_case.settings.truncation_mode);
  FirstGradient<typename Both::Loss::Sums> first;
  update.begin(device.block(), kSeed, 1, StepRules<typename Both::Loss::Sums>(), 3e-3, 0, &first);
  double learning_rate = 0.0;
  Learnt learnt{first.kept, std::vector<float>(network.parameter_count())};
  const auto reports = update.finish(learnt.params.data(), learning_rate);
  if (reports.size() > 1) Both::check(reports);  // acting and learning give a row the same bits
  return learnt;
}

double length_of(const float* numbers, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(numbers[i]) * numbers[i];
  return std::sqrt(sum);
}

// Turns rounding off for this test.
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

// Compares the first gradient number by number without rounding. Returns that of float32.
template <class Env, class Both>
std::vector<float> expect_same_unrounded(const Case& test_case, const NetworkShape& shape,
                                         const SideOptions& side_options) {
  const std::vector<float> exact =
      learn<Env, Both>(shape, Precision::kFp32, test_case, side_options).gradient;
  const Unrounded now;
  const std::vector<float> unrounded =
      learn<Env, Both>(shape, Precision::kTf32, test_case, side_options).gradient;
  const double whole = length_of(exact.data(), exact.size());
  EXPECT_GT(whole, 0.0);
  std::size_t i = 0;
  while (i < exact.size() && std::fabs(exact[i] - unrounded[i]) < 3e-6 * whole) ++i;
  EXPECT_EQ(i, exact.size()) << "parameter " << i << ": " << unrounded[i] << ", not " << exact[i];
  return exact;
}

// Compares the whole gradient with rounding. It differs by more than the order of sums, unless no
// products come before the heads.
template <class Env, class Both>
void expect_near(const Case& test_case, const NetworkShape& shape,
                 const SideOptions& side_options) {
  const std::vector<float> exact = expect_same_unrounded<Env, Both>(test_case, shape, side_options);
  const std::vector<float> rounded =
      learn<Env, Both>(shape, Precision::kTf32, test_case, side_options).gradient;
  const double whole = length_of(exact.data(), exact.size()), off = distance(exact, rounded);
  EXPECT_LT(off, 0.03 * whole);
  const bool has_layers = !shape.hidden_sizes.empty() || shape.encoder != Encoder::kMlp;
  EXPECT_EQ(off > 1e-5 * whole, has_layers) << off << " in " << whole;
}

template <class Env, class Both = PpoOnBoth>
void expect_near(const Case& test_case, const SideOptions& side_options = {}) {
  const EnvSpec spec = Env::spec(Env::make_params({}).value());
  expect_near<Env, Both>(test_case, network_shape(spec, test_case, Both::kActionValues),
                         side_options);
}

Case quick(std::vector<int> hidden_sizes) {
  Case test_case;
  test_case.hidden_sizes = std::move(hidden_sizes);
  test_case.settings.update_epochs = 1;
  return test_case;
}

TEST(Tensor, LearnsNearlyAsInFloat32) {
  expect_near<CartPole>(quick({64, 64}));
  expect_near<Pendulum>(quick({33, 70}), {.order = FiberOrder::kShuffled});
  expect_near<CartPole, PqnOnBoth>(quick({24}), {.order = FiberOrder::kReversed});
  expect_near<CartPole>(quick({}));
}

// More than one piece of weights in both directions, aligned to fours or not.
TEST(Tensor, TakesWideAndDeepBodies) {
  expect_near<CartPole>(quick({200, 140}));
  expect_near<CartPole>(quick({131, 67, 9}), {.order = FiberOrder::kReversed});
  expect_near<Pendulum>(quick(std::vector<int>(kMostLayers, 9)));
}

TEST(Tensor, NormalisesAndShares) {
  Case test_case = quick({40, 72});
  test_case.normalisation = Normalisation::kAll;
  expect_near<Pendulum>(test_case);
  test_case.shared_encoder = true;
  expect_near<CartPole>(test_case, {.order = FiberOrder::kShuffled});
  test_case.normalisation = Normalisation::kNone;
  test_case.activation = Activation::kElu;
  expect_near<Pendulum>(test_case, {.order = FiberOrder::kReversed});
}

// The network for Breakout's picture with encoder = minatar.
NetworkShape image_shape(const Case& test_case, bool action_values) {
  const EnvSpec spec = Breakout::spec(Breakout::make_params({}).value());
  NetworkShape shape = network_shape(spec, test_case, action_values);
  shape.encoder = Encoder::kMinatar;
  const std::vector<int> extents = spec.observation.extents();
  shape.image = {extents[0], extents[1], extents[2]};
  return shape;
}
template <class Both>
void expect_near_on_images(const Case& test_case, const SideOptions& side_options = {}) {
  expect_near<Breakout, Both>(test_case, image_shape(test_case, Both::kActionValues), side_options);
}

TEST(Tensor, ReadsImages) {
  Case test_case = quick({40});
  test_case.activation = Activation::kRelu;
  test_case.num_envs = 5;
  test_case.num_steps = 7;
  test_case.minibatches = 2;
  expect_near_on_images<PqnOnBoth>(test_case);
  test_case.normalisation = Normalisation::kChannels;
  expect_near_on_images<PqnOnBoth>(test_case, {.order = FiberOrder::kReversed});
  test_case.normalisation = Normalisation::kAll;
  test_case.hidden_sizes = {20, 24};
  expect_near_on_images<PpoOnBoth>(test_case, {.order = FiberOrder::kShuffled});
  test_case.hidden_sizes = {};  // the head directly after the convolution
  expect_near_on_images<PqnOnBoth>(test_case);
}

// So many samples that a block has 16 rows, and several passes are needed.
TEST(Tensor, TakesManySamples) {
  Case test_case = quick({12});
  test_case.activation = Activation::kRelu;
  test_case.normalisation = Normalisation::kChannels;
  test_case.num_envs = 64;
  test_case.num_steps = 9;
  test_case.minibatches = 1;
  const SideOptions side_options{.order = FiberOrder::kShuffled, .rows = 512};
  const EnvSpec spec = Pendulum::spec(Pendulum::make_params({}).value());
  expect_same_unrounded<Pendulum, PpoOnBoth>(test_case, network_shape(spec, test_case),
                                             side_options);
  RELEASE_ONLY("images take as many passes");
  expect_same_unrounded<Breakout, PqnOnBoth>(test_case, image_shape(test_case, true), side_options);
}

// The bits do not depend on the order of threads or the number of multiprocessors.
TEST(Tensor, IsReproducible) {
  Case test_case = quick({40, 20});
  test_case.normalisation = Normalisation::kChannels;
  test_case.num_envs = 41;
  test_case.num_steps = 9;
  test_case.minibatches = 1;
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  const NetworkShape shape = network_shape(spec, test_case, true);
  const auto learnt = [&](const SideOptions& side_options) {
    return learn<CartPole, PqnOnBoth>(shape, Precision::kTf32, test_case, side_options).params;
  };
  const std::vector<float> expected = learnt({});
  EXPECT_EQ(learnt({.order = FiberOrder::kReversed}), expected);
  EXPECT_EQ(learnt({.order = FiberOrder::kShuffled, .multiprocessors = 40}), expected);
}

// Processes fewer rows at a time.
TEST(Tensor, WorksWithLessSharedMemory) {
  const Case test_case = quick({150, 30});
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  NetworkShape shape = network_shape(spec, test_case);
  shape.precision = Precision::kTf32;
  const DeviceNetwork network = device_network(ActorCritic(shape));
  const auto rows_in = [&](std::size_t kilobytes) {
    return TensorTile::fit(network, kilobytes * 1024, 2 * kTensorRows).rows;
  };
  EXPECT_EQ(rows_in(40), 16);
  EXPECT_EQ(rows_in(20), 8);
  EXPECT_EQ(rows_in(10), 0);
  expect_near<CartPole>(test_case, {.order = FiberOrder::kShuffled, .shared_bytes = 20 * 1024});
}

}  // namespace
}  // namespace broadloom::cuda
