#include <algorithm>
#include <array>

#include "broadloom/core/random.h"
#include "broadloom/instruments/policy/policy_shift.h"
#include "broadloom/learn/ratio_sums.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/math/symmetric_eigenvalues.h"
#include "broadloom/nn/actor_critic.h"
#include "tests/golden/measure.h"

namespace broadloom::golden {
namespace {

constexpr int kTiles = 200;
constexpr std::uint64_t kSeed = 14;

std::uint64_t normals() {
  Numbers numbers;
  Random random(kSeed, Purpose::kUser, 0, 0);
  for (int i = 0; i < 50000; ++i) numbers.add(random.normal());
  return numbers.hash();
}

// Rows of a tile, drawn by the kernel that draws actions.
std::vector<float> drawn_tile(std::uint32_t what, int tile, int count) {
  std::vector<float> out(static_cast<std::size_t>(count) * kTileRows);
  random_normals(
      RandomRows{kSeed, Purpose::kUser, 64 * what, static_cast<std::uint64_t>(tile), kTileRows},
      count, out.data(), kTileRows);
  return out;
}

std::uint64_t normal_rows() {
  Numbers numbers;
  for (int tile = 0; tile < kTiles; ++tile) {
    numbers.add_bytes(std::span<const float>(drawn_tile(1, tile, 5)));
  }
  return numbers.hash();
}

std::uint64_t activations() {
  Numbers numbers;
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    for (int tile = 0; tile < kTiles; ++tile) {
      std::vector<float> x = drawn_tile(1, tile, 5);
      std::vector<double> wide(x.begin(), x.end());
      activate(activation, x.data(), x.size() - 3);
      activate(activation, wide.data(), wide.size() - 3);
      numbers.add_bytes(std::span<const float>(x));
      numbers.add_bytes(std::span<const double>(wide));
    }
  }
  return numbers.hash();
}

// Distances between policies, and functions of their ratios.
std::uint64_t divergences(SpaceKind kind) {
  constexpr int kCount = 5;
  Numbers numbers;
  NetworkShape shape;
  shape.action_kind = kind;
  shape.action_outputs = kCount;
  PolicyDivergence divergence(shape);
  std::array<double, kTileRows> kl{};
  for (int tile = 0; tile < kTiles; ++tile) {
    const std::vector<float> before = drawn_tile(1, tile, kCount),
                             after = drawn_tile(2, tile, kCount);
    const std::vector<float> log_std = drawn_tile(3, tile, 2);
    divergence(before.data(), after.data(), log_std.data(), log_std.data() + kCount, kTileRows,
               kl.data());
    numbers.add_bytes(std::span<const double>(kl));
    RatioSums sums;
    add_ratios(before.data(), after.data(), kTileRows, sums);
    for (const double x : {sums.approx_kl, sums.ratios, sums.squared_ratios}) numbers.add(x);
  }
  return numbers.hash();
}

std::uint64_t eigenvalues() {
  constexpr int kSize = 24;
  Numbers numbers;
  for (int tile = 0; tile < 20; ++tile) {
    const std::vector<float> x = drawn_tile(4, tile, kSize);
    std::vector<double> matrix(kSize * kSize), values(kSize), scratch(eigenvalues_scratch(kSize));
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        const int low = i < j ? i : j, high = i < j ? j : i;
        matrix[static_cast<std::size_t>(i * kSize + j)] = x[low * kTileRows + high];
      }
    }
    symmetric_eigenvalues(matrix.data(), kSize, values.data(), scratch.data());
    numbers.add(values);
  }
  return numbers.hash();
}

// Forward and backward of a whole network, on images that are numbers of a tile over and over.
std::uint64_t network(Encoder encoder, Normalisation normalisation, RowShape image) {
  constexpr int kRows = 3;
  NetworkShape shape;
  shape.encoder = encoder;
  shape.normalisation = normalisation;
  shape.image = image;
  shape.observation_size = image.size();
  shape.hidden_sizes = {33};
  shape.activation = Activation::kRelu;
  shape.shared_encoder = true;
  shape.action_outputs = 5;
  const ActorCritic net(shape);
  AlignedVector<float> params(net.parameter_count()), turned(params.size()), grads(params.size());
  net.initialise(kSeed, params.data());
  net.refresh_transposed(params.data(), turned.data());
  TileWorkspace<float> work = net.make_workspace<float>();
  const std::vector<float> drawn = drawn_tile(5, 0, 13);
  for (std::size_t i = 0; i < work.observations.size(); ++i) {
    work.observations[i] = drawn[i % drawn.size()];
  }
  net.forward(params.data(), work.observations.data(), kRows, work);
  std::copy_n(drawn.begin(), work.policy_delta.size(), work.policy_delta.begin());
  std::copy_n(drawn.begin(), work.values_delta.size(), work.values_delta.begin());
  net.backward(params.data(), turned.data(), work.observations.data(), kRows, work, grads.data());
  Numbers numbers;
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < 5; ++o) numbers.add(work.policy[o * kTileRows + r]);
  }
  numbers.add_bytes(std::span<const float>(grads));
  return numbers.hash();
}

}  // namespace

Result<Lines> measure_functions(const std::string& isa) {
  BROADLOOM_TRY(set_isa(isa));
  return Lines{
      {"normals", normals()},
      {"normal_rows", normal_rows()},
      {"activations", activations()},
      {"divergences.discrete", divergences(SpaceKind::kDiscrete)},
      {"divergences.box", divergences(SpaceKind::kBox)},
      {"eigenvalues", eigenvalues()},
      {"networks.minatar", network(Encoder::kMinatar, Normalisation::kNone, {10, 10, 7})},
      {"networks.channels", network(Encoder::kMinatar, Normalisation::kChannels, {9, 8, 3})},
      {"networks.all", network(Encoder::kNature, Normalisation::kAll, {44, 38, 3})},
      {"networks.nature", network(Encoder::kNature, Normalisation::kNone, {84, 84, 4})},
      {"networks.impala", network(Encoder::kImpala, Normalisation::kNone, {21, 16, 3})}};
}

}  // namespace broadloom::golden
