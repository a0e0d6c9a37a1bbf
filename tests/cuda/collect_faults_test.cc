// Emulated kernels find the same non-finite numbers in a block as the host's collector.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "broadloom/core/thread_pool.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/environment.h"
#include "broadloom/rollout/collector.h"
#include "cuda/collect/device_collector.h"
#include "cuda/collect/env_stepper.h"
#include "cuda/sides/host_side.h"

namespace broadloom::cuda {
namespace {

constexpr int kLimit = 7, kEnvs = 40, kSteps = 20;

// Produces a NaN at a given step: in an observation, a reward or a final observation.
struct Breaking {
  enum Place { kNever, kSeen, kReward, kLast };
  struct Params {
    double number = 0.0;
    Place place = kNever;
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t step, breaks_at;
  };
  static constexpr auto members = std::tuple{&State::step, &State::breaks_at};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Breaking";
    spec.observation = Space::box({-1, -1}, {1, 1});
    spec.action = Space::box({-1}, {1});
    spec.max_episode_steps = kLimit;
    return spec;
  }
  static void reset(const Params&, State& s, Random& random) {
    s.breaks_at = static_cast<std::int32_t>(random.below(40 * kLimit));
  }
  static StepResult step(const Params& p, State& s, const float* action, Random&) {
    s.step += 1;
    const bool breaks = p.place == kReward && s.step == s.breaks_at;
    return {breaks ? p.number : action[0], false};
  }
  static void observe(const Params& p, const State& s, float* out) {
    const bool breaks = (p.place == kSeen && s.step == s.breaks_at && s.step < kLimit) ||
                        (p.place == kLast && s.step == kLimit && s.breaks_at < kLimit);
    out[0] = static_cast<float>(s.step) * 0.1f;
    out[1] = breaks ? static_cast<float>(p.number) : 0.0f;
  }
};
static_assert(Environment<Breaking>);

// Shows its step as one of its cells, and a cell that there is not from step `lost_at` on.
struct LostCell {
  static constexpr int kCells = kLimit + 1;
  struct Params {
    double lost = 0.0;
    int lost_at = 0;
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t step;
  };
  static constexpr auto members = std::tuple{&State::step};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "LostCell";
    spec.observation = Space::discrete(kCells);
    spec.action = Space::discrete(2);
    spec.max_episode_steps = kLimit;
    return spec;
  }
  static void reset(const Params&, State&, Random&) {}
  static StepResult step(const Params&, State& s, const float*, Random&) {
    s.step += 1;
    return {0.0, false};
  }
  static void observe(const Params& p, const State& s, float* out) {
    out[0] = static_cast<float>(s.step < p.lost_at ? s.step : p.lost);
  }
};
static_assert(Environment<LostCell>);

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

// The status of one block on both sides.
struct Faults {
  Status of_host, of_device;
};

// Collects blocks until one fails on either side.
template <class Env>
Faults first_faults(const typename Env::Params& params, bool normalises, FiberOrder order) {
  const EnvSpec spec = Env::spec(params);
  BatchedEnv<Env> envs(params, spec, {.num_envs = kEnvs, .seed = 3});
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  shape.action_outputs = spec.action.kind == SpaceKind::kDiscrete ? 2 : 1;
  shape.hidden_sizes = {4};
  const ActorCritic network(shape);
  std::vector<float> weights(network.parameter_count());
  network.initialise(1, weights.data());
  const auto statistics = [&] {
    return normalises ? std::make_optional<ObsNormalizer>(spec.observation_size(), 5.0,
                                                          ShardPlan(kEnvs, kTileRows).count())
                      : std::nullopt;
  };
  std::optional<ObsNormalizer> host_statistics = statistics(), statistics_of_device = statistics();
  const auto pointer_to = [](std::optional<ObsNormalizer>& one) { return one ? &*one : nullptr; };
  HostSide side(order);
  DeviceCollector<HostSide> device(
      side, envs, std::make_unique<EnvStepperOf<Env, HostSide>>(side, envs),
      device_network(network),
      {.shapes = {{kEnvs, kSteps}}, .normalizers = pointer_to(statistics_of_device)});
  float* const device_weights = side.allocate<float>(weights.size());
  side.copy_in(device_weights, weights.data(), weights.size());
  ThreadPool pool(2);
  const PolicySampler actor(network);
  Collector collector(envs, network, actor, {pointer_to(host_statistics), nullptr}, pool, 3);
  RolloutBlock block(block_sizes(envs, kSteps, kEnvs));
  for (std::int64_t first = 0; first < 10 * kSteps; first += kSteps) {
    const Status of_host = collector.collect(weights.data(), first, block);
    EXPECT_TRUE(device.collect(PolicyActing{}, device_weights, first).ok());
    device.bring_sums();
    side.wait();
    const Status of_device = device.take_sums(first);
    if (!of_host.ok() || !of_device.ok()) return {of_host, of_device};
    if (host_statistics) host_statistics->commit();
    if (statistics_of_device) statistics_of_device->commit();
  }
  return {};
}

// Both sides must fail in the same block, with the same message.
std::string same_fault(const Breaking::Params& params, bool normalises, FiberOrder order) {
  const Faults faults = first_faults<Breaking>(params, normalises, order);
  EXPECT_EQ(faults.of_device.message(), faults.of_host.message());
  EXPECT_EQ(faults.of_device.kind(), faults.of_host.kind());
  return faults.of_device.message();
}

TEST(DeviceCollector, FindsTheHostsFirstFault) {
  const struct {
    Breaking::Place place;
    const char* name;
  } kCases[] = {{Breaking::kSeen, "observation of environment "},
                {Breaking::kReward, "reward of environment "},
                {Breaking::kLast, "last observation of environment "}};
  for (const auto& fault_case : kCases) {
    for (const double number :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      for (const bool normalises : {false, true}) {
        for (const FiberOrder order : kOrders) {
          const std::string message = same_fault({number, fault_case.place}, normalises, order);
          EXPECT_EQ(message.find(fault_case.name), 0u) << message;
        }
      }
    }
  }
}

// The host finds the index when it is written, the device the NaN of its row before it acts on it.
TEST(DeviceCollector, StopsAtAnIndexOutsideItsRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<int, const char*> places[] = {
      {3, "observation of environment 0 is not finite at its step 3"},
      {kLimit, "last observation of environment 0 is not finite at its step 6"}};
  for (const auto& [lost_at, words] : places) {
    for (const double lost : {double{LostCell::kCells}, -1.0, 2.5, 1e30, nan}) {
      for (const FiberOrder order : kOrders) {
        const Faults faults = first_faults<LostCell>({lost, lost_at}, false, order);
        EXPECT_EQ(faults.of_host.kind(), ErrorKind::kIo) << lost;
        EXPECT_NE(faults.of_host.message().find("of LostCell gave the index "), std::string::npos)
            << faults.of_host.message();
        EXPECT_EQ(faults.of_device.kind(), ErrorKind::kNumeric) << lost;
        EXPECT_EQ(faults.of_device.message().find(words), 0u) << faults.of_device.message();
      }
    }
  }
  const double last = LostCell::kCells - 1;
  EXPECT_EQ(first_faults<LostCell>({last, 3}, false, FiberOrder::kShuffled).of_device.message(),
            "");
}

TEST(DeviceCollector, FindsNoFaultWhereAllIsFinite) {
  EXPECT_EQ(same_fault({1.0, Breaking::kSeen}, true, FiberOrder::kShuffled), "");
}

}  // namespace
}  // namespace broadloom::cuda
