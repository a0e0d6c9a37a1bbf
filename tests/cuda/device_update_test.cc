// Whole iterations of PPO and PQN by kernels, emulated, beside the library's collector and update:
// equal to the bit, in any order of threads.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include "tests/cuda/update_pairs.h"

namespace broadloom::cuda {
namespace {

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

// Of CartPole, with what tests with that order give a block.
bool goes_layer_by_layer(const Case& of, FiberOrder order) {
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  const ActorCritic network(network_shape(spec, of));
  return delta_room(device_network(network), shared_bytes_with(order)).spills;
}

TEST(DevicePpo, LearnsCartPoleToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<CartPole>({}, order);
}

TEST(DevicePqn, LearnsCartPoleToTheHostsBits) {
  for (const FiberOrder order : kOrders) expect_the_same<CartPole, PqnOnBoth>({}, order);
}

// Of all sizes beside the lanes of a row: fewer, as many, more, and not a multiple.
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
  // Without layers there is nothing to share.
  expect_the_same<CartPole>({.hidden_sizes = {}, .shared_encoder = true}, FiberOrder::kForward);
}

// Both heads behind what shared memory does not hold.
TEST(DevicePpo, SharesAWideBody) {
  Case wide{.hidden_sizes = {128, 96}, .shared_encoder = true, .iterations = 1};
  wide.settings.update_epochs = 1;
  ASSERT_TRUE(goes_layer_by_layer(wide, FiberOrder::kShuffled));
  expect_the_same<CartPole>(wide, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesTheUsualWidths) {
  Case usual;
  usual.hidden_sizes = {64, 64};
  usual.num_envs = 40;  // several blocks of environments, and tiles of a partial gradient
  usual.num_steps = 20;
  usual.minibatches = 1;
  usual.iterations = 1;
  usual.settings.update_epochs = 2;
  for (const FiberOrder order : kOrders) expect_the_same<CartPole>(usual, order);
  expect_the_same<Pendulum>(usual, FiberOrder::kReversed);
}

// More rows than are worked on at a time: several goes for a partial gradient, of which the last
// has fewer, and some none.
TEST(DevicePpo, TakesRowsOneAfterAnother) {
  Case of;
  of.hidden_sizes = {16, 8};
  of.num_envs = 41;
  of.num_steps = 23;
  of.minibatches = 1;
  of.iterations = 1;
  of.settings.update_epochs = 2;
  of.rows = 128;
  for (const FiberOrder order : kOrders) {
    expect_the_same<CartPole>(of, order);
    expect_the_same<Pendulum>(of, order);
  }
  of.normalisation = Normalisation::kAll;
  of.hidden_sizes = {128, 96};
  expect_the_same<CartPole, PqnOnBoth>(of, FiberOrder::kShuffled);
}

TEST(DevicePpo, TakesWhatSharedMemoryDoesNotHold) {
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

// Products in the smallest pieces, of a depth that is no whole number of what lies in shared
// memory.
TEST(DevicePpo, SpreadsFewRows) {
  Case few;
  few.hidden_sizes = {37, 141, 22};
  few.iterations = 1;
  few.settings.update_epochs = 1;
  few.multiprocessors = 64;
  ASSERT_TRUE(goes_layer_by_layer(few, FiberOrder::kReversed));
  expect_the_same<CartPole>(few, FiberOrder::kReversed);
}

// Past the blocks that the host cuts products into, and as deep as can be.
TEST(DevicePpo, TakesWideAndDeepBodies) {
  Case of;
  of.iterations = 1;
  of.settings.update_epochs = 1;
  of.hidden_sizes = {513, 260};
  expect_the_same<CartPole>(of, FiberOrder::kReversed);
  of.normalisation = Normalisation::kAll;
  of.hidden_sizes = {600};
  expect_the_same<Pendulum>(of, FiberOrder::kShuffled);
  of.normalisation = Normalisation::kNone;
  of.hidden_sizes.assign(kMostLayers, 9);
  expect_the_same<CartPole>(of, FiberOrder::kForward);
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

TEST(DeviceNetwork, KnowsWhatDoesNotFit) {
  const EnvSpec spec = CartPole::spec(CartPole::make_params({}).value());
  NetworkShape shape = network_shape(spec, {});
  EXPECT_TRUE(fits_kernels(ActorCritic(shape)));
  shape.critic_observation_size = 7;
  EXPECT_FALSE(fits_kernels(ActorCritic(shape)));
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
