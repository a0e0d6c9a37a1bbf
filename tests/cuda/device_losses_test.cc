// Trainers on an emulated device with keys of the loss and of the optimiser, compared with the CPU.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/register_environment.h"
#include "tests/cuda/device_trainers.h"

namespace broadloom::cuda {
namespace {

// An action of three numbers, which kernels of the library's environments do not have.
struct Arms {
  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    double x, y, z;
  };
  static constexpr auto members = std::tuple{&State::x, &State::y, &State::z};
  static constexpr int kObservationSize = 3, kActionSize = 3;

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    constexpr float kAny = std::numeric_limits<float>::infinity();
    EnvSpec spec;
    spec.id = "Arms-v0";
    spec.observation = Space::box({-kAny, -kAny, -kAny}, {kAny, kAny, kAny});
    spec.action = Space::box({-1.0f, -2.0f, 0.0f}, {1.0f, 2.0f, 3.0f});
    spec.max_episode_steps = 11;
    spec.summary = "Bring three arms to rest at 0.";
    return spec;
  }
  static void reset(const Params&, State& state, Random& random) {
    for (double* place : {&state.x, &state.y, &state.z}) *place = random.uniform(-1.0, 1.0);
  }
  static StepResult step(const Params&, State& state, const float* action, Random&) {
    state.x += 0.3 * static_cast<double>(action[0]);
    state.y += 0.2 * static_cast<double>(action[1]);
    state.z += 0.1 * static_cast<double>(action[2]);
    const double cost = state.x * state.x + 2.0 * state.y * state.y + state.z * state.z;
    return {-cost, static_cast<std::uint8_t>(cost > 20.0)};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.x);
    out[1] = static_cast<float>(state.y);
    out[2] = static_cast<float>(state.z);
  }
};

class DeviceLosses : public DeviceTrainer {
 protected:
  void SetUp() override {
    DeviceTrainer::SetUp();
    static const bool is_known = register_environment(make_entry<Arms>()).ok();
    ASSERT_TRUE(is_known);
  }
};

constexpr int kIterations = 3;

std::vector<float> trained_on_cpu(const std::string& env_id, const Options& options) {
  const std::unique_ptr<Trainer> host = make_trainer(config_of(env_id, options), "cpu");
  for (int i = 0; i < kIterations; ++i) iterate(*host);
  return {host->params(), host->params() + host->network().parameter_count()};
}

// The device has the CPU's bits with the key, which changes them.
void expect_the_same_with(const std::string& env_id, const Options& options,
                          const std::pair<std::string, std::string>& key) {
  SCOPED_TRACE(env_id + ", " + key.first + " = " + key.second);
  const Options with_key = combine(options, {key});
  EXPECT_NE(trained_on_cpu(env_id, with_key), trained_on_cpu(env_id, options));
  expect_the_same(env_id, with_key, kIterations);
}

// Steps that are large enough for clips.
const Options kFast = combine(kShort, {{"learning_rate", "1e-2"}});

TEST_F(DeviceLosses, TakesTheDecaysOfAdam) {
  expect_the_same_with("CartPole-v1", kShort, {"adam_beta1", "0.8"});
  expect_the_same_with("Pendulum-v1", kShort, {"adam_beta2", "0.99"});
}

TEST_F(DeviceLosses, ClipsValuesByTheirOwnRule) {
  for (const char* env_id : {"CartPole-v1", "Pendulum-v1"}) {
    expect_the_same_with(env_id, kFast, {"clip_vloss_coef", "0.02"});
    expect_the_same_with(env_id, combine(kFast, {{"clip_vloss_coef", "0.02"}}),
                         {"clip_vloss_rule", "clipped"});
  }
  expect_the_same_with("CartPole-v1", combine(kFast, {{"algorithm", "ppo_rnd"}}),
                       {"clip_vloss_coef", "0.02"});
}

TEST_F(DeviceLosses, KeepsMeansWithinBounds) {
  // Beginning with means beyond the bound would take long, so the steps are large.
  const Options options = combine(kShort, {{"learning_rate", "0.3"}, {"shared_encoder", "true"}});
  expect_the_same_with("Pendulum-v1", options, {"bounds_coef", "0.5"});
  expect_the_same_with("Arms-v0", combine(kShort, {{"learning_rate", "0.3"}}),
                       {"bounds_coef", "0.5"});
}

TEST_F(DeviceLosses, TakesSamplesInOtherOrders) {
  for (const char* shuffle : {"block", "off"}) {
    expect_the_same_with("CartPole-v1", kShort, {"shuffle", shuffle});
    expect_the_same_with("Pendulum-v1", combine(kShort, {{"norm_adv", "batch"}}),
                         {"shuffle", shuffle});
    expect_the_same_with("CartPole-v1", combine(kShort, {{"algorithm", "ppo_rnd"}}),
                         {"shuffle", shuffle});
  }
}

// Many steps, of which some raise the rate and others lower it.
const Options kAdaptive = combine(kShort, {{"lr_schedule", "adaptive"},
                                           {"desired_kl", "1e-4"},
                                           {"update_epochs", "4"},
                                           {"num_minibatches", "8"}});

TEST_F(DeviceLosses, AdaptsItsRateOnceAnEpoch) {
  expect_the_same_with("CartPole-v1", kAdaptive, {"adapt_every", "epoch"});
  expect_the_same_with("Pendulum-v1", combine(kAdaptive, {{"target_kl", "1e-3"}}),
                       {"adapt_every", "epoch"});
}

