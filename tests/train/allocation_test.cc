// Nothing is allocated by an iteration after the first. Counts every operator new of the process.
// sanitizers: none (a sanitizer makes allocations itself)
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "broadloom/core/memory_limits.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/machine.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "tests/env/observation_envs.h"
#include "tests/env/picture_envs.h"
#include "tests/env/simulators.h"
#include "tests/train/scene.h"

namespace {
std::atomic<long> g_allocations{0};
std::atomic<std::size_t> g_bytes{0};  // now held

void* counted_or_null(std::size_t size) noexcept {
  ++g_allocations;

  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory != nullptr) g_bytes += malloc_usable_size(memory);
  return memory;
}
void* counted(std::size_t size) {
  void* memory = counted_or_null(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* counted_aligned(std::size_t size, std::align_val_t align) {
  ++g_allocations;

  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(align), size) != 0) throw std::bad_alloc();
  g_bytes += malloc_usable_size(memory);
  return memory;
}
void release(void* memory) noexcept {
  if (memory != nullptr) g_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
// Counts nothrow allocations, too, because they are freed through the same operator delete
// (std::stable_sort allocates its buffer so).
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void* operator new(std::size_t size, std::align_val_t align) {
  return counted_aligned(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return counted_aligned(size, align);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace broadloom {
namespace {

void expect_no_allocation(const Overrides& overrides) {
  Result<Config> config = resolve_config(overrides);
  ASSERT_TRUE(config.ok()) << config.status().message();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 2);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  ASSERT_TRUE(trainer.value()->iterate().ok());
  const long before = g_allocations;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer.value()->iterate().ok());
  EXPECT_EQ(g_allocations - before, 0);
}

TEST(Allocation, TheCounterCounts) {
  const long before = g_allocations;
  auto* array = new std::string(100, 'x');
  EXPECT_GE(g_allocations - before, 2);
  delete array;
}

void expect_planned_memory(const Overrides& overrides, int threads) {
  const Result<Config> config = resolve_config(overrides);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Result<MemoryPlan> plan = plan_memory(config.value(), threads);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t before = g_bytes;
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), threads);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const double held = static_cast<double>(g_bytes - before);
  const double planned = static_cast<double>(plan.value().total());
  EXPECT_NEAR(held, planned, 0.03 * planned + 40e3);
}

TEST(Allocation, ATrainerHoldsWhatWasPlanned) {
  expect_planned_memory({{"env_id", "CartPole-v1"}, {"num_envs", "4"}}, 1);
  expect_planned_memory({{"env_id", "CartPole-v1"}, {"num_envs", "4096"}, {"num_steps", "16"}}, 2);
  expect_planned_memory({{"env_id", "Pendulum-v1"},
                         {"num_envs", "64"},
                         {"hidden_sizes", "[256, 256]"},
                         {"norm_obs", "true"},
                         {"norm_reward", "true"}},
                        3);
  expect_planned_memory({{"env_id", "Acrobot-v1"}, {"num_envs", "300"}, {"max_episode_steps", "3"}},
                        2);
  expect_planned_memory({{"env_id", "FrozenLake-v1"}, {"shared_encoder", "true"}}, 1);
}

TEST(Allocation, PpoRndHoldsWhatWasPlanned) {
  for (const char* envs : {"5", "700"}) {
    expect_planned_memory({{"env_id", "CartPole-v1"},
                           {"algorithm", "ppo_rnd"},
                           {"num_envs", envs},
                           {"rnd_hidden_sizes", "200,100"},
                           {"hashes", "true"}},
                          2);
  }
  expect_planned_memory({{"env_id", "MinAtar/Breakout-v1"}, {"algorithm", "ppo_rnd"}}, 1);
}

TEST(Allocation, NoneWithMemoryAndPlanned) {
  const Overrides recurrent{{"env_id", "Pendulum-v1"},  {"num_envs", "70"},
                            {"num_steps", "80"},        {"total_timesteps", "60000"},
                            {"max_episode_steps", "9"}, {"recurrent", "mingru"}};
  expect_no_allocation(recurrent);
  expect_planned_memory(recurrent, 2);
  const auto watched = add_overrides(recurrent, {{"instruments", all_instruments()}});
  expect_no_allocation(watched);
  expect_planned_memory(watched, 2);
}

TEST(Allocation, NoneOfInstrumentsWithActionValuesAndPlanned) {
  const Overrides values{{"env_id", "CartPole-v1"},
                         {"algorithm", "pqn"},
                         {"num_envs", "70"},
                         {"total_timesteps", "60000"},
                         {"instruments", all_instruments()}};
  expect_no_allocation(values);
  expect_planned_memory(values, 2);
}

TEST(Allocation, NoneWithPpoRnd) {
  for (const char* env : {"FrozenLake-v1", "MountainCarContinuous-v0", "MinAtar/Breakout-v1"}) {
    expect_no_allocation({{"env_id", env},
                          {"algorithm", "ppo_rnd"},
                          {"num_envs", "70"},
                          {"num_steps", "8"},
                          {"total_timesteps", "10000"},
                          {"max_episode_steps", "5"},
                          {"instruments", "plasticity,policy,coverage,audit"},
                          {"hashes", "true"}});
  }
}

// Their normaliser has sums per shard, which are large for wide observations.
TEST(Allocation, WideObservationsHoldWhatWasPlanned) {
  expect_planned_memory({{"env_id", "Taxi-v3"},
                         {"num_envs", "4096"},
                         {"num_steps", "2"},
                         {"norm_obs", "true"},
                         {"hidden_sizes", "16"}},
                        2);
}

TEST(Allocation, InstrumentsHoldWhatWasPlanned) {
  expect_planned_memory(
      {{"env_id", "CartPole-v1"}, {"hidden_sizes", "512,512"}, {"instruments", all_instruments()}},
      1);
}

// With uint8 observations a plan that took them for float32 would be far too large.
TEST(Allocation, TypedObservationsHoldWhatWasPlanned) {
  ASSERT_TRUE(register_observation_envs());
  for (const char* instruments : {"", "coverage,plasticity,gradient"}) {
    expect_planned_memory({{"env_id", "Catch-v0"},
                           {"num_envs", "1000"},
                           {"num_steps", "100"},
                           {"hashes", "true"},
                           {"instruments", instruments},
                           {"hidden_sizes", "16"}},
                          2);
    expect_planned_memory({{"env_id", "Windy-v0"},
                           {"num_envs", "1000"},
                           {"num_steps", "100"},
                           {"hashes", "true"},
                           {"norm_obs", "true"},
                           {"instruments", instruments},
                           {"hidden_sizes", "16"}},
                          2);
  }
}

Overrides frames_of(const Overrides& more) {
  EXPECT_TRUE(register_picture_envs());
  Overrides all{{"env_id", "Volley-v0"}, {"env.frame_stack", "4"}, {"hidden_sizes", "16"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Allocation, FramesHoldWhatWasPlanned) {
  for (const char* instruments : {"", "coverage"}) {
    expect_planned_memory(frames_of({{"num_envs", "200"},
                                     {"num_steps", "50"},
                                     {"env.rows", "20"},
                                     {"env.cols", "20"},
                                     {"hashes", "true"},
                                     {"instruments", instruments}}),
                          2);
  }
  expect_planned_memory(
      frames_of(
          {{"shape_schedule", "100x16 @ 0, 16x100 @ 0.5"}, {"env.rows", "20"}, {"env.cols", "20"}}),
      2);
}

// 84 x 84 x 4, as in games: whole stacks would need 462 MB.
TEST(Allocation, ABlockOfFramesHoldsEachOnce) {
  Overrides large = kLarge;
  large.emplace_back("num_envs", "128");
  large.emplace_back("num_steps", "128");
  const Config config = resolve_config(frames_of(large)).value();
  const std::unique_ptr<VecEnv> envs =
      make_vec_env(config.env_id, config.env_options, {.num_envs = 128}).take();
  const std::size_t before = g_bytes;
  const RolloutBlock block(block_sizes(*envs, 128, 128));
  const double held = static_cast<double>(g_bytes - before);
  EXPECT_LT(held, 130e6);
  EXPECT_NEAR(held, static_cast<double>(RolloutBlock::bytes(block)), 1e4);
  expect_planned_memory(frames_of(large), 2);
}

TEST(Allocation, NoneWithFrames) {
  expect_no_allocation(frames_of({{"num_envs", "70"},
                                  {"num_steps", "8"},
                                  {"total_timesteps", "10000"},
                                  {"max_episode_steps", "5"},
                                  {"instruments", all_instruments()},
                                  {"hashes", "true"}}));
}

TEST(Allocation, NoneWithConvolutions) {
  for (const char* algorithm : {"ppo", "pqn"}) {
    expect_no_allocation({{"env_id", "MinAtar/Breakout-v1"},
                          {"algorithm", algorithm},
                          {"encoder", "minatar"},
                          {"num_envs", "70"},
                          {"num_steps", "8"},
                          {"total_timesteps", "10000"},
                          {"max_episode_steps", "5"},
                          {"instruments", "plasticity,coverage"},
                          {"hashes", "true"}});
  }
}

TEST(Allocation, NoneWithTypedObservations) {
  ASSERT_TRUE(register_observation_envs());
  for (const char* env : {"Catch-v0", "Windy-v0"}) {
    expect_no_allocation({{"env_id", env},
                          {"num_envs", "70"},
                          {"num_steps", "8"},
                          {"total_timesteps", "10000"},
                          {"max_episode_steps", "5"},
                          {"instruments", all_instruments()},
                          {"hashes", "true"}});
  }
}

TEST(Allocation, HashesHoldWhatWasPlanned) {
  expect_planned_memory({{"env_id", "Pendulum-v1"},
                         {"num_envs", "2000"},
                         {"num_steps", "512"},
                         {"total_timesteps", "2000000"},
                         {"hashes", "true"}},
                        5);
}

// Compares the memory of a block with that of its fields.
TEST(Allocation, ABlockHoldsLittleMoreThanItsFields) {
  const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                {"num_envs", "65536"},
                                                {"num_steps", "16"},
                                                {"total_timesteps", "100000000"}});
  const Result<MemoryPlan> plan = plan_memory(config.value(), 2);
  ASSERT_TRUE(plan.ok());
  const double transitions = 65536.0 * 16.0;
  // Observation, action, log-probability, value, reward, advantage, two flags, episode end.
  const double fields = 4.0 * (4 + 1 + 1 + 1 + 1 + 1) + 2.0 + 4.0;
  EXPECT_LE((plan.value().block + plan.value().permutation) / transitions, 1.2 * fields);
  EXPECT_LT(plan.value().total(), 300e6);
}

TEST(Allocation, MoreThanTheMachineHasIsRefusedBeforeTheStart) {
  const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                {"num_envs", "1048576"},
                                                {"num_steps", "1024"},
                                                {"total_timesteps", "2000000000"},
                                                {"num_minibatches", "1048576"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Result<MemoryPlan> plan = plan_memory(config.value(), 1);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_GT(plan.value().total(), 40e9);
  const Status refused =
      check_memory(config.value(), plan.value(), 1, memory_limits({.machine = 16e9}));
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  for (const char* words : {"but this machine has 16.0 GB; make ", "num_envs"}) {
    EXPECT_NE(refused.message().find(words), std::string::npos) << refused.message();
  }
}

TEST(Allocation, NoneInAnIterationAfterTheFirst) {
  for (const char* env : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Acrobot-v1"}) {
    for (const char* weights : {"geometric", "normalised"}) {
      SCOPED_TRACE(std::string(env) + " " + weights);
      expect_no_allocation({{"env_id", env},
                            {"num_envs", "70"},
                            {"num_steps", "8"},
                            {"num_minibatches", "4"},
                            {"total_timesteps", "10000"},
                            {"max_episode_steps", "5"},
                            {"gae_weights", weights}});
    }
  }
}

// With a shape schedule, allocates only at a change, and no more than planned.
TEST(Allocation, NoneBetweenChangesOfTheShape) {
  const Result<Config> config =
      resolve_config({{"env_id", "Pendulum-v1"},
                      {"shape_schedule", "16x64 @ 0, 600x8 @ 0.3, 70x30/100 @ 0.7"},
                      {"num_minibatches", "4"},
                      {"total_timesteps", "40000"},
                      {"max_episode_steps", "5"},
                      {"hidden_sizes", "32,32"},
                      {"hashes", "true"},
                      {"instruments", all_instruments()},
                      {"instrument_every", "2"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const double planned = static_cast<double>(plan_memory(config.value(), 2).take().total());
  const std::size_t empty = g_bytes;
  const std::unique_ptr<Trainer> trainer = Trainer::create(config.value(), 2).take();
  int since_change = 0, counted = 0;
  for (int before = 0; !trainer->finished(); before = trainer->block().T) {
    const long allocations = g_allocations;
    ASSERT_TRUE(trainer->iterate().ok());
    since_change = trainer->block().T == before ? since_change + 1 : 0;
    EXPECT_LE(static_cast<double>(g_bytes - empty), 1.03 * planned + 40e3);
    if (since_change < 2) continue;  // instruments measure every other iteration
    EXPECT_EQ(g_allocations - allocations, 0) << trainer->clock().iteration;
    ++counted;
  }
  EXPECT_GE(counted, 8);
}

TEST(Allocation, NoneWithStrata) {
  expect_no_allocation({{"env_id", "CartPole-v1"},
                        {"num_envs", "70"},
                        {"num_steps", "8"},
                        {"total_timesteps", "10000"},
                        {"max_episode_steps", "5"},
                        {"seed_families", "35"},
                        {"strata_sampling", "stratified"},
                        {"strata.a.force", "5..15"},
                        {"strata.b.gravity", "1..2"}});
}

TEST(Allocation, NoneWithACurriculum) {
  expect_no_allocation({{"env_id", "CartPole-v1"},
                        {"num_envs", "70"},
                        {"num_steps", "8"},
                        {"total_timesteps", "10000"},
                        {"max_episode_steps", "5"},
                        {"curriculum", "a,b"},
                        {"curriculum_episodes", "1"},
                        {"strata.a.force", "5..15"},
                        {"strata.b.gravity", "1..2"}});
}

TEST(Allocation, NoneWithDisturbances) {
  expect_no_allocation({{"env_id", "Pendulum-v1"},
                        {"num_envs", "70"},
                        {"num_steps", "8"},
                        {"num_minibatches", "4"},
                        {"total_timesteps", "10000"},
                        {"max_episode_steps", "5"},
                        {"disturb.obs_noise", "0.1"},
                        {"disturb.action_delay", "2"},
                        {"disturb.push_interval", "20"}});
}

TEST(Allocation, NoneWhereAllEnvironmentsAreSteppedAsOneAndWhatWasPlannedIsHeld) {
  register_simulator("WholeOfAllocations-v0", [](auto inner) {
    return std::make_unique<WholeBatch>(std::move(inner), "WholeOfAllocations-v0");
  });
  expect_no_allocation({{"env_id", "WholeOfAllocations-v0"},
                        {"num_envs", "150"},
                        {"num_steps", "8"},
                        {"total_timesteps", "20000"},
                        {"norm_obs", "true"},
                        {"max_episode_steps", "5"}});
  expect_planned_memory(
      {{"env_id", "WholeOfAllocations-v0"}, {"num_envs", "20000"}, {"num_steps", "2"}}, 2);
}

TEST(Allocation, StrataHoldWhatWasPlanned) {
  expect_planned_memory({{"env_id", "CartPole-v1"},
                         {"num_envs", "4096"},
                         {"num_steps", "16"},
                         {"strata.a.force", "5..15"}},
                        1);
  expect_planned_memory({{"env_id", "CartPole-v1"},
                         {"num_envs", "65536"},
                         {"num_steps", "2"},
                         {"curriculum", "a,b"},
                         {"strata.a.force", "5..15"},
                         {"strata.b.force", "1..15"}},
                        1);
}

TEST(Allocation, MoreThanTheLimitIsRefusedBeforeTheStart) {
  Config config = resolve_config({{"num_envs", "4096"}, {"num_steps", "16"}}).take();
  const std::size_t planned = plan_memory(config, 1).value().total();
  config.memory_limit = static_cast<std::int64_t>(planned / 1000000);
  const auto refused = Trainer::create(config, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), ErrorKind::kInvalidConfig);
  for (const char* part : {"memory_limit: got", "this run takes", "make num_envs or num_steps"}) {
    EXPECT_NE(refused.status().message().find(part), std::string::npos);
  }
  config.memory_limit += 1;
  EXPECT_TRUE(Trainer::create(config, 1).ok());
}

TEST(Allocation, NoneWithInstruments) {
  for (const char* every : {"1", "2"}) {
    expect_no_allocation({{"env_id", "Pendulum-v1"},
                          {"num_envs", "70"},
                          {"num_steps", "8"},
                          {"num_minibatches", "4"},
                          {"total_timesteps", "10000"},
                          {"instruments", all_instruments()},
                          {"instrument_every", every}});
  }
}

TEST(Allocation, NoneWithHashes) {
  expect_no_allocation({{"env_id", "Pendulum-v1"},
                        {"num_envs", "70"},
                        {"num_steps", "8"},
                        {"num_minibatches", "4"},
                        {"total_timesteps", "10000"},
                        {"hashes", "true"}});
}

}  // namespace
}  // namespace broadloom
