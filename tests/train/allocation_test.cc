// Nothing is allocated by an iteration after the first. Counts every operator new of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "broadloom/math/linear_bf16.h"
#include "broadloom/train/trainer.h"

namespace {
std::atomic<long> g_allocations{0};

void* counted(std::size_t size) {
  ++g_allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* counted_aligned(std::size_t size, std::align_val_t align) {
  ++g_allocations;
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(align), size) != 0) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t align) {
  return counted_aligned(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return counted_aligned(size, align);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

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

TEST(Allocation, NoneInAnIterationAfterTheFirst) {
  for (const char* env : {"CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Acrobot-v1"}) {
    SCOPED_TRACE(env);
    expect_no_allocation({{"env_id", env},
                          {"num_envs", "70"},
                          {"num_steps", "8"},
                          {"num_minibatches", "4"},
                          {"total_timesteps", "10000"},
                          {"max_episode_steps", "5"}});
  }
}

TEST(Allocation, NoneInBf16Either) {
  if (!bf16_available()) GTEST_SKIP() << "NOT TESTED: this processor has no avx512bf16";
  expect_no_allocation({{"env_id", "Pendulum-v1"},
                        {"num_envs", "70"},
                        {"num_steps", "8"},
                        {"num_minibatches", "4"},
                        {"total_timesteps", "10000"},
                        {"max_episode_steps", "5"},
                        {"hidden_sizes", "128,64"},
                        {"precision", "bf16"}});
}

}  // namespace
}  // namespace broadloom
