#include "broadloom/nn/flops.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

NetworkShape small_shape(bool shared) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_outputs = 2;
  shape.hidden_sizes = {5, 7};
  shape.shared_encoder = shared;
  return shape;
}

TEST(Flops, TwoBodies) {
  const NetworkFlops flops = count_flops(ActorCritic(small_shape(false)));
  EXPECT_EQ(flops.forward, 2 * (3 * 5 + 5 * 7 + 7 * 2) + 2 * (3 * 5 + 5 * 7 + 7 * 1));
  EXPECT_EQ(flops.weight_grads, flops.forward);
  EXPECT_EQ(flops.input_grads, 2 * (5 * 7 + 7 * 2) + 2 * (5 * 7 + 7 * 1));
}

TEST(Flops, OneBody) {
  const NetworkFlops flops = count_flops(ActorCritic(small_shape(true)));
  EXPECT_EQ(flops.forward, 2 * (3 * 5 + 5 * 7) + 2 * (7 * 2 + 7 * 1));
  EXPECT_EQ(flops.weight_grads, flops.forward);
  EXPECT_EQ(flops.input_grads, 2 * 5 * 7 + 2 * (7 * 2 + 7 * 1));
}

TEST(Flops, LinearPoliciesHaveNoInputGradients) {
  NetworkShape shape = small_shape(true);
  shape.hidden_sizes = {};
  EXPECT_EQ(count_flops(ActorCritic(shape)).input_grads, 0);
}

// The LSTM reads observations, so its product with them needs no derivative below.
TEST(Flops, ACellBeforeTheHiddenLayers) {
  NetworkShape shape = small_shape(false);
  shape.recurrent = CellKind::kLstm;
  shape.recurrent_units = 4;
  const NetworkFlops flops = count_flops(ActorCritic(shape));
  const double body = 16 * (3 + 4) + 4 * 5 + 5 * 7;
  EXPECT_EQ(flops.forward, 2 * (2 * body + 7 * 2 + 7 * 1));
  EXPECT_EQ(flops.weight_grads, flops.forward);
  EXPECT_EQ(flops.input_grads, flops.forward - 2 * 2 * 16 * 3);
}

// Pendulum with two bodies of 64-64, as in bench/cases.
TEST(Flops, PerStepIsOneForwardAndTheEpochs) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 1;
  const NetworkFlops flops = count_flops(ActorCritic(shape));
  EXPECT_EQ(flops.per_step(0), 17408);
  EXPECT_EQ(flops.per_step(1), 17408 + 51456);
  EXPECT_EQ(flops.per_step(4), 17408 + 4 * 51456);
}

}  // namespace
}  // namespace broadloom
