#include "broadloom/core/aligned_vector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "broadloom/learn/learner.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

template <class Array>
bool begins_at_cache_line(const Array& array) {
  return reinterpret_cast<std::uintptr_t>(array.data()) % kCacheLine == 0;
}

TEST(AlignedVector, BeginsAtACacheLineWhateverItsSize) {
  for (std::size_t n = 1; n < 200; n += 3) {
    AlignedVector<float> floats(n);
    AlignedVector<char> chars;
    for (std::size_t i = 0; i < n; ++i) chars.push_back('x');
    ASSERT_TRUE(begins_at_cache_line(floats));
    ASSERT_TRUE(begins_at_cache_line(chars));
  }
}

// What the kernels read and write: a vector register as wide as a line is slower across two.
TEST(AlignedVector, HoldsWhatTheKernelsWorkOn) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_outputs = 2;
  shape.hidden_sizes = {5, 7};
  const ActorCritic network(shape);
  const TileWorkspace<float> work = network.make_workspace<float>();
  for (const auto* array : {&work.observations, &work.actor, &work.actor_delta, &work.critic,
                            &work.critic_delta, &work.policy, &work.policy_delta, &work.values}) {
    EXPECT_TRUE(begins_at_cache_line(*array));
  }
  const Learner learner(network.parameter_count());
  const TileBatch<float> batch(3, 1, 2);
  for (const auto* array : {&learner.params, &learner.adam_m, &learner.adam_v, &batch.observations,
                            &batch.actions, &batch.ratios, &batch.terms}) {
    EXPECT_TRUE(begins_at_cache_line(*array));
  }
}

}  // namespace
}  // namespace broadloom
