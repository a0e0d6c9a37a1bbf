#include "broadloom/instruments/policy/policy_shift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Outputs of one row, as the network would leave them.
std::vector<float> column(const std::vector<float>& outputs) {
  std::vector<float> tile(outputs.size() * kTileRows);
  for (std::size_t i = 0; i < outputs.size(); ++i) tile[i * kTileRows] = outputs[i];
  return tile;
}

double divergence(SpaceKind kind, const std::vector<float>& a, const std::vector<float>& b,
                  const std::vector<float>& log_std_a = {},
                  const std::vector<float>& log_std_b = {}, const std::vector<int>& heads = {}) {
  NetworkShape shape;
  shape.action_kind = kind;
  shape.action_outputs = static_cast<int>(a.size());
  shape.action_heads = heads;
  PolicyDivergence divergence(shape);
  double kl = -1.0;
  divergence(column(a).data(), column(b).data(), log_std_a.data(), log_std_b.data(), 1, &kl);
  return kl;
}

TEST(PolicyDivergence, OfCategoricalsIsTheOneWorkedByHand) {
  const std::vector<float> even{0.0f, 0.0f}, skew{std::log(3.0f), 0.0f};
  // 1/2 log(1/2 : 3/4) + 1/2 log(1/2 : 1/4), and 3/4 log(3/4 : 1/2) + 1/4 log(1/4 : 1/2).
  EXPECT_NEAR(divergence(SpaceKind::kDiscrete, even, skew), 0.5 * std::log(4.0 / 3.0), 1e-7);
  EXPECT_NEAR(divergence(SpaceKind::kDiscrete, skew, even),
              0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
}

TEST(PolicyDivergence, AddsIndependentChoices) {
  const std::vector<float> a{0.2f, -1.0f, 0.5f, 0.1f, 2.0f}, b{1.0f, 0.0f, 0.0f, -0.3f, 0.7f};
  const auto part = [](const std::vector<float>& all, int first, int count) {
    return std::vector<float>(all.begin() + first, all.begin() + first + count);
  };
  const double both = divergence(SpaceKind::kMultiDiscrete, a, b, {}, {}, {2, 3});
  EXPECT_NEAR(both,
              divergence(SpaceKind::kDiscrete, part(a, 0, 2), part(b, 0, 2)) +
                  divergence(SpaceKind::kDiscrete, part(a, 2, 3), part(b, 2, 3)),
              1e-14);
  EXPECT_GT(both, 0.05);
}

TEST(PolicyDivergence, OfGaussiansIsTheOneWorkedByHand) {
  // From N(1, 1) to N(0, 2^2): log 2 + (1 + 1) / 8 - 1/2.
  const float two = std::log(2.0f);
  EXPECT_NEAR(divergence(SpaceKind::kBox, {1.0f}, {0.0f}, {0.0f}, {two}),
              std::log(2.0) + 0.25 - 0.5, 1e-7);
  // Independent dimensions add.
  EXPECT_NEAR(divergence(SpaceKind::kBox, {1.0f, 5.0f}, {0.0f, 3.0f}, {0.0f, 0.0f}, {two, 0.0f}),
              std::log(2.0) + 0.25 - 0.5 + 2.0, 1e-7);
}

TEST(PolicyDivergence, OfAPolicyFromItselfIsExactlyZero) {
  const std::vector<float> outputs{0.3f, -1.7f, 12.0f};
  EXPECT_EQ(divergence(SpaceKind::kDiscrete, outputs, outputs), 0.0);
  EXPECT_EQ(divergence(SpaceKind::kBox, outputs, outputs, outputs, outputs), 0.0);
}

TEST(PolicyDivergence, KeepsTheDigitsOfSmallOnes) {
  // Second order: KL of N(0, 1) and N(d, 1) is d^2 / 2; of logits, Var(d) / 2.
  EXPECT_NEAR(divergence(SpaceKind::kBox, {0.0f}, {1e-4f}, {0.0f}, {0.0f}), 0.5e-8, 1e-15);
  EXPECT_NEAR(divergence(SpaceKind::kDiscrete, {0.0f, 0.0f}, {1e-4f, -1e-4f}), 0.5e-8, 1e-14);
}

TEST(PolicyDivergence, DoesNotSeeAShiftOfAllLogits) {
  EXPECT_NEAR(divergence(SpaceKind::kDiscrete, {1.0f, 2.0f, 4.0f}, {9.0f, 10.0f, 12.0f}), 0.0,
              1e-14);
}

TEST(AddRatios, OfKnownRatios) {
  const std::vector<float> old_log_probs{-1.0f, -1.0f, -1.0f};
  const std::vector<float> new_log_probs{-1.0f, -1.0f + std::log(2.0f), -1.0f - std::log(2.0f)};
  RatioSums sums;
  add_ratios(old_log_probs.data(), new_log_probs.data(), 3, sums);
  EXPECT_NEAR(sums.old_approx_kl, 0.0, 1e-6);
  EXPECT_NEAR(sums.approx_kl, 0.5, 1e-6);  // the mean of r - 1 over 1, 2 and 1/2, summed
  EXPECT_NEAR(sums.ratios, 3.5, 1e-6);
  EXPECT_NEAR(sums.squared_ratios, 5.25, 1e-6);
  EXPECT_NEAR(sums.min_ratio, 0.5, 1e-6);
  EXPECT_NEAR(sums.max_ratio, 2.0, 1e-6);
  EXPECT_NEAR(sums.ess_percent(3.0), 100.0 * 3.5 * 3.5 / 5.25 / 3.0, 1e-4);
}

// Over actions drawn from the old policy, k1 and k3 both have the exact KL as their mean.
TEST(AddRatios, EstimateTheExactDivergence) {
  const std::vector<float> old_logits{0.5f, -0.5f, 0.0f}, new_logits{0.1f, 0.2f, -0.3f};
  const auto log_prob = [](const std::vector<float>& logits, std::size_t a) {
    double sum = 0.0;
    for (const float z : logits) sum += std::exp(static_cast<double>(z));
    return static_cast<float>(logits[a] - std::log(sum));
  };
  Random random(4, Purpose::kUser, 0, 0);
  constexpr int kDraws = 200000;
  RatioSums sums;
  for (int i = 0; i < kDraws; ++i) {
    double left = random.uniform();
    std::size_t a = 0;
    while (a < 2 && (left -= std::exp(log_prob(old_logits, a))) > 0.0) ++a;
    const float before = log_prob(old_logits, a), after = log_prob(new_logits, a);
    add_ratios(&before, &after, 1, sums);
  }
  const double exact = divergence(SpaceKind::kDiscrete, old_logits, new_logits);
  EXPECT_NEAR(sums.old_approx_kl / kDraws, exact, 0.005);
  EXPECT_NEAR(sums.approx_kl / kDraws, exact, 0.002);
}

}  // namespace
}  // namespace broadloom
