// The laboratory on policies that read images. Gradients of convolutions and normalisations have no
// factors and are stored whole.
#include <gtest/gtest.h>

#include <memory>

#include "research/lab/gradient_study.h"
#include "tests/support/release_only.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

std::unique_ptr<Trainer> reader_with(const Overrides& more) {
  const Overrides keys{{"env_id", "MinAtar/Breakout-v1"},
                       {"encoder", "minatar"},
                       {"hidden_sizes", "8"},
                       {"num_envs", "8"},
                       {"num_steps", "8"},
                       {"max_episode_steps", "40"}};
  return trainer_of(resolved(add_overrides(keys, more)));
}

TEST(LabConvolutions, MeasuresAPolicyThatReadsImages) {
  RELEASE_ONLY("a network of images: smaller ones run the same code");
  for (const char* norm : {"off", "channels"}) {
    const auto trainer = reader_with({{"layer_norm", norm}});
    GradientStudyOptions options;
    options.shapes = {{2, 16}, {16, 2}};
    options.batch = 32;
    options.blocks = 24;
    options.bias_budget = 4000;
    options.start_envs = 64;
    options.correlation = options.variance = options.agreement = true;
    options.bias = false;
    const auto report = study_gradients(trainer->policy(), options, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    for (const VarianceResult& result : *report.value().variance) {
      EXPECT_GT(result.total.value, 0.0) << norm;
      EXPECT_TRUE(result.parts_agree) << norm;  // Gram matrices and sums of gradients
    }
    EXPECT_EQ(report.value().agreement->size(), 24u)
        << norm;  // shapes, lambdas, critics, normalised
  }
}

TEST(LabConvolutions, RefusesABatchThatDoesNotFit) {
  const auto trainer = reader_with({});
  GradientStudyOptions options;
  options.batch = 1 << 20;
  const std::string refused = study_gradients(trainer->policy(), options, {}).status().message();
  EXPECT_NE(refused.find("kept whole"), std::string::npos) << refused;
}

}  // namespace
}  // namespace broadloom
