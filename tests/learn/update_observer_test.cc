// The reports of an update to its observer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "broadloom/rollout/minibatches.h"
#include "tests/learn/gradient_scene.h"

namespace broadloom {
namespace {

// Keeps all reports, with copies of their gradients.
struct Witness final : UpdateObserver {
  struct Seen {
    MinibatchReport report;
    std::vector<float> gradient;
  };
  void on_batch(const MinibatchReport& report) override {
    EXPECT_TRUE(minibatches.empty());
    batches.push_back({report, {report.gradient.begin(), report.gradient.end()}});
  }
  void on_minibatch(const MinibatchReport& report) override {
    minibatches.push_back({report, {report.gradient.begin(), report.gradient.end()}});
  }
  std::vector<Seen> batches, minibatches;
};

// At fixed parameters: every ratio is 1.
PpoSettings settings_normalising(AdvantageNorm norm) {
  PpoSettings settings;
  settings.update_epochs = 2;
  settings.norm_adv = norm;
  return settings;
}

// The gradient of up to kTileRows samples, without normalised advantages.
std::vector<float> tile_gradient(const Scene& scene, const PpoSettings& settings,
                                 const std::int32_t* indices, int samples) {
  TileBatch<float> batch(Scene::kObservation, 1, Scene::kActions);
  batch.rows = samples;
  for (int r = 0; r < samples; ++r) {
    const auto i = static_cast<std::size_t>(indices[r]);
    std::copy_n(&scene.block.observations.floats()[i * Scene::kObservation], Scene::kObservation,
                &batch.observations[static_cast<std::size_t>(r) * Scene::kObservation]);
    batch.actions[r] = scene.block.actions[i];
    batch.old_log_probs[r] = scene.block.log_probs[i];
    batch.old_values[r] = scene.block.values[i];
    batch.advantages[r] = scene.block.advantages[i];
    batch.value_targets[r] = scene.block.advantages[i] + scene.block.values[i];
  }
  TileWorkspace<float> work = scene.network.make_workspace<float>();
  std::vector<float> transposed(scene.network.parameter_count());
  std::vector<float> grads(scene.network.parameter_count());
  scene.network.refresh_transposed(scene.learner.params.data(), transposed.data());
  PpoSums sums;
  ppo_tile_gradient(scene.network, settings.loss, samples, scene.learner.params.data(),
                    transposed.data(), batch, work, grads.data(), sums);
  return grads;
}

TEST(UpdateObserver, SeesEveryMinibatchWithItsGradient) {
  Scene scene(13, 11);  // 143 samples in minibatches of 47 and 48
  scene.learner.learning_rate = 0.0;
  const PpoSettings settings = settings_normalising(AdvantageNorm::kOff);
  Witness witness;
  ASSERT_TRUE(scene.update(settings, 3, &witness).ok());
  ASSERT_EQ(witness.batches.size(), 1u);
  EXPECT_EQ(witness.batches[0].report.samples, 143);
  ASSERT_EQ(witness.minibatches.size(), 6u);
  Minibatches minibatches(143, 3);
  for (std::size_t i = 0; i < witness.minibatches.size(); ++i) {
    const MinibatchReport& report = witness.minibatches[i].report;
    const int m = static_cast<int>(i % 3);
    EXPECT_EQ(report.epoch, static_cast<int>(i / 3));
    EXPECT_EQ(report.minibatch, m);
    if (m == 0) minibatches.shuffle(1, 1, report.epoch);
    EXPECT_EQ(report.samples, minibatches.size(m));
    EXPECT_EQ(witness.minibatches[i].gradient,
              tile_gradient(scene, settings, minibatches.indices(m), report.samples));
    double squares = 0.0;
    for (const float g : witness.minibatches[i].gradient) squares += static_cast<double>(g) * g;
    EXPECT_NEAR(report.norm, std::sqrt(squares), 1e-9);
  }
}

TEST(UpdateObserver, TheBatchIsTheMeanOfItsMinibatches) {
  for (const AdvantageNorm norm : {AdvantageNorm::kOff, AdvantageNorm::kBatch}) {
    Scene scene(16, 64);  // minibatches of one lane's tiles: the batch has more than fit the lanes
    scene.learner.learning_rate = 0.0;
    Witness witness;
    ASSERT_TRUE(scene.update(settings_normalising(norm), 8, &witness).ok());
    const std::vector<float>& batch = witness.batches[0].gradient;
    std::vector<double> mean(batch.size());
    for (int m = 0; m < 8; ++m) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += witness.minibatches[m].gradient[i] / 8.0;
      }
    }
    for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(batch[i], mean[i], 1e-6);
    EXPECT_GT(witness.batches[0].report.norm, 0.01);
  }
}

