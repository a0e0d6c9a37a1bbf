// Networks of observations in groups: each encoder's gradient against finite differences in double
// precision, and their outputs against networks of the groups alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

constexpr int kGroupRows = 3;

NetworkShape group_shape_of(Encoder encoder, bool is_shared) {
  const int side = encoder == Encoder::kNature ? 36 : 5;
  const int image = side * (side + 1) * 2;
  NetworkShape shape;
  shape.observation_size = 2 + image + 3;
  shape.action_outputs = 3;
  shape.hidden_sizes = {6};
  shape.shared_encoder = is_shared;
  shape.groups = {{.shape = {1, 1, 2}, .widths = {4}},
                  {.shape = {side, side + 1, 2},
                   .first = 2,
                   .divisor = 2.0f,
                   .encoder = encoder,
                   .widths = {5}},
                  {.shape = {1, 1, 3}, .first = 2 + image, .policy = is_shared}};
  return shape;
}

std::vector<double> group_numbers(std::size_t count, std::uint32_t lane) {
  Random random(5, Purpose::kUser, lane, 0);
  std::vector<double> out(count);
  for (double& x : out) x = random.normal();
  return out;
}

struct GroupNet {
  explicit GroupNet(const NetworkShape& shape)
      : network(shape), work(network.make_workspace<double>()), params(network.parameter_count()) {
    std::vector<float> drawn(params.size());
    network.initialise(3, drawn.data());
    const std::vector<double> noise = group_numbers(params.size(), 1);
    for (std::size_t i = 0; i < params.size(); ++i) params[i] = drawn[i] + 0.05 * noise[i];
  }

  // The sum of all outputs, each with a weight of its own.
  double loss(const std::vector<double>& seen) {
    network.forward(params.data(), seen.data(), kGroupRows, work);
    double sum = 0.0;
    for (int r = 0; r < kGroupRows; ++r) {
      for (int o = 0; o < 3; ++o) sum += (1.0 + o - r) * work.policy[o * kTileRows + r];
      sum += (2.0 - r) * work.values[static_cast<std::size_t>(r)];
    }
    return sum;
  }

  std::vector<double> gradient(const std::vector<double>& seen) {
    loss(seen);
    for (int r = 0; r < kGroupRows; ++r) {
      for (int o = 0; o < 3; ++o) work.policy_delta[o * kTileRows + r] = 1.0 + o - r;
      work.values_delta[static_cast<std::size_t>(r)] = 2.0 - r;
    }
    std::vector<double> transposed(params.size()), grads(params.size());
    network.refresh_transposed(params.data(), transposed.data());
    network.backward(params.data(), transposed.data(), seen.data(), kGroupRows, work, grads.data());
    return grads;
  }

  ActorCritic network;
  TileWorkspace<double> work;
  std::vector<double> params;
};

// Parameters of every layer, at most `most` of each.
std::vector<std::size_t> some_group_parameters(const Chain& chain, std::uint32_t most) {
  std::vector<std::size_t> out;
  Random random(7, Purpose::kUser, 0, 0);
  for (const Layer& layer : chain.layers()) {
    if (!layer.has_parameters()) continue;
    const auto weights = static_cast<std::uint32_t>(layer.slice.bias - layer.slice.weight);
    for (std::uint32_t k = 0; k < most; ++k) {
      out.push_back(layer.slice.weight + random.below(weights));
      out.push_back(layer.slice.bias + random.below(static_cast<std::uint32_t>(layer.slice.out)));
    }
  }
  return out;
}

TEST(GroupGradient, OfEachEncoderEqualsFiniteDifferences) {
  for (const Encoder encoder :
       {Encoder::kMlp, Encoder::kMinatar, Encoder::kNature, Encoder::kImpala}) {
    for (const bool is_shared : {false, true}) {
      GroupNet net(group_shape_of(encoder, is_shared));
      const std::vector<double> seen = group_numbers(
          static_cast<std::size_t>(kGroupRows * net.network.shape().observation_size), 2);
      const std::vector<double> grads = net.gradient(seen);
      double largest = 0.0;
      for (const double g : grads) largest = std::max(largest, std::abs(g));
      std::vector<std::size_t> places;
      for (const Chain* chain :
           {&net.network.encoder(), &net.network.actor(), &net.network.critic()}) {
        const std::vector<std::size_t> own = some_group_parameters(*chain, 6);
        places.insert(places.end(), own.begin(), own.end());
      }
      ASSERT_GE(places.size(), 36u);
      constexpr double h = 1e-5;
      for (const std::size_t i : places) {
        const double kept = net.params[i];
        const auto loss_at = [&](double offset) {
          net.params[i] = kept + offset;
          return net.loss(seen);
        };
        const double numeric =
            (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
        net.params[i] = kept;
        ASSERT_NEAR(grads[i], numeric, 1e-6 * largest)
            << "encoder " << static_cast<int>(encoder) << " parameter " << i;
      }
    }
  }
}

// A side does not depend on a group that it does not read.
TEST(GroupGradient, ReadersAreThoseOfTheShape) {
  GroupNet net(group_shape_of(Encoder::kMinatar, false));
  const auto size = static_cast<std::size_t>(net.network.shape().observation_size);
  std::vector<double> seen = group_numbers(kGroupRows * size, 2);
  net.loss(seen);
  const AlignedVector<double> policy = net.work.policy, values = net.work.values;
  for (std::size_t r = 0; r < kGroupRows; ++r) seen[r * size + size - 1] += 1.0;
  net.loss(seen);
  EXPECT_EQ(net.work.policy, policy);
  EXPECT_NE(net.work.values, values);
}

// With groups of vectors alone, all straight, it is the network of one array.
TEST(GroupGradient, StraightVectorsAreOneArray) {
  NetworkShape plain;
  plain.observation_size = 5;
  plain.action_outputs = 3;
  plain.hidden_sizes = {6, 4};
  NetworkShape grouped = plain;
  grouped.groups = {{.shape = {1, 1, 2}}, {.shape = {1, 1, 3}, .first = 2}};
  GroupNet one(plain), two(grouped);
  EXPECT_EQ(one.params, two.params);
  const std::vector<double> seen = group_numbers(kGroupRows * 5, 2);
  EXPECT_EQ(one.gradient(seen), two.gradient(seen));
  EXPECT_EQ(one.work.policy, two.work.policy);
}

}  // namespace
}  // namespace broadloom
