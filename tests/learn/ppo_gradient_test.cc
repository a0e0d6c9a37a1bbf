// The whole backward pass, loss to first layer, against finite differences in double precision: the
// same compiled code that trains in float, instantiated for double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

struct Case {
  std::string name;
  SpaceKind kind;
  int outputs;
  Activation activation;
  bool shared;
  bool clip_vloss;
  std::vector<int> hidden;
  int critic = 0;  // observation size of the critic alone
  int values = 1;
  std::vector<int> heads = {};  // of MultiDiscrete and hybrid actions
  bool masked = false;
  double bounds_coef = 0.0;
  ActionDistribution distribution = ActionDistribution::kGaussian;
  StdForm std_form = StdForm::kLog;
};

class PpoGradient : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int kObservation = 5;
  static constexpr int kRows = 23;

  PpoGradient() : network_(shape()), params_(network_.parameter_count()) {
    coefficients_.clip_vloss = GetParam().clip_vloss;
    coefficients_.ent_coef = 0.05;
    coefficients_.bounds_coef = GetParam().bounds_coef;
    Random random(9, Purpose::kUser, 0, 0);
    for (double& p : params_) p = 0.4 * random.normal();
    make_batch(random);
  }

  static NetworkShape shape() {
    NetworkShape shape;
    shape.observation_size = kObservation;
    shape.action_kind = GetParam().kind;
    shape.action_outputs = GetParam().outputs;
    shape.action_heads = GetParam().heads;
    shape.hidden_sizes = GetParam().hidden;
    shape.activation = GetParam().activation;
    shape.shared_encoder = GetParam().shared;
    shape.critic_observation_size = GetParam().critic;
    shape.value_outputs = GetParam().values;
    shape.masked = GetParam().masked;
    shape.action_distribution = GetParam().distribution;
    shape.std_form = GetParam().std_form;
    if (shape.std_form == StdForm::kStateDependent) {  // of 23 rows, some lie beyond each bound
      shape.std_min = 0.7;
      shape.std_max = 2.0;
    }
    return shape;
  }

  // Old log-probabilities and values differ from the current ones, so that every branch of both
  // clips has samples.
  void make_batch(Random& random) {
    const NetworkShape& shape = network_.shape();
    batch_ = TileBatch<double>(shape);
    batch_.rows = kRows;
    for (double& x : batch_.observations) x = random.normal();
    for (double& x : batch_.critic_observations) x = random.normal();
    for (std::size_t i = 0; i < batch_.actions.size(); ++i) {
      batch_.actions[i] = i / kTileRows < shape.heads().size()
                              ? random.below(static_cast<unsigned>(shape.heads()[i / kTileRows]))
                              : random.normal();
    }
    make_masks(random);
    for (int r = 0; r < kRows; ++r) {
      batch_.advantages[r] = random.normal();
      batch_.old_values[r] = random.normal();
      batch_.value_targets[r] = random.normal();
    }
    for (std::size_t i = kTileRows; i < batch_.value_targets.size(); ++i) {
      batch_.old_values[i] = random.normal();
      batch_.value_targets[i] = random.normal();
    }
    TileWorkspace<double> work = network_.make_workspace<double>();
    network_.forward(params_.data(), batch_.input(), kRows, work);
    std::vector<double> log_probs(kTileRows);
    const PolicyRows<double> rows{.outputs = work.policy.data(),
                                  .log_std = work.log_std.data(),
                                  .actions = batch_.actions.data(),
                                  .rows = kRows,
                                  .terms = batch_.terms.data(),
                                  .normalisers = batch_.normalisers.data(),
                                  .head_entropies = batch_.head_entropies.data()};
    PolicyDistribution(shape).log_probs(rows, log_probs.data());
    for (int r = 0; r < kRows; ++r) {
      batch_.old_log_probs[r] = log_probs[r] + 0.3 * random.normal();
    }
  }

  // Every action taken is valid.
  void make_masks(Random& random) {
    if (batch_.valid.empty()) return;
    for (std::uint8_t& flag : batch_.valid) flag = random.below(3) > 0 ? 1 : 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      std::size_t flag = r * static_cast<std::size_t>(network_.shape().logits()), head = 0;
      for (const int count : network_.shape().heads()) {
        batch_.valid[flag + static_cast<std::size_t>(batch_.actions[head * kTileRows + r])] = 1;
        flag += static_cast<std::size_t>(count);
        ++head;
      }
    }
  }

  void add_side(NetworkSide side, std::vector<double>& grads, PpoSums& sums) {
    std::vector<double> transposed(params_.size());
    network_.refresh_transposed(params_.data(), transposed.data(), side);
    TileWorkspace<double> work = network_.make_workspace<double>();
    ppo_tile_gradient(network_, coefficients_, kRows, params_.data(), transposed.data(), batch_,
                      work, grads.data(), sums, side);
  }

  double loss(const std::vector<double>& params, std::vector<double>* grads, PpoSums* sums_out) {
    std::vector<double> transposed(params.size());
    std::vector<double> unused(params.size());
    network_.refresh_transposed(params.data(), transposed.data());
    TileWorkspace<double> work = network_.make_workspace<double>();
    PpoSums sums;
    ppo_tile_gradient(network_, coefficients_, kRows, params.data(), transposed.data(), batch_,
                      work, grads != nullptr ? grads->data() : unused.data(), sums);
    if (sums_out != nullptr) *sums_out = sums;
    return (sums.policy_loss - coefficients_.ent_coef * sums.entropy +
            coefficients_.vf_coef * (sums.value_loss + sums.int_value_loss) +
            coefficients_.bounds_coef * beyond_bounds(work)) /
           kRows;
  }

  // The squared distance of all means beyond +-1.1, as rl_games' bound_loss sums it.
  double beyond_bounds(const TileWorkspace<double>& work) {
    double sum = 0.0;
    beyond_ = 0;
    const NetworkShape& shape = network_.shape();
    for (int r = 0; r < kRows; ++r) {
      for (int a = shape.logits(); a < shape.logits() + shape.box_size(); ++a) {
        const double mean = work.policy[static_cast<std::size_t>(a * kTileRows + r)];
        const double above = std::max(mean - 1.1, 0.0), below = std::min(mean + 1.1, 0.0);
        sum += above * above + below * below;
        beyond_ += above > 0.0 || below < 0.0;
      }
    }
    return sum;
  }

  ActorCritic network_;
  PpoCoefficients coefficients_;
  std::vector<double> params_;
  TileBatch<double> batch_{1, 1, 1};
  int beyond_ = 0;  // means beyond the bounds
};

