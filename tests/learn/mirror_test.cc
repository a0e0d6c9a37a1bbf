// PPO's gradient with mirror images, against slow references in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/mirror.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

constexpr int kMirrorSeen = 5, kMirrorRows = 23, kMirrorOutputs = 4;

struct MirrorCase {
  std::string name;
  SpaceKind kind;
  bool shared = false;
  int critic = 0;  // observation size of the critic alone
  bool masked = false;
};

class MirrorGradient : public ::testing::TestWithParam<MirrorCase> {
 protected:
  MirrorGradient()
      : network_(shape()),
        params_(network_.parameter_count()),
        transposed_(params_.size()),
        batch_(network_.shape()) {
    mirror_.observation = "+0 -2 -1 -3 +4";
    if (GetParam().critic > 0) mirror_.critic_observation = "+1 +0 -2";
    mirror_.action = is_box() ? "-1 -0 +3 +2" : "+1 +0 +3 +2";
    coefficients_.ent_coef = 0.05;
    Random random(11, Purpose::kUser, 0, 0);
    for (double& p : params_) p = 0.4 * random.normal();
    batch_.rows = kMirrorRows;
    for (double& x : batch_.observations) x = random.normal();
    for (double& x : batch_.critic_observations) x = random.normal();
    for (std::uint8_t& flag : batch_.valid) flag = random.below(3) > 0 ? 1 : 0;
    for (double& x : batch_.actions) x = is_box() ? random.normal() : random.below(kMirrorOutputs);
    for (std::size_t r = 0; r < kMirrorRows; ++r) {
      if (!batch_.valid.empty()) {
        batch_.valid[r * kMirrorOutputs + static_cast<std::size_t>(batch_.actions[r])] = 1;
      }
      batch_.advantages[r] = random.normal();
      batch_.old_values[r] = random.normal();
      batch_.value_targets[r] = random.normal();
      batch_.old_log_probs[r] = -2.0 + random.normal();
    }
  }

  static bool is_box() { return GetParam().kind == SpaceKind::kBox; }
  static NetworkShape shape() {
    NetworkShape shape;
    shape.observation_size = kMirrorSeen;
    shape.action_kind = GetParam().kind;
    shape.action_outputs = kMirrorOutputs;
    shape.hidden_sizes = {7, 6};
    shape.shared_encoder = GetParam().shared;
    shape.critic_observation_size = GetParam().critic;
    shape.masked = GetParam().masked;
    return shape;
  }

  // Number i of the image of row r, [size] numbers a row, is sign * number `index`: by hand.
  static void mirror_rows(const SignedPermutation& map, AlignedVector<double>& rows) {
    const AlignedVector<double> before = rows;
    for (std::size_t r = 0; r < kMirrorRows; ++r) {
      for (std::size_t i = 0; i < map.size(); ++i) {
        const auto other = static_cast<std::size_t>(map.index[i]);
        rows[r * map.size() + i] =
            static_cast<double>(map.sign[i]) * before[r * map.size() + other];
      }
    }
  }
  TileBatch<double> image() const {
    TileBatch<double> image = batch_;
    mirror_rows(mirror_.observation, image.observations);
    if (GetParam().critic > 0) mirror_rows(mirror_.critic_observation, image.critic_observations);
    for (std::size_t r = 0; r < kMirrorRows; ++r) {
      for (std::size_t i = 0; i < kMirrorOutputs; ++i) {
        const auto other = static_cast<std::size_t>(mirror_.action.index[i]);
        if (is_box()) {
          image.actions[i * kTileRows + r] =
              static_cast<double>(mirror_.action.sign[i]) * batch_.actions[other * kTileRows + r];
        }
        if (!image.valid.empty()) {
          image.valid[r * kMirrorOutputs + i] = batch_.valid[r * kMirrorOutputs + other];
        }
      }
      if (!is_box()) {
        const auto choice = static_cast<std::size_t>(batch_.actions[r]);
        image.actions[r] = mirror_.action.index[choice];
      }
    }
    return image;
  }

  void refresh() { network_.refresh_transposed(params_.data(), transposed_.data()); }
  void add_plain(const PpoCoefficients& c, int samples, TileBatch<double> batch,
                 std::vector<double>& grads, PpoSums& sums) {
    TileWorkspace<double> work = network_.make_workspace<double>();
    ppo_tile_gradient(network_, c, samples, params_.data(), transposed_.data(), batch, work,
                      grads.data(), sums);
  }
  std::vector<double> mirrored(PpoSums& sums, NetworkSide side = NetworkSide::kBoth) {
    TileWorkspace<double> work = network_.make_workspace<double>();
    TileBatch<double> batch = batch_;
    std::vector<double> grads(params_.size(), 0.0);
    ppo_mirrored_gradient(network_, coefficients_, mirror_, kMirrorRows, params_.data(),
                          transposed_.data(), batch, work, grads.data(), sums, side);
    return grads;
  }
  // The outputs [kMirrorOutputs, kTileRows] for rows of a batch.
  AlignedVector<double> outputs(const TileBatch<double>& batch) {
    TileWorkspace<double> work = network_.make_workspace<double>();
    network_.forward(params_.data(), batch.input(), kMirrorRows, work);
    return work.policy;
  }
  // mirror_coef times the mean over rows and numbers, RSL-RL's mirror loss; `images`: of the means.
  double mirror_loss(const AlignedVector<double>& images) {
    refresh();
    const AlignedVector<double> means = outputs(image());
    double sum = 0.0;
    for (std::size_t a = 0; a < kMirrorOutputs; ++a) {
      for (std::size_t r = 0; r < kMirrorRows; ++r) {
        const double off = means[a * kTileRows + r] - images[a * kTileRows + r];
        sum += off * off;
      }
    }
    return coefficients_.mirror_coef * sum / (kMirrorRows * kMirrorOutputs);
  }

