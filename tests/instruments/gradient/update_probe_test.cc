#include "broadloom/instruments/gradient/update_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/learn/gradient_scene.h"

namespace broadloom {
namespace {

// Feeds a probe an update made by hand, with gradients in the plane.
struct Hand {
  static MinibatchReport report(const std::vector<float>& gradient, int samples) {
    MinibatchReport out;
    out.samples = samples;
    out.gradient = gradient;
    out.norm = std::hypot(static_cast<double>(gradient[0]), static_cast<double>(gradient[1]));
    out.ratios = {};
    out.ratios.ratios = out.ratios.squared_ratios = samples;
    out.ratios.min_ratio = out.ratios.max_ratio = 1.0;
    return out;
  }
  void batch(const std::vector<float>& gradient, int samples) {
    probe.on_batch(report(gradient, samples));
  }
  void minibatch(int epoch, int m, const std::vector<float>& gradient, int samples,
                 double ratio = 1.0) {
    MinibatchReport seen = report(gradient, samples);
    seen.epoch = epoch;
    seen.minibatch = m;
    // One sample has this ratio, the others 1.
    seen.ratios.ratios += ratio - 1.0;
    seen.ratios.squared_ratios += ratio * ratio - 1.0;
    seen.ratios.max_ratio = std::max(1.0, ratio);
    seen.ratios.min_ratio = std::min(1.0, ratio);
    seen.ratios.clipped = std::abs(ratio - 1.0) > 0.2 ? 1.0 : 0.0;
    seen.ratios.old_approx_kl = -std::log(ratio);
    seen.ratios.approx_kl = ratio - 1.0 - std::log(ratio);
    probe.on_minibatch(seen);
  }
  UpdateNumbers numbers() const {
    const std::vector<float> before{1.0f, 2.0f};
    const std::vector<float> after{4.0f, -2.0f};
    return probe.numbers(before, after);
  }
  UpdateProbe probe{2};
};

TEST(UpdateProbe, TellsWhatWasPutInByHand) {
  Hand hand;
  hand.batch({2.0f, 0.0f}, 4);
  hand.minibatch(0, 0, {3.0f, 3.0f}, 2);
  hand.minibatch(0, 1, {1.0f, -1.0f}, 2);
  hand.minibatch(1, 0, {0.0f, 1.0f}, 2, 1.5);
  hand.minibatch(1, 1, {-1.0f, 0.0f}, 2, 0.5);
  const UpdateNumbers n = hand.numbers();
  EXPECT_DOUBLE_EQ(n.full_norm, 2.0);
  EXPECT_NEAR(n.first_epoch_cosine, std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(n.last_epoch_cosine, -0.5, 1e-12);
  EXPECT_NEAR(n.min_cosine, -1.0, 1e-12);
  EXPECT_NEAR(n.drift_cosine, -std::sqrt(0.5), 1e-7);  // of (-0.5, 0.5)
  EXPECT_NEAR(n.subsampling_variance, 5.0, 1e-12);     // both are off (2, 1) by (1, 2)
  EXPECT_NEAR(n.squared_norm, (4 * 4.0 - 2 * 18.0) / 2.0, 1e-9);
  EXPECT_NEAR(n.sample_variance, (18.0 - 4.0) / (0.5 - 0.25), 1e-9);
  EXPECT_TRUE(std::isnan(n.noise_scale));
  EXPECT_EQ(n.first_epoch_clipfrac, 0.0);
  EXPECT_EQ(n.last_epoch_clipfrac, 0.5);
  EXPECT_NEAR(n.last_epoch_kl_k1, -std::log(0.75) / 4.0, 1e-12);
  EXPECT_NEAR(n.last_epoch_kl_k3, -std::log(0.75) / 4.0, 1e-12);
  EXPECT_EQ(n.last_epoch_min_ratio, 0.5);
  EXPECT_EQ(n.last_epoch_max_ratio, 1.5);
  EXPECT_NEAR(n.last_epoch_ess, 100.0 * 16.0 / 4.5 / 4.0, 1e-9);  // of 1, 1.5, 1, 0.5
  EXPECT_NEAR(n.min_ess, 90.0, 1e-9);                             // of 1, 0.5
  EXPECT_DOUBLE_EQ(n.step_norm, 5.0);
}

TEST(UpdateProbe, WeighsMinibatchesBySamples) {
  Hand hand;
  hand.batch({1.0f, 0.0f}, 4);
  hand.minibatch(0, 0, {4.0f, 0.0f}, 1);
  hand.minibatch(0, 1, {0.0f, 0.0f}, 3);
  const UpdateNumbers n = hand.numbers();
  EXPECT_NEAR(n.subsampling_variance, (1 * 9.0 + 3 * 1.0) / 4.0, 1e-12);  // the mean is (1, 0)
  EXPECT_NEAR(n.drift_cosine, 1.0, 1e-12);
  EXPECT_EQ(n.min_cosine, 1.0);
  EXPECT_TRUE(std::isnan(n.first_epoch_cosine));  // a gradient of zero has no direction
}

// The first epoch is the last one, too, where there is no other; nothing is left of the update
// before.
TEST(UpdateProbe, StartsAfreshWithEveryUpdate) {
  Hand hand;
  hand.batch({-5.0f, 1.0f}, 9);
  hand.minibatch(0, 0, {7.0f, 3.0f}, 9, 4.0);
  hand.minibatch(1, 0, {7.0f, 3.0f}, 9, 9.0);
  hand.batch({1.0f, 1.0f}, 8);
  hand.minibatch(0, 0, {2.0f, 2.0f}, 8);
  const UpdateNumbers n = hand.numbers();
  EXPECT_NEAR(n.first_epoch_cosine, 1.0, 1e-12);
  EXPECT_NEAR(n.last_epoch_cosine, 1.0, 1e-12);
  EXPECT_NEAR(n.min_cosine, 1.0, 1e-12);
  EXPECT_EQ(n.subsampling_variance, 0.0);
  EXPECT_TRUE(std::isnan(n.sample_variance));
  EXPECT_EQ(n.last_epoch_ess, 100.0);
  EXPECT_EQ(n.min_ess, 100.0);
  EXPECT_EQ(n.last_epoch_max_ratio, 1.0);
}

UpdateNumbers numbers_of(Scene& scene, const PpoSettings& settings, int minibatches) {
  UpdateProbe probe(scene.network.parameter_count());
  const AlignedVector<float> before = scene.learner.params;
  EXPECT_TRUE(scene.update(settings, minibatches, &probe).ok());
  return probe.numbers(before, scene.learner.params);
}

TEST(UpdateProbe, AtFixedParametersOneMinibatchIsTheBatch) {
  Scene scene(16, 16);
  scene.learner.learning_rate = 0.0;
  const UpdateNumbers n = numbers_of(scene, {}, 1);
  EXPECT_GT(n.full_norm, 0.01);
  for (const double cosine :
       {n.first_epoch_cosine, n.last_epoch_cosine, n.min_cosine, n.drift_cosine}) {
    EXPECT_NEAR(cosine, 1.0, 1e-9);
  }
  EXPECT_EQ(n.subsampling_variance, 0.0);
  EXPECT_EQ(n.first_epoch_clipfrac, 0.0);
  EXPECT_EQ(n.last_epoch_clipfrac, 0.0);
  EXPECT_EQ(n.last_epoch_kl_k1, 0.0);
  EXPECT_EQ(n.last_epoch_kl_k3, 0.0);
  EXPECT_EQ(n.last_epoch_min_ratio, 1.0);
  EXPECT_EQ(n.last_epoch_max_ratio, 1.0);
  EXPECT_EQ(n.last_epoch_ess, 100.0);
  EXPECT_EQ(n.min_ess, 100.0);
  EXPECT_EQ(n.step_norm, 0.0);
}

TEST(UpdateProbe, AtFixedParametersAnEpochIsTheBatch) {
  PpoSettings settings;
  settings.norm_adv = AdvantageNorm::kBatch;
  Scene scene(13, 11);
  scene.learner.learning_rate = 0.0;
  const UpdateNumbers n = numbers_of(scene, settings, 5);
  EXPECT_NEAR(n.drift_cosine, 1.0, 1e-9);
  EXPECT_LT(n.min_cosine, 0.99);
  EXPECT_GT(n.subsampling_variance, 0.0);
  EXPECT_EQ(n.last_epoch_ess, 100.0);
}

// Minibatches of a single sample: the sub-sampling variance is that of per-sample gradients over
// the block, (1 - 1 / B) Tr S, and with |G|^2 it makes up their mean square.
TEST(UpdateProbe, SubsamplingVarianceOfSingleSamplesIsTheirs) {
  struct Squares final : UpdateObserver {
    void on_batch(const MinibatchReport& batch) override { full = batch.norm * batch.norm; }
    void on_minibatch(const MinibatchReport& minibatch) override {
      sum += minibatch.norm * minibatch.norm;
    }
    double full = 0.0;
    double sum = 0.0;
  };
  PpoSettings settings;
  settings.norm_adv = AdvantageNorm::kOff;
  settings.update_epochs = 1;
  Scene scene(8, 6);
  scene.learner.learning_rate = 0.0;
  const UpdateNumbers n = numbers_of(scene, settings, 48);
  Scene again(8, 6);
  again.learner.learning_rate = 0.0;
  Squares squares;
  ASSERT_TRUE(again.update(settings, 48, &squares).ok());
  EXPECT_NEAR(n.subsampling_variance + squares.full, squares.sum / 48.0, 1e-5 * squares.sum / 48.0);
}

TEST(UpdateProbe, SeesAPolicyDrift) {
  Scene slow(16, 16);
  Scene fast(16, 16);
  slow.learner.learning_rate = 1e-5;
  fast.learner.learning_rate = 1e-2;
  const UpdateNumbers a = numbers_of(slow, {}, 4);
  const UpdateNumbers b = numbers_of(fast, {}, 4);
  EXPECT_LT(b.last_epoch_ess, a.last_epoch_ess);
  EXPECT_LE(b.min_ess, b.last_epoch_ess + 1e-9);
  EXPECT_LT(b.drift_cosine, a.drift_cosine);
  EXPECT_GT(b.last_epoch_kl_k3, a.last_epoch_kl_k3);
  EXPECT_GT(b.last_epoch_max_ratio, a.last_epoch_max_ratio);
  EXPECT_GE(b.last_epoch_clipfrac, b.first_epoch_clipfrac);
  EXPECT_GT(b.step_norm, a.step_norm);
}

TEST(UpdateNumbers, EveryNameIsItsOwn) {
  std::set<std::string> names;
  int visited = 0;
  UpdateNumbers().visit([&](const NumberInfo& info, double) {
    const std::string name = info.name;
    names.insert(name);
    ++visited;
    EXPECT_EQ(name.rfind("grad/", 0), 0u) << name;
  });
  EXPECT_EQ(names.size(), static_cast<std::size_t>(visited));
  EXPECT_EQ(static_cast<std::size_t>(visited), sizeof(UpdateNumbers) / sizeof(double));
}

}  // namespace
}  // namespace broadloom