TEST_P(PpoGradient, EqualsFiniteDifferences) {
  std::vector<double> grads(params_.size(), 0.0);
  PpoSums sums;
  loss(params_, &grads, &sums);
  ASSERT_GT(sums.clipped, 0.0);
  ASSERT_LT(sums.clipped, kRows);
  if (GetParam().bounds_coef > 0.0) {
    ASSERT_GT(beyond_, 0);
    ASSERT_LT(beyond_, kRows * network_.shape().box_size());
  }
  // Central differences of order h^4, each parameter in turn; measured against the largest
  // derivative.
  double largest = 0.0;
  for (const double g : grads) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-3);
  constexpr double h = 2e-5;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    // Features get no derivative of the noise, so that a difference would show more of a body.
    if (network_.noise_size() > 0 && i < network_.policy_head().weight) continue;
    const auto loss_at = [&](double offset) {
      std::vector<double> moved = params_;
      moved[i] += offset;
      return loss(moved, nullptr, nullptr);
    };
    const double numeric =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    ASSERT_NEAR(grads[i], numeric, 1e-6 * largest) << "parameter " << i << " of " << params_.size();
  }
}

// Each side changes only its own parameters, and the two give the bits of kBoth.
TEST_P(PpoGradient, SidesMakeUpBoth) {
  if (!network_.sides_are_apart()) GTEST_SKIP() << "a shared encoder";
  std::vector<double> both(params_.size(), 0.0), sides(params_.size(), 0.0);
  PpoSums sums_of_both, sums;
  loss(params_, &both, &sums_of_both);
  std::vector<int> owners(params_.size(), 0);
  for (const NetworkSide side : {NetworkSide::kPolicy, NetworkSide::kValue}) {
    std::vector<double> own(params_.size(), 0.0);
    add_side(side, own, sums);
    for (const ParameterRange& range : network_.ranges(side)) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        owners[i] += 1;
        std::swap(sides[i], own[i]);
      }
    }
    EXPECT_EQ(own, std::vector<double>(params_.size(), 0.0));
  }
  EXPECT_EQ(owners, std::vector<int>(params_.size(), 1));
  EXPECT_EQ(sides, both);
  EXPECT_EQ(sums.policy_loss, sums_of_both.policy_loss);
  EXPECT_EQ(sums.value_loss, sums_of_both.value_loss);
  EXPECT_EQ(sums.int_value_loss, sums_of_both.int_value_loss);
  EXPECT_EQ(sums.entropy, sums_of_both.entropy);
  EXPECT_EQ(sums.approx_kl, sums_of_both.approx_kl);
  EXPECT_EQ(sums.old_approx_kl, sums_of_both.old_approx_kl);
  EXPECT_EQ(sums.clipped, sums_of_both.clipped);
  EXPECT_EQ(sums.ratios, sums_of_both.ratios);
  EXPECT_EQ(sums.squared_ratios, sums_of_both.squared_ratios);
  EXPECT_EQ(sums.max_ratio_error, sums_of_both.max_ratio_error);
  EXPECT_EQ(sums.min_ratio, sums_of_both.min_ratio);
  EXPECT_EQ(sums.max_ratio, sums_of_both.max_ratio);
}

