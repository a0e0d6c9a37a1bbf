// Environments stepped by the device, compared with BatchedEnv bit for bit.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/tasks/registry.h"
#include "cuda/env/kernels.h"
#include "cuda/env/list.h"
#include "cuda/sides/emulated_block.h"

namespace broadloom::cuda {
namespace {

constexpr int kEnvs = 75, kSteps = 60, kLimit = 17, kFamilies = 25;
constexpr std::uint64_t kSeed = 9;

// One step of each environment and nothing else. Runs step inside a kernel that also acts.
template <class Env>
struct StepKernel {
  EnvSetup<Env> setup;
  EnvArrays arrays;
  StepArrays<Env> rows;

  template <class Block>
  void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n < setup.count) step_env(setup, arrays, rows, n);
  }
};

template <class Env>
class DeviceEnvs {
 public:
  using Observed = EnvObserved<Env>;

  DeviceEnvs(const typename Env::Params& params, const EnvSpec& spec, FiberOrder order)
      : order_(order), width_(static_cast<std::size_t>(spec.observation_size())) {
    const EnvStreams streams = env_streams(StreamSet::kTraining);
    setup_ = {params,
              kSeed,
              streams.reset,
              streams.step,
              kEnvs,
              kLimit,
              spec.observation_size(),
              spec.action_size(),
              spec.observation.kind == SpaceKind::kDiscrete};
    for (std::uint32_t n = 0; n < kEnvs; ++n) lanes_.push_back(n % kFamilies);
    arrays_ = {states_.data(), lanes_.data(), counters_.data(), counters_.data() + kEnvs,
               counters_.data() + 2 * kEnvs};
    seen.resize(kEnvs * width_);
    finals.resize(kEnvs * width_);
    run(BeginKernel<Env>{setup_, arrays_});
    run(ObserveKernel<Env>{setup_, arrays_, seen.data()});
  }

  void step(std::vector<float> actions) {
    run(StepKernel<Env>{setup_,
                        arrays_,
                        {actions.data(), seen.data(), rewards.data(), terminated.data(),
                         truncated.data(), finals.data()}});
  }

  std::vector<Observed> seen, finals;
  std::vector<float> rewards = std::vector<float>(kEnvs);
  std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(kEnvs),
                            truncated = std::vector<std::uint8_t>(kEnvs);

 private:
  template <class Kernel>
  void run(const Kernel& kernel) {
    emulate(kernel, shape_for_rows(kEnvs, 32), order_, kSeed);
  }

  FiberOrder order_;
  std::size_t width_;
  EnvSetup<Env> setup_;
  EnvArrays arrays_;
  // Earlier contents must not matter.
  std::vector<std::uint32_t> states_ =
      std::vector<std::uint32_t>(kEnvs * words_of<typename Env::State>(), 0xdeadbeef);
  std::vector<std::uint32_t> lanes_;
  std::vector<std::int64_t> counters_ = std::vector<std::int64_t>(3 * kEnvs, -77);
};

// Takes the same steps on both sides, over the ends of many episodes.
template <class Env>
void expect_the_same_bits(FiberOrder order) {
  const Result<typename Env::Params> params = Env::make_params({});
  ASSERT_TRUE(params.ok());
  VecEnvOptions options;
  options.num_envs = kEnvs;
  options.seed = kSeed;
  options.seed_families = kFamilies;
  options.max_episode_steps = kLimit;
  BatchedEnv<Env> host(params.value(), Env::spec(params.value()), options);
  const EnvSpec& spec = host.spec();
  DeviceEnvs<Env> device(params.value(), spec, order);
  const std::size_t width = static_cast<std::size_t>(spec.observation_size());
  using Observed = EnvObserved<Env>;
  std::vector<Observed> seen(kEnvs * width), finals(kEnvs * width);
  std::vector<float> actions(kEnvs * static_cast<std::size_t>(spec.action_size())), rewards(kEnvs);
  std::vector<std::uint8_t> terminated(kEnvs), truncated(kEnvs);
  host.observe(0, kEnvs, seen.data());
  EXPECT_EQ(seen, device.seen);
  int ended = 0;
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    for (std::uint32_t n = 0; n < kEnvs; ++n) {
      Random random(kSeed, Purpose::kInit, n, t);
      draw_action(spec.action, random, &actions[n * static_cast<std::size_t>(spec.action_size())]);
    }
    ASSERT_TRUE(host.step(0, kEnvs,
                          {actions.data(), seen.data(), rewards.data(), terminated.data(),
                           truncated.data(), finals.data()})
                    .ok());
    device.step(actions);
    ASSERT_EQ(seen, device.seen) << "step " << t;
    ASSERT_EQ(rewards, device.rewards) << "step " << t;
    ASSERT_EQ(terminated, device.terminated) << "step " << t;
    ASSERT_EQ(truncated, device.truncated) << "step " << t;
    for (std::size_t n = 0; n < kEnvs; ++n) {
      if ((terminated[n] | truncated[n]) == 0) continue;
      ++ended;
      ASSERT_EQ(
          std::memcmp(&finals[n * width], &device.finals[n * width], width * sizeof(Observed)), 0)
          << "step " << t << ", environment " << n;
    }
  }
  EXPECT_GT(ended, kEnvs * 2);
}

// Compares by upstream file, since some environments have several ids.
TEST(DeviceEnvs, AreAllOfTheLibrary) {
  std::vector<std::string> listed;
#define BROADLOOM_ENV_UPSTREAM(Env) \
  listed.push_back(Env::spec(Env::make_params({}).value()).upstream);
  BROADLOOM_EACH_ENV(BROADLOOM_ENV_UPSTREAM)
  for (const EnvSpec& spec : list_envs()) {
    if (!is_built_in(spec.id)) continue;  // registered by another test
    // Kernels refuse such actions and observations.
    if (spec.action.kind == SpaceKind::kMultiDiscrete || spec.action.masked) continue;
    if (spec.action.kind == SpaceKind::kHybrid || !spec.observation.groups.empty()) continue;
    EXPECT_NE(std::find(listed.begin(), listed.end(), spec.upstream), listed.end()) << spec.id;
  }
}

#define BROADLOOM_ENV_TEST(Env)                                                  \
  TEST(DeviceEnvs, StepAsOnTheHost##Env) {                                       \
    for (const FiberOrder order :                                                \
         {FiberOrder::kForward, FiberOrder::kReversed, FiberOrder::kShuffled}) { \
      expect_the_same_bits<Env>(order);                                          \
    }                                                                            \
  }
BROADLOOM_EACH_ENV(BROADLOOM_ENV_TEST)

}  // namespace
}  // namespace broadloom::cuda
