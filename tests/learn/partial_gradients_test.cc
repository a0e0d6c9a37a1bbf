// The gradient of one minibatch while the number of threads changes between two.
// sanitizers: address, threads
#include "broadloom/learn/partial_gradients-inl.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/learn/gradient_scene.h"

namespace broadloom {
namespace {

// A thread's transposed weights of one side must not be used for both sides. The thread of each
// side is random, so there are many rounds with different parameters.
TEST(PartialGradients, GiveTheSameGradientWhileThreadsComeAndGo) {
  Scene scene(40, 10);
  ThreadPool pool(3);
  PartialGradients<PpoLoss> gradients(scene.network, {}, 400, Scene::kObservation, 1, pool);
  std::vector<std::int32_t> indices(400);
  std::iota(indices.begin(), indices.end(), 0);
  for (std::int64_t version = 1; version <= 200; ++version) {
    for (float& parameter : scene.learner.params) parameter *= 1.01F;
    const GradientJob<PpoLoss> job{
        scene.block, indices.data(), 400, {}, scene.learner.params.data(), version};
    std::vector<float> expected;
    for (const int active : {2, 1, 3, 1}) {
      pool.set_active(active);
      const GradientResult<PpoLoss> result = gradients.compute(job);
      const std::vector<float> gradient(result.gradient.begin(), result.gradient.end());
      if (expected.empty()) expected = gradient;
      ASSERT_EQ(gradient, expected) << active << " threads, round " << version;
      ASSERT_GT(result.norm, 0.0);
    }
  }
}

// Part of the bits contract. There are enough partial gradients for ranks and threads.
TEST(PartialGradientCount, GrowsWithTheSamples) {
  for (const auto& [samples, count] : {std::pair{1, 1},
                                       {64, 1},
                                       {256, 4},
                                       {1024, 8},
                                       {2048, 16},
                                       {16384, 16},
                                       {32704, 16},
                                       {32705, 32},
                                       {65536, 64},
                                       {1 << 20, 64}}) {
    EXPECT_EQ(partial_gradient_count(samples, 1000), count) << samples;
  }
  EXPECT_EQ(partial_gradient_count(2048, 100000), 8);
}

}  // namespace
}  // namespace broadloom