TEST_F(DeviceLosses, FollowsTheKlOfGaussians) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same_with("Pendulum-v1", kAdaptive, {"kl_estimate", "analytic"});
  }
  expect_the_same_with("Arms-v0", combine(kAdaptive, {{"adapt_every", "epoch"}}),
                       {"kl_estimate", "analytic"});
  expect_the_same_with("Arms-v0", kAdaptive, {"kl_estimate", "analytic"});
  emulate_as(FiberOrder::kReversed);  // its memory takes a wide network layer by layer
  expect_the_same_with("Pendulum-v1", combine(kAdaptive, {{"hidden_sizes", "64,64"}}),
                       {"kl_estimate", "analytic"});
}

// The first steps pass these bounds.
TEST_F(DeviceLosses, BoundsDeviations) {
  expect_the_same_with("Pendulum-v1", kFast, {"std_max", "1.002"});
  expect_the_same_with("Pendulum-v1", kFast, {"std_min", "0.998"});
  expect_the_same_with("Pendulum-v1", kFast, {"std_form", "scalar"});
  expect_the_same_with("Arms-v0", kFast, {"std_form", "scalar"});
  expect_the_same_with("Arms-v0", kFast, {"std_max", "1.002"});
  const Options scalar = combine(kFast, {{"std_form", "scalar"}, {"shared_encoder", "true"}});
  for (const char* key : {"std_max", "std_min"}) {
    expect_the_same_with("Pendulum-v1", scalar, {key, "1"});
  }
  expect_the_same_with("Pendulum-v1", combine(kAdaptive, {{"kl_estimate", "analytic"}}),
                       {"std_form", "scalar"});
}

TEST_F(DeviceLosses, ClipsGradientsApart) {
  const Options clipped = combine(kShort, {{"max_grad_norm", "0.1"}});
  expect_the_same_with("CartPole-v1", clipped, {"clip_grads", "apart"});
  expect_the_same_with("Pendulum-v1", clipped, {"clip_grads", "apart"});
}

TEST_F(DeviceLosses, LearnsValuesInTheirUnit) {
  for (const char* kind : {"running", "popart"}) {
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      expect_the_same_with("Pendulum-v1", kShort, {"norm_value", kind});
    }
    expect_the_same_with("CartPole-v1", kNormalised, {"norm_value", kind});
    expect_the_same_with("Acrobot-v1", combine(kShort, {{"shared_encoder", "true"}}),
                         {"norm_value", kind});
    const Options options = combine(kShort, {{"norm_value", kind}});
    expect_the_same("CartPole-v1", options, 3, false);
    expect_the_same("Pendulum-v1",
                    combine(options, {{"instruments", "gradient,plasticity,policy,coverage,audit"},
                                      {"instrument_every", "2"}}));
    expect_same_after_resume("Pendulum-v1", options);
  }
}

TEST_F(DeviceLosses, DrawsFromOtherDistributions) {
  for (const Options& policy :
       {Options{{"action_distribution", "squashed"}}, Options{{"action_distribution", "beta"}},
        Options{{"std_form", "state_dependent"}}}) {
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      expect_the_same_with("Pendulum-v1", kShort, policy[0]);
    }
    emulate_as(FiberOrder::kReversed);  // its memory takes a wide network layer by layer
    expect_the_same_with("Pendulum-v1", combine(kShort, {{"hidden_sizes", "64,64"}}), policy[0]);
    expect_the_same_with("Arms-v0", kFast, policy[0]);
    expect_the_same_with("Arms-v0", combine(kFast, {{"shared_encoder", "true"}}), policy[0]);
    for (const char* env_id : {"Pendulum-v1", "Arms-v0"}) {
      expect_the_same_with(env_id, combine(kAdaptive, policy), {"kl_estimate", "analytic"});
    }
  }
  const Options squashed{{"action_distribution", "squashed"}};
  const Options state_dependent{{"std_form", "state_dependent"}};
  expect_the_same_with("Pendulum-v1", combine(kShort, squashed), {"std_form", "state_dependent"});
  expect_the_same_with("Pendulum-v1", combine(kFast, squashed), {"std_form", "scalar"});
  expect_the_same_with("Pendulum-v1", combine(kFast, squashed), {"std_max", "1.002"});
  expect_the_same_with("Pendulum-v1", combine(kFast, state_dependent), {"std_max", "1.002"});
  expect_the_same_with("Pendulum-v1",
                       combine(combine(kShort, {{"learning_rate", "0.3"}}), squashed),
                       {"bounds_coef", "0.5"});
}

// Blocks change their shape after the second iteration.
TEST_F(DeviceLosses, TakeSeveralKeysThroughChangesOfShape) {
  const Options changing = combine(
      kAdaptive, {{"shape_schedule", "13x16 @ 0, 5x32 @ 0.2"}, {"kl_estimate", "analytic"}});
  for (const char* distribution : {"squashed", "beta"}) {
    const Options more = combine(changing, {{"norm_value", "popart"}, {"shuffle", "block"}});
    expect_the_same_with("Arms-v0", more, {"action_distribution", distribution});
  }
}

}  // namespace
}  // namespace broadloom::cuda
