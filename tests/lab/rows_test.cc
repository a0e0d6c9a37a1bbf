// The rows of a block's gradients, and the effect of normalising and of further terms.
#include "broadloom/setup/resolve_config.h"
#include "research/lab/block_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

class Rows : public ::testing::Test {
 protected:
  Rows()
      : config_(resolve_config({{"max_episode_steps", "12"}}).take()),
        spec_(env_spec(config_.env_id, {}, 12).take()),
        network_(shape()),
        params_(network_.parameter_count()),
        pool_(2),
        policy_{config_, spec_, network_, params_.data()} {
    network_.initialise(3, params_.data());
    const auto block = BlockSource(policy_, nullptr, 1, pool_).collect({2, 20}, 3, 0);
    block_ = std::make_unique<FrozenBlock>(*block.value());
    settings_.gamma = 0.9;
    settings_.lambdas = {0.5, 1.0};
  }
  static NetworkShape shape() {
    NetworkShape shape;
    shape.observation_size = 4;
    shape.action_outputs = 2;
    shape.hidden_sizes = {8};
    return shape;
  }
  BlockRows read(int copy) {
    const auto advantages = advantages_by_lambda(*block_, settings_.gamma, settings_.lambdas,
                                                 truncation_mode(config_), gae_weights(config_));
    BlockRows rows;
    BlockReader(policy_, settings_).read(*block_, advantages, {2, 20}, copy, rows);
    return rows;
  }

  Config config_;
  EnvSpec spec_;
  ActorCritic network_;
  std::vector<float> params_;
  ThreadPool pool_;
  Policy policy_;
  EstimatorSettings settings_;
  std::unique_ptr<FrozenBlock> block_;
};

TEST_F(Rows, ListEnvironmentsOneAfterTheOther) {
  const BlockRows rows = read(1);
  ASSERT_EQ(rows.rows(), 40);
  ASSERT_EQ(rows.factors.size(), 1u);  // scores serve every lambda
  for (std::size_t l = 0; l < 2; ++l) {
    compute_advantages(*block_, 0, block_->N, 0.9, settings_.lambdas[l], truncation_mode(config_),
                       gae_weights(config_));
    for (int n = 0; n < 2; ++n) {
      for (int t = 0; t < 20; ++t) {
        ASSERT_EQ(rows.weights[l][n * 20 + t], block_->advantages[block_->index(t, 2 + n)]);
      }
    }
  }
  for (int r = 1; r < 40; ++r) {
    const std::size_t before = block_->index((r - 1) % 20, 2 + (r - 1) / 20);
    const bool ended = block_->terminated[before] || block_->truncated[before];
    EXPECT_EQ(rows.trajectory[r] != rows.trajectory[r - 1], ended || r == 20);
  }
  EXPECT_NE(rows.trajectory[0], rows.trajectory[19]);  // the limit is 12 steps
}

TEST_F(Rows, NormalisedAdvantagesHaveMeanZeroAndDeviationOne) {
  settings_.norm_adv = true;
  const BlockRows rows = read(0);
  for (const std::vector<float>& weights : rows.weights) {
    double sum = 0.0, squares = 0.0;
    for (const float w : weights) sum += w, squares += static_cast<double>(w) * w;
    EXPECT_NEAR(sum / 40, 0.0, 1e-6);
    EXPECT_NEAR(squares / 39, 1.0, 1e-5);
  }
}

// With other terms, every lambda has its own factors, which hold the whole gradient.
TEST_F(Rows, TermsAreInTheFactors) {
  const BlockRows plain = read(0);
  settings_.terms = {true, true, 0.01, 0.5};
  const BlockRows all = read(0);
  ASSERT_EQ(all.factors.size(), 2u);
  EXPECT_GT(all.factors[0].layers.size(), plain.factors[0].layers.size());  // the critic's
  for (const float w : all.weights[1]) EXPECT_EQ(w, 1.0f);
  settings_.terms = {true, false, 0.0, 0.0};  // a term of weight 0 has no effect
  const BlockRows none = read(0);
  for (int r = 0; r < 40; ++r) {
    const double expected =
        plain.weights[1][r] * plain.weights[1][r] * inner_product(plain.factors[0], r, r);
    EXPECT_NEAR(inner_product(none.factors[1], r, r), expected, 1e-4 * expected + 1e-9);
  }
}

}  // namespace
}  // namespace broadloom
