// Whole iterations of PPO and PQN by emulated kernels, compared with the library's collector and
// update: equal to the bit, in any order of threads.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include "tests/cuda/update_pairs.h"

namespace broadloom::cuda {
namespace {

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

// Whether CartPole's network goes layer by layer with the shared memory of this order.
bool goes_layer_by_layer(const Case& test_case, FiberOrder order) {
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  const ActorCritic network(network_shape(spec, test_case));
  return delta_room(device_network(network), shared_bytes_with(order)).spills;
}

TEST(DevicePpo, LearnsCartPoleToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<CartPole>({}, order);
}

TEST(DevicePqn, LearnsCartPoleToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<CartPole, PqnOnBoth>({}, order);
}

// Sizes below, at and above the lanes of a row, and ones that are no multiple.
TEST(DevicePqn, NormalisesLayersToTheHostsBits) {
  for (const FiberOrder order : kOrders) {
    expect_the_same<CartPole, PqnOnBoth>(
        {.hidden_sizes = {16, 24}, .normalisation = Normalisation::kChannels}, order);
  }
  expect_the_same<CartPole, PqnOnBoth>({.hidden_sizes = {5, 40, 33},
                                        .activation = Activation::kRelu,
                                        .normalisation = Normalisation::kAll},
                                       FiberOrder::kShuffled);
}

TEST(DevicePpo, NormalisesLayersToTheHostsBits) {
  expect_the_same<Pendulum>({.hidden_sizes = {32, 7}, .normalisation = Normalisation::kAll},
                            FiberOrder::kReversed);
  expect_the_same<CartPole>(
      {.hidden_sizes = {64, 64}, .normalisation = Normalisation::kChannels, .iterations = 1},
      FiberOrder::kForward);
}

TEST(DevicePpo, LearnsPendulumToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<Pendulum>({}, order);
}

TEST(DevicePpo, SharesABodyToTheHostsBits) {
  for (const FiberOrder order : kOrders) {
    expect_the_same<CartPole>({.shared_encoder = true}, order);
    expect_the_same<Pendulum>({.shared_encoder = true}, order);
  }
  Case other{.hidden_sizes = {24},
             .activation = Activation::kElu,
             .normalisation = Normalisation::kAll,
             .shared_encoder = true};
  other.settings.loss.vf_coef = 0.25;
  expect_the_same<Pendulum>(other, FiberOrder::kShuffled);
  // Without layers, nothing can be shared.
  expect_the_same<CartPole>({.hidden_sizes = {}, .shared_encoder = true}, FiberOrder::kForward);
}

// Both heads after a body that exceeds shared memory.
TEST(DevicePpo, SharesAWideBody) {
  Case wide{.hidden_sizes = {128, 96}, .shared_encoder = true, .iterations = 1};
  wide.settings.update_epochs = 1;
  ASSERT_TRUE(goes_layer_by_layer(wide, FiberOrder::kShuffled));
  expect_the_same<CartPole>(wide, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesTheUsualWidths) {
  Case usual;
  usual.hidden_sizes = {64, 64};
  usual.num_envs = 40;  // several blocks of environments, several tiles per partial gradient
  usual.num_steps = 20;
  usual.minibatches = 1;
  usual.iterations = 1;
  usual.settings.update_epochs = 2;
  for (const FiberOrder order : kOrders) expect_the_same<CartPole>(usual, order);
  expect_the_same<Pendulum>(usual, FiberOrder::kReversed);
}

// More rows than fit at a time, so a partial gradient takes several passes. The last one has fewer
// rows or none.
TEST(DevicePpo, TakesRowsInPasses) {
  Case test_case;
  test_case.hidden_sizes = {16, 8};
  test_case.num_envs = 41;
  test_case.num_steps = 23;
  test_case.minibatches = 1;
  test_case.iterations = 1;
  test_case.settings.update_epochs = 2;
  test_case.rows = 128;
  for (const FiberOrder order : kOrders) {
    expect_the_same<CartPole>(test_case, order);
    expect_the_same<Pendulum>(test_case, order);
  }
  test_case.normalisation = Normalisation::kAll;
  test_case.hidden_sizes = {128, 96};
  expect_the_same<CartPole, PqnOnBoth>(test_case, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesTilesBeyondSharedMemory) {
  Case wide;
  wide.hidden_sizes = {128, 96};
  wide.iterations = 1;
  wide.settings.update_epochs = 1;
  ASSERT_FALSE(goes_layer_by_layer(wide, FiberOrder::kForward));
  for (const FiberOrder order : {FiberOrder::kReversed, FiberOrder::kShuffled}) {
    ASSERT_TRUE(goes_layer_by_layer(wide, order));
    expect_the_same<CartPole>(wide, order);
  }
}

// Products in the smallest pieces. Their depth is no multiple of the depth in shared memory.
TEST(DevicePpo, SpreadsFewRows) {
  Case few;
  few.hidden_sizes = {37, 141, 22};
  few.iterations = 1;
  few.settings.update_epochs = 1;
  few.multiprocessors = 64;
  ASSERT_TRUE(goes_layer_by_layer(few, FiberOrder::kReversed));
  expect_the_same<CartPole>(few, FiberOrder::kReversed);
}

// Larger than the host's blocks of products, and of the largest depth.
TEST(DevicePpo, TakesWideAndDeepBodies) {
  Case test_case;
  test_case.iterations = 1;
  test_case.settings.update_epochs = 1;
  test_case.hidden_sizes = {513, 260};
  expect_the_same<CartPole>(test_case, FiberOrder::kReversed);
  test_case.normalisation = Normalisation::kAll;
  test_case.hidden_sizes = {600};
  expect_the_same<Pendulum>(test_case, FiberOrder::kShuffled);
  test_case.normalisation = Normalisation::kNone;
  test_case.hidden_sizes.assign(kMostLayers, 9);
  expect_the_same<CartPole>(test_case, FiberOrder::kForward);
}

TEST(DevicePpo, TakesOtherActivationsShapesAndLosses) {
  Case other;
  other.hidden_sizes = {24};
  other.activation = Activation::kElu;
  other.settings.loss.clip_vloss = false;
  other.settings.norm_adv = AdvantageNorm::kOff;
  other.settings.max_grad_norm = 0.0;
  expect_the_same<CartPole>(other, FiberOrder::kReversed);
  other.hidden_sizes = {};
  other.limit = 0;
  expect_the_same<CartPole>(other, FiberOrder::kForward);
  other.hidden_sizes = {8, 8, 8};
  other.activation = Activation::kRelu;
  expect_the_same<Pendulum>(other, FiberOrder::kShuffled);
}

TEST(DeviceNetwork, ReportsWhatDoesNotFit) {
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  NetworkShape shape = network_shape(spec, {});
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.critic_observation_size = 7;
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape = network_shape(spec, {});
  shape.shared_encoder = true;
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.value_outputs = 2;
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.value_outputs = 3;
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
  shape = network_shape(spec, {});
  shape.hidden_sizes.assign(kMostLayers, 8);
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.hidden_sizes.push_back(8);
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
}

}  // namespace
}  // namespace broadloom::cuda