  ActorCritic network_;
  Mirror mirror_;
  PpoCoefficients coefficients_;
  std::vector<double> params_, transposed_;
  TileBatch<double> batch_;
};

TEST_P(MirrorGradient, IsThatOfSamplesAndImages) {
  refresh();
  coefficients_.mirror_samples = true;
  PpoCoefficients twice = coefficients_, none = coefficients_;
  twice.ent_coef *= 2.0;  // of samples alone
  none.ent_coef = 0.0;
  std::vector<double> expected(params_.size(), 0.0);
  PpoSums of_samples, of_images, sums;
  add_plain(twice, 2 * kMirrorRows, batch_, expected, of_samples);
  add_plain(none, 2 * kMirrorRows, image(), expected, of_images);
  const std::vector<double> grads = mirrored(sums);
  double largest = 0.0;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    largest = std::max(largest, std::abs(grads[i]));
    ASSERT_NEAR(grads[i], expected[i], 1e-13) << i;
  }
  EXPECT_GT(largest, 1e-3);
  EXPECT_NE(of_images.policy_loss, of_samples.policy_loss);
  EXPECT_EQ(sums.policy_loss, of_samples.policy_loss);
  EXPECT_EQ(sums.approx_kl, of_samples.approx_kl);
  EXPECT_EQ(sums.entropy, of_samples.entropy);
}

TEST_P(MirrorGradient, OfTheMirrorLossEqualsFiniteDifferences) {
  if (!is_box()) GTEST_SKIP() << "choices have no means";
  refresh();
  PpoSums sums;
  std::vector<double> plain(params_.size(), 0.0);
  add_plain(coefficients_, kMirrorRows, batch_, plain, sums);
  coefficients_.mirror_coef = 3.0;
  const std::vector<double> grads = mirrored(sums);
  AlignedVector<double> images = outputs(batch_);
  const AlignedVector<double> means = images;
  for (std::size_t i = 0; i < kMirrorOutputs; ++i) {
    const auto other = static_cast<std::size_t>(mirror_.action.index[i]);
    for (std::size_t r = 0; r < kMirrorRows; ++r) {
      images[i * kTileRows + r] =
          static_cast<double>(mirror_.action.sign[i]) * means[other * kTileRows + r];
    }
  }
  ASSERT_GT(mirror_loss(images), 1e-3);
  constexpr double h = 2e-5;
  double largest = 0.0;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const double kept = params_[i];
    const auto loss_at = [&](double offset) {
      params_[i] = kept + offset;
      const double loss = mirror_loss(images);
      params_[i] = kept;
      return loss;
    };
    const double numeric =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    largest = std::max(largest, std::abs(numeric));
    ASSERT_NEAR(grads[i] - plain[i], numeric, 1e-8) << i;
  }
  EXPECT_GT(largest, 1e-2);
}

TEST_P(MirrorGradient, SidesMakeUpBoth) {
  if (!network_.sides_are_apart()) GTEST_SKIP() << "a shared encoder";
  refresh();
  coefficients_.mirror_coef = is_box() ? 0.5 : 0.0;
  for (const bool mirrors_samples : {true, false}) {
    coefficients_.mirror_samples = mirrors_samples;
    PpoSums both, sides;
    const std::vector<double> whole = mirrored(both);
    const std::vector<double> policy = mirrored(sides, NetworkSide::kPolicy);
    const std::vector<double> value = mirrored(sides, NetworkSide::kValue);
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(policy[i] + value[i], whole[i]) << i;
    EXPECT_EQ(sides.value_loss, both.value_loss);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, MirrorGradient,
    ::testing::Values(
        MirrorCase{.name = "choices", .kind = SpaceKind::kDiscrete},
        MirrorCase{.name = "valid_choices", .kind = SpaceKind::kDiscrete, .masked = true},
        MirrorCase{.name = "box", .kind = SpaceKind::kBox},
        MirrorCase{.name = "box_shared", .kind = SpaceKind::kBox, .shared = true},
        MirrorCase{.name = "critic_of_its_own", .kind = SpaceKind::kBox, .critic = 3}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace broadloom
