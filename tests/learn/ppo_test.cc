#include "broadloom/learn/ppo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/learn/gradient_scene.h"

namespace broadloom {
namespace {

bool all_finite(const AlignedVector<float>& values) {
  for (const float v : values) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

TEST(Ppo, FirstMinibatchOfAnOwnBlockHasRatioOne) {
  for (const int minibatches : {1, 3, 4, 7}) {
    Scene scene(13, 11);
    const AlignedVector<float> before = scene.learner.params;
    const Status status = scene.update({}, minibatches);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_NE(scene.learner.params, before);
    EXPECT_GT(scene.stats.approx_kl, 0.0);
    EXPECT_EQ(scene.learner.adam_steps, 4 * minibatches);
  }
}

TEST(Ppo, RefusesABlockOfOtherParameters) {
  Scene scene(8, 16);
  scene.learner.params[3] = std::nextafter(scene.learner.params[3], 10.0f) + 1e-4f;
  const AlignedVector<float> before = scene.learner.params;
  const Status status = scene.update({}, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric);
  EXPECT_NE(status.message().find("first minibatch"), std::string::npos) << status.message();
  EXPECT_EQ(scene.learner.params, before);
}

// After a step to parameters that are not finite, the ratio is none either.
TEST(Ppo, AdvisesASmallerRateForParametersThatAreNotFinite) {
  Scene scene(8, 16);
  scene.learner.params.back() = std::nanf("");
  scene.learner.params.front() = std::nanf("");
  const Status status = scene.update({}, 1);
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric);
  EXPECT_EQ(status.message().find("loss or gradient is not finite at iteration"), 0U)
      << status.message();
  EXPECT_NE(status.message().find("Try a smaller learning_rate"), std::string::npos);
}

TEST(Ppo, RefusesAnAdvantageThatIsNotFinite) {
  Scene scene(8, 16);
  scene.block.advantages[17] = std::nanf("");
  const AlignedVector<float> before = scene.learner.params;
  const Status status = scene.update({}, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric);
  EXPECT_EQ(scene.learner.params, before);
}

TEST(Ppo, MinibatchesOfOneSampleAndEqualAdvantagesStayFinite) {
  Scene one(2, 4);
  EXPECT_TRUE(one.update({}, 8).ok());
  EXPECT_TRUE(all_finite(one.learner.params));
  Scene equal(8, 16);
  std::fill(equal.block.advantages.begin(), equal.block.advantages.end(), 3.0f);
  EXPECT_TRUE(equal.update({}, 4).ok());
  EXPECT_TRUE(all_finite(equal.learner.params));
}

TEST(Ppo, TargetKlStopsAfterTheEpochThatExceedsIt) {
  Scene free_run(16, 16);
  ASSERT_TRUE(free_run.update({}, 4).ok());
  EXPECT_EQ(free_run.epochs, 4);
  Scene stopped(16, 16);
  PpoSettings settings;
  settings.target_kl = 1e-9;
  ASSERT_TRUE(stopped.update(settings, 4).ok());
  EXPECT_EQ(stopped.epochs, 1);
  EXPECT_EQ(stopped.learner.adam_steps, 4);
}

TEST(Ppo, AdaptiveLearningRateFallsWithTooMuchKlAndRisesWithTooLittle) {
  PpoSettings settings;
  settings.adaptive_lr = true;
  settings.desired_kl = 1e-9;
  Scene too_fast(16, 16);
  ASSERT_TRUE(too_fast.update(settings, 4).ok());
  EXPECT_LT(too_fast.learner.learning_rate, 1e-3);
  EXPECT_GE(too_fast.learner.learning_rate, 1e-5);
  settings.desired_kl = 10.0;
  Scene too_slow(16, 16);
  ASSERT_TRUE(too_slow.update(settings, 4).ok());
  EXPECT_GT(too_slow.learner.learning_rate, 1e-3);
  EXPECT_LE(too_slow.learner.learning_rate, 1e-2);
}

// KL of each minibatch: the mean of ratio - 1 - log(ratio).
struct KlKeeper final : UpdateObserver {
  void on_batch(const MinibatchReport&) override {}
  void on_minibatch(const MinibatchReport& report) override {
    kls.push_back(report.ratios.approx_kl / report.samples);
  }
  std::vector<double> kls;
};

// skrl's KLAdaptiveLR steps once an epoch, by the mean KL of its minibatches.
TEST(Ppo, AdaptiveLearningRateOfAnEpochFollowsItsMeanKl) {
  constexpr int kMinibatches = 4;
  for (const double target : {1e-9, 2e-4, 10.0}) {
    PpoSettings settings;
    KlKeeper fixed_kls, kls;
    Scene fixed(16, 16), adapted(16, 16);
    ASSERT_TRUE(fixed.update(settings, kMinibatches, &fixed_kls).ok());
    settings.adaptive_lr = settings.adapts_each_epoch = true;
    settings.desired_kl = target;
    ASSERT_TRUE(adapted.update(settings, kMinibatches, &kls).ok());
    ASSERT_EQ(kls.kls.size(), static_cast<std::size_t>(kMinibatches * adapted.epochs));
    double rate = 1e-3;
    for (int epoch = 0; epoch < adapted.epochs; ++epoch) {
      double mean = 0.0;
      for (int i = 0; i < kMinibatches; ++i) mean += kls.kls[epoch * kMinibatches + i];
      mean /= kMinibatches;
      if (mean > 2.0 * target) rate = std::max(rate / 1.5, 1e-5);
      if (mean < 0.5 * target) rate = std::min(rate * 1.5, 1e-2);
    }
    EXPECT_EQ(adapted.learner.learning_rate, rate) << target;
    // The first epoch ran at the first rate.
    for (int i = 0; i < kMinibatches; ++i) EXPECT_EQ(kls.kls[i], fixed_kls.kls[i]) << i;
  }
}

// The bounds limit a rate. A rate outside them stays and does not move against the KL.
TEST(Ppo, AdaptiveLearningRateNeverMovesAgainstTheKl) {
  constexpr double kTarget = 0.01, kHigh = 0.03, kLow = 0.001;
  for (const double rate : {2e-6, 1e-5, 1.2e-5, 1e-3, 9e-3, 1e-2, 0.05}) {
    EXPECT_LE(adapted_learning_rate(rate, kHigh, kTarget), rate) << rate;
    EXPECT_GE(adapted_learning_rate(rate, kLow, kTarget), rate) << rate;
    EXPECT_EQ(adapted_learning_rate(rate, kTarget, kTarget), rate);
    EXPECT_EQ(adapted_learning_rate(rate, 0.0, kTarget), rate);
  }
  EXPECT_EQ(adapted_learning_rate(1e-3, kHigh, kTarget), 1e-3 / 1.5);
  EXPECT_EQ(adapted_learning_rate(1e-3, kLow, kTarget), 1e-3 * 1.5);
  EXPECT_EQ(adapted_learning_rate(1.2e-5, kHigh, kTarget), 1e-5);
  EXPECT_EQ(adapted_learning_rate(9e-3, kLow, kTarget), 1e-2);
}

TEST(Ppo, GradientNormClippingBoundsTheStep) {
  // With one step from zero moments Adam's step has size lr per parameter whatever the scale, so
  // look at the first moment, which holds (1 - beta1) times the clipped gradient.
  PpoSettings settings;
  settings.update_epochs = 1;
  settings.max_grad_norm = 1e-3;
  Scene scene(16, 16);
  ASSERT_TRUE(scene.update(settings, 1).ok());
  double squares = 0.0;
  for (const float m : scene.learner.adam_m) squares += static_cast<double>(m) * m;
  EXPECT_GT(scene.stats.grad_norm, 1e-3);
  EXPECT_NEAR(std::sqrt(squares) / 0.1, 1e-3, 1e-6);
}

// Adam's first moments after an epoch of two minibatches. shifts: what each minibatch's advantages
// have been stretched and moved by, a -> stretch a + move.
struct Shift {
  float stretch, move;
};
AlignedVector<float> moments(AdvantageNorm norm, Shift first, Shift second) {
  PpoSettings settings;
  settings.norm_adv = norm;
  settings.loss.vf_coef = 0.0;  // value targets move with the advantages
  settings.update_epochs = 1;
  Scene scene(16, 16);
  Minibatches minibatches(static_cast<int>(scene.block.size()), 2);
  minibatches.shuffle(Scene::kSeed, Scene::kIteration, 0);
  for (const auto& [m, shift] : {std::pair{0, first}, std::pair{1, second}}) {
    for (int i = 0; i < minibatches.size(m); ++i) {
      float& advantage = scene.block.advantages[minibatches.indices(m)[i]];
      advantage = shift.stretch * advantage + shift.move;
    }
  }
  const Status status = scene.update(settings, 2);
  EXPECT_TRUE(status.ok()) << status.message();
  return scene.learner.adam_m;
}

double largest_difference(const AlignedVector<float>& a, const AlignedVector<float>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

constexpr Shift kNone{1.0f, 0.0f}, kOne{5.0f, 3.0f}, kOther{0.2f, -1.0f};
constexpr double kSame = 1e-5, kApart = 1e-3;

TEST(Ppo, AdvantagesOverTheMinibatchIgnoreShiftAndScaleOfEachMinibatch) {
  const AlignedVector<float> plain = moments(AdvantageNorm::kMinibatch, kNone, kNone);
  EXPECT_LT(largest_difference(plain, moments(AdvantageNorm::kMinibatch, kOne, kOne)), kSame);
  EXPECT_LT(largest_difference(plain, moments(AdvantageNorm::kMinibatch, kOne, kOther)), kSame);
}

TEST(Ppo, AdvantagesOverTheBatchIgnoreShiftAndScaleOfTheBatchOnly) {
  const AlignedVector<float> plain = moments(AdvantageNorm::kBatch, kNone, kNone);
  EXPECT_LT(largest_difference(plain, moments(AdvantageNorm::kBatch, kOne, kOne)), kSame);
  EXPECT_GT(largest_difference(plain, moments(AdvantageNorm::kBatch, kOne, kOther)), kApart);
}

TEST(Ppo, AdvantagesAsTheyAreIgnoreNothing) {
  const AlignedVector<float> plain = moments(AdvantageNorm::kOff, kNone, kNone);
  EXPECT_GT(largest_difference(plain, moments(AdvantageNorm::kOff, kOne, kOne)), kApart);
}

}  // namespace
}  // namespace broadloom
