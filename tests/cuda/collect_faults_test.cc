// Emulated kernels find the same non-finite numbers in a block as the host's collector.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

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

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

// Collects blocks until one fails. Both sides must fail then, with the same message.
std::string same_fault(const Breaking::Params& params, bool normalises, FiberOrder order) {
  const EnvSpec spec = Breaking::spec(params);
  BatchedEnv<Breaking> envs(params, spec, {.num_envs = kEnvs, .seed = 3});
  NetworkShape shape;
  shape.observation_size = 2;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 1;
  shape.hidden_sizes = {4};
  const ActorCritic network(shape);
  std::vector<float> weights(network.parameter_count());
  network.initialise(1, weights.data());
  const auto statistics = [&] {
    return normalises
               ? std::make_optional<ObsNormalizer>(2, 5.0, ShardPlan(kEnvs, kTileRows).count())
               : std::nullopt;
  };
  std::optional<ObsNormalizer> host_statistics = statistics(), statistics_of_device = statistics();
  const auto pointer_to = [](std::optional<ObsNormalizer>& one) { return one ? &*one : nullptr; };
  HostSide side(order);
  DeviceCollector<HostSide> device(
      side, envs, std::make_unique<EnvStepperOf<Breaking, HostSide>>(side, envs),
      device_network(network),
      {.shapes = {{kEnvs, kSteps}}, .normalizer = pointer_to(statistics_of_device)});
  float* const device_weights = side.allocate<float>(weights.size());
  side.copy_in(device_weights, weights.data(), weights.size());
  ThreadPool pool(2);
  const PolicySampler actor(network);
  Collector collector(envs, network, actor, {pointer_to(host_statistics), nullptr}, pool, 3);
  RolloutBlock block(block_sizes(envs, kSteps, kEnvs));
  for (std::int64_t first = 0; first < 10 * kSteps; first += kSteps) {
    const Status of_host = collector.collect(weights.data(), first, block);
    device.collect(PolicyActing{}, device_weights, first);
    device.bring_sums();
    side.wait();
    const Status of_device = device.take_sums(first);
    EXPECT_EQ(of_device.message(), of_host.message());
    EXPECT_EQ(of_device.kind(), of_host.kind());
    if (!of_host.ok() || !of_device.ok()) return of_device.message();
    if (host_statistics) host_statistics->commit();
    if (statistics_of_device) statistics_of_device->commit();
  }
  return "";
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

TEST(DeviceCollector, FindsNoFaultWhereAllIsFinite) {
  EXPECT_EQ(same_fault({1.0, Breaking::kSeen}, true, FiberOrder::kShuffled), "");
}

}  // namespace
}  // namespace broadloom::cuda