// Also if the number of rows is not a multiple of the vector size and NaN follows the rows.
TEST_P(PpoGradient, SumsAreThoseOfTheSamplesOneByOne) {
  for (const int rows : {kRows, kRows / 2 + 1, 1}) {
    batch_.rows = rows;
    for (int r = rows; r < kTileRows; ++r) batch_.old_log_probs[r] = std::nan("");
    std::vector<double> grads(params_.size(), 0.0);
    PpoSums sums;
    add_side(NetworkSide::kBoth, grads, sums);
    TileWorkspace<double> work = network_.make_workspace<double>();
    network_.forward(params_.data(), batch_.input(), rows, work);
    const AlignedVector<double>& values = work.values;
    PpoSums plain;
    for (int r = 0; r < rows; ++r) {
      const double ratio = batch_.ratios[r], log_ratio = batch_.log_ratios[r];
      plain.policy_loss += batch_.policy_losses[r];
      plain.value_loss += batch_.value_losses[r];
      if (GetParam().values > 1) {
        // Never clipped.
        const double error = values[kTileRows + r] - batch_.value_targets[kTileRows + r];
        plain.int_value_loss += 0.5 * error * error;
      }
      plain.entropy += batch_.entropies[r];
      plain.old_approx_kl -= log_ratio;
      plain.approx_kl += ratio - 1.0 - log_ratio;
      plain.clipped += std::abs(ratio - 1.0) > coefficients_.clip_coef;
      plain.ratios += ratio;
      plain.squared_ratios += ratio * ratio;
      plain.keep_ratio_error(std::abs(ratio - 1.0));
      plain.min_ratio = std::min(plain.min_ratio, ratio);
      plain.max_ratio = std::max(plain.max_ratio, ratio);
    }
    EXPECT_NEAR(sums.policy_loss, plain.policy_loss, 1e-12);
    EXPECT_NEAR(sums.value_loss, plain.value_loss, 1e-12);
    EXPECT_NEAR(sums.int_value_loss, plain.int_value_loss, 1e-12);
    EXPECT_NEAR(sums.entropy, plain.entropy, 1e-12);
    EXPECT_NEAR(sums.old_approx_kl, plain.old_approx_kl, 1e-12);
    EXPECT_NEAR(sums.approx_kl, plain.approx_kl, 1e-12);
    EXPECT_EQ(sums.clipped, plain.clipped);
    EXPECT_NEAR(sums.ratios, plain.ratios, 1e-12);
    EXPECT_NEAR(sums.squared_ratios, plain.squared_ratios, 1e-12);
    EXPECT_EQ(sums.max_ratio_error, plain.max_ratio_error);
    EXPECT_EQ(sums.min_ratio, plain.min_ratio);
    EXPECT_EQ(sums.max_ratio, plain.max_ratio);
  }
}

TEST_P(PpoGradient, ARatioThatIsNoNumberIsKept) {
  batch_.old_log_probs[kRows / 2] = std::nan("");
  std::vector<double> grads(params_.size(), 0.0);
  PpoSums sums;
  add_side(NetworkSide::kBoth, grads, sums);
  EXPECT_TRUE(std::isnan(sums.max_ratio_error));
  PpoSums usual;
  usual.max_ratio_error = 2.0;
  sums.add(usual);
  EXPECT_TRUE(std::isnan(sums.max_ratio_error));
  usual.add(sums);
  EXPECT_TRUE(std::isnan(usual.max_ratio_error));
}