TEST(UpdateObserver, OneMinibatchIsTheBatch) {
  Scene scene(16, 16);
  Witness witness;
  ASSERT_TRUE(scene.update(settings_normalising(AdvantageNorm::kMinibatch), 1, &witness).ok());
  EXPECT_EQ(witness.batches[0].gradient, witness.minibatches[0].gradient);
  EXPECT_NE(witness.batches[0].gradient, witness.minibatches[1].gradient);
}

TEST(UpdateObserver, DoesNotChangeTheUpdate) {
  for (const AdvantageNorm norm :
       {AdvantageNorm::kOff, AdvantageNorm::kMinibatch, AdvantageNorm::kBatch}) {
    for (const int minibatches : {1, 3, 100}) {
      Scene plain(13, 11);
      Scene watched(13, 11);
      Witness witness;
      ASSERT_TRUE(plain.update(settings_normalising(norm), minibatches).ok());
      ASSERT_TRUE(watched.update(settings_normalising(norm), minibatches, &witness).ok());
      EXPECT_EQ(plain.learner.params, watched.learner.params);
      EXPECT_EQ(plain.learner.adam_v, watched.learner.adam_v);
      EXPECT_EQ(plain.stats.ess, watched.stats.ess);
    }
  }
}

TEST(RatioStatistics, AreThoseOfEqualPoliciesWhereNothingIsLearnt) {
  Scene scene(13, 11);
  scene.learner.learning_rate = 0.0;
  ASSERT_TRUE(scene.update({}, 3).ok());
  EXPECT_EQ(scene.stats.ess, 100.0);
  EXPECT_EQ(scene.stats.min_ratio, 1.0);
  EXPECT_EQ(scene.stats.max_ratio, 1.0);
}

TEST(RatioStatistics, AreThoseOfTheSamples) {
  Scene scene(16, 16);
  Random random(3, Purpose::kUser, 0, 0);
  TileBatch<float> batch(Scene::kObservation, 1, Scene::kActions);
  for (float& x : batch.observations) x = static_cast<float>(random.normal());
  for (float& x : batch.old_log_probs) x = -1.1f + 0.3f * static_cast<float>(random.normal());
  TileWorkspace<float> work = scene.network.make_workspace<float>();
  std::vector<float> grads(scene.network.parameter_count());
  PpoSums sums;
  std::vector<double> ratios;
  for (const int rows : {64, 1, 23}) {
    batch.rows = rows;
    const float* params = scene.learner.params.data();
    ppo_tile_gradient(scene.network, {}, rows, params, params, batch, work, grads.data(), sums);
    ratios.insert(ratios.end(), batch.ratios.begin(), batch.ratios.begin() + rows);
  }
  double sum = 0.0;
  double squares = 0.0;
  for (const double ratio : ratios) {
    sum += ratio;
    squares += ratio * ratio;
  }
  EXPECT_NEAR(sums.ratios, sum, 1e-12 * sum);
  EXPECT_NEAR(sums.squared_ratios, squares, 1e-12 * squares);
  EXPECT_EQ(sums.min_ratio, *std::min_element(ratios.begin(), ratios.end()));
  EXPECT_EQ(sums.max_ratio, *std::max_element(ratios.begin(), ratios.end()));
  EXPECT_NEAR(sums.ess_percent(88), 100.0 * sum * sum / squares / 88.0, 1e-9);
  EXPECT_LT(sums.ess_percent(88), 98.0);
}

TEST(RatioStatistics, OneHeavySampleIsTheWholeEffectiveSample) {
  PpoSums sums;
  sums.ratios = 1e150;
  sums.squared_ratios = 1e300;
  EXPECT_NEAR(sums.ess_percent(50), 2.0, 1e-12);
}

}  // namespace
}  // namespace broadloom