TEST_P(PpoGradient, TilesAddUp) {
  std::vector<double> whole(params_.size(), 0.0);
  loss(params_, &whole, nullptr);
  std::vector<double> again = whole;
  loss(params_, &again, nullptr);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(again[i], 2.0 * whole[i], 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, PpoGradient,
    ::testing::Values(
        Case{"discrete_tanh", SpaceKind::kDiscrete, 3, Activation::kTanh, false, true, {7, 6}},
        Case{"wider_critic", SpaceKind::kDiscrete, 3, Activation::kTanh, false, true, {7, 6}, 9},
        Case{"narrower_critic", SpaceKind::kBox, 2, Activation::kElu, false, true, {7, 6}, 2},
        Case{"two_values", SpaceKind::kDiscrete, 3, Activation::kTanh, false, true, {7, 6}, 0, 2},
        Case{"two_values_shared", SpaceKind::kBox, 2, Activation::kElu, true, false, {8}, 0, 2},
        Case{"linear_critic", SpaceKind::kBox, 2, Activation::kTanh, false, false, {}, 8},
        Case{"discrete_tanh_shared",
             SpaceKind::kDiscrete,
             4,
             Activation::kTanh,
             true,
             false,
             {7, 6}},
        Case{"discrete_elu", SpaceKind::kDiscrete, 2, Activation::kElu, false, false, {9}},
        Case{"discrete_relu", SpaceKind::kDiscrete, 3, Activation::kRelu, false, true, {8, 8}},
        Case{.name = "several_choices",
             .kind = SpaceKind::kMultiDiscrete,
             .outputs = 9,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .heads = {4, 2, 3}},
        Case{.name = "masked",
             .kind = SpaceKind::kDiscrete,
             .outputs = 5,
             .activation = Activation::kTanh,
             .shared = true,
             .clip_vloss = true,
             .hidden = {7, 6},
             .masked = true},
        Case{.name = "masked_choices",
             .kind = SpaceKind::kMultiDiscrete,
             .outputs = 9,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .heads = {4, 2, 3},
             .masked = true},
        Case{.name = "hybrid",
             .kind = SpaceKind::kHybrid,
             .outputs = 4 + 2 + 3,
             .activation = Activation::kElu,
             .shared = false,
             .clip_vloss = true,
             .hidden = {},
             .heads = {4, 2},
             .bounds_coef = 0.7},
        Case{.name = "hybrid_masked_shared",
             .kind = SpaceKind::kHybrid,
             .outputs = 3 + 2 * 2,
             .activation = Activation::kElu,
             .shared = true,
             .clip_vloss = true,
             .hidden = {8},
             .heads = {3},
             .masked = true,
             .std_form = StdForm::kStateDependent},
        Case{.name = "hybrid_squashed",
             .kind = SpaceKind::kHybrid,
             .outputs = 3 + 2 + 1,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = false,
             .hidden = {7, 6},
             .heads = {3, 2},
             .distribution = ActionDistribution::kSquashed},
        Case{.name = "hybrid_beta",
             .kind = SpaceKind::kHybrid,
             .outputs = 3 + 2 * 2,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .heads = {3},
             .distribution = ActionDistribution::kBeta},
        Case{"gaussian_tanh", SpaceKind::kBox, 2, Activation::kTanh, false, true, {7, 6}},
        Case{"gaussian_elu_shared", SpaceKind::kBox, 1, Activation::kElu, true, true, {8, 5}},
        Case{.name = "gaussian_bounds",
             .kind = SpaceKind::kBox,
             .outputs = 2,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .bounds_coef = 0.7},
        Case{"gaussian_linear", SpaceKind::kBox, 3, Activation::kTanh, false, false, {}},
        Case{.name = "squashed",
             .kind = SpaceKind::kBox,
             .outputs = 2,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .distribution = ActionDistribution::kSquashed},
        Case{.name = "squashed_shared",
             .kind = SpaceKind::kBox,
             .outputs = 4,
             .activation = Activation::kElu,
             .shared = true,
             .clip_vloss = true,
             .hidden = {8},
             .distribution = ActionDistribution::kSquashed,
             .std_form = StdForm::kStateDependent},
        Case{.name = "state_dependent",
             .kind = SpaceKind::kBox,
             .outputs = 6,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .std_form = StdForm::kStateDependent},
        Case{.name = "sde",
             .kind = SpaceKind::kBox,
             .outputs = 6,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .std_form = StdForm::kSde},
        Case{.name = "hybrid_sde",
             .kind = SpaceKind::kHybrid,
             .outputs = 3 + 2 * 2,
             .activation = Activation::kTanh,
             .shared = true,
             .clip_vloss = true,
             .hidden = {7, 6},
             .heads = {3},
             .distribution = ActionDistribution::kSquashed,
             .std_form = StdForm::kSde},
        Case{.name = "beta",
             .kind = SpaceKind::kBox,
             .outputs = 4,
             .activation = Activation::kTanh,
             .shared = false,
             .clip_vloss = true,
             .hidden = {7, 6},
             .distribution = ActionDistribution::kBeta}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace broadloom
