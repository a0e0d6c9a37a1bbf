// Failures of an emulated device, which equal the CPU's, and refusals.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/simulator.h"
#include "cuda/refusals.h"
#include "tests/cuda/device_trainers.h"
#include "tests/env/observation_envs.h"
#include "tests/learn/a2c.h"
#include "tests/support/release_only.h"

namespace broadloom::cuda {
namespace {

class DeviceFaults : public DeviceTrainer {};

// The sign of NaN depends on the processor.
std::string without_signs(std::string text) {
  for (std::size_t position = 0; (position = text.find("-nan")) != std::string::npos;)
    text.erase(position, 1);
  return text;
}

// A NaN moment spoils the first step. The second step notices it.
TEST_F(DeviceFaults, FailsLikeTheCpu) {
  const Config config = config_of("CartPole-v1", kNormalised);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  for (Trainer* trainer : {host.get(), device.get()}) {
    const TensorRef moments = tensor_of(*trainer, "learner.adam_m");
    static_cast<float*>(moments.data)[0] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_TRUE(trainer->state_restored().ok());
  }
  const std::vector<float> before(device->params(),
                                  device->params() + device->network().parameter_count());
  const Status of_host = host->iterate(), of_device = device->iterate();
  EXPECT_EQ(of_host.kind(), ErrorKind::kNumeric);
  EXPECT_EQ(without_signs(of_device.message()), without_signs(of_host.message()));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), device->params()));
  // The device reports it again where the next block is collected, which names the environment.
  EXPECT_EQ(device->iterate().message(), "CartPole-v1: " + of_device.message());
  EXPECT_EQ(device->capture().message(), of_device.message());  // its moments are NaN
  const std::unique_ptr<Trainer> whole = make_trainer(config, "cpu");
  copy_state(*whole, *device);
  copy_state(*whole, *host);
  for (Trainer* trainer : {whole.get(), device.get(), host.get()}) iterate(*trainer);
  expect_same_state(*whole, *device);
  expect_same_state(*whole, *host);  // the failed block leaves no trace
}

// Changes both sides in the same way and expects the same message.
template <class Change>
Status same_failure(const Config& config, Change&& change) {
  Status failures[2];
  for (const int device : {0, 1}) {
    const std::unique_ptr<Trainer> trainer = make_trainer(config, device == 1 ? "cuda" : "cpu");
    change(*trainer);
    EXPECT_TRUE(trainer->state_restored().ok());
    failures[device] = trainer->iterate();
  }
  EXPECT_EQ(failures[0].kind(), ErrorKind::kNumeric);
  EXPECT_EQ(without_signs(failures[1].message()), without_signs(failures[0].message()));
  return failures[1];
}

// Clipping turns infinite numbers into finite ones.
TEST_F(DeviceFaults, NamesTheEnvironmentThatIsNotFinite) {
  for (const Options* options : {&kShort, &kNormalised}) {
    const Config config = config_of("Pendulum-v1", *options);
    for (const double speed : {std::numeric_limits<double>::infinity(), 1e300,
                               std::numeric_limits<double>::quiet_NaN()}) {
      const Status status = same_failure(config, [&](Trainer& trainer) {
        static_cast<double*>(tensor_of(trainer, "envs.state1").data)[5] = speed;
      });
      EXPECT_EQ(status.message().find(
                    "Pendulum-v1: observation of environment 5 is not finite at its step 0"),
                0u)
          << status.message();
    }
  }
}

TEST_F(DeviceFaults, FailsIfThePolicyIsNotFinite) {
  for (const Options* options : {&kShort, &kPqn}) {
    const Status status = same_failure(config_of("CartPole-v1", *options), [](Trainer& trainer) {
      const TensorRef params = tensor_of(trainer, "learner.params");
      std::fill_n(static_cast<float*>(params.data), params.count(),
                  std::numeric_limits<float>::quiet_NaN());
    });
    EXPECT_NE(status.message().find("iteration 1"), std::string::npos) << status.message();
  }
}

// The predictor and its outputs for the block are NaN.
TEST_F(DeviceFaults, FailsIfThePredictorIsNotFinite) {
  const Config config = config_of("CartPole-v1", {{"algorithm", "ppo_rnd"}});
  const Status status = same_failure(config, [](Trainer& trainer) {
    const TensorRef params = tensor_of(trainer, "learner.companion.params");
    static_cast<float*>(params.data)[params.count() - 1] = std::numeric_limits<float>::quiet_NaN();
  });
  for (const char* fact : {"the first minibatch", "prediction errors"}) {
    EXPECT_NE(status.message().find(fact), std::string::npos) << status.message();
  }
}

std::string refusal(const std::string& env_id, const Options& options) {
  Overrides all{{"device", "cuda"}};
  all.insert(all.end(), options.begin(), options.end());
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config_of(env_id, all), 1);
  if (trainer.ok()) return "";
  EXPECT_EQ(trainer.status().kind(), ErrorKind::kInvalidConfig);
  return trainer.status().message();
}

TEST_F(DeviceFaults, RefusesWhatItCannotDo) {
  static const bool is_known = register_algorithm(A2c::entry()).ok();
  ASSERT_TRUE(is_known);
  ASSERT_TRUE(register_observation_envs());
  EXPECT_EQ(refusal("CartPole-v1", {{"algorithm", "a2c"}}),
            "device = cuda: got algorithm = a2c, which kernels cannot do yet; set algorithm = ppo, "
            "ppo_rnd or pqn, or set device = cpu");
  struct Refused {
    const char* env_id;
    Options options;
    const char* got;
  };
  for (const Refused& refused : std::vector<Refused>{
           {"CartPole-v1", {{"hidden_sizes", "8,8,8,8,8,8,8,8,8"}}, "at most 8 layers"},
           {"CartPole-v1",
            {{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "8,8,8,8,8,8,8,8,8"}},
            "rnd_hidden_sizes = 8,8,8,8,8,8,8,8,8"},
           {"Pendulum-v1", {{"std_form", "sde"}}, "std_form = sde"},
           {"LargeCatch-v0",
            {{"encoder", "nature"}, {"precision", "tf32"}},
            "precision = tf32 with encoder = nature"},
           {"LargeCatch-v0",
            {{"encoder", "impala"}, {"precision", "tf32"}},
            "precision = tf32 with encoder = impala"},
       }) {
    const std::string message = refusal(refused.env_id, refused.options);
    EXPECT_NE(message.find(refused.got), std::string::npos) << refused.got << ": " << message;
    EXPECT_NE(message.find("device = c"), std::string::npos) << message;
  }
}

TEST_F(DeviceFaults, RefusesMoreParametersThanItCounts) {
  const Config wide = config_of("CartPole-v1", {{"hidden_sizes", "65536,65536"}});
  const std::unique_ptr<VecEnv> envs = make_one_env(wide).take();
  ThreadPool pool(1);
  const ActorCritic network(network_shape(wide, envs->spec()));
  const Status refused = check_device({wide, network, *envs, pool});
  EXPECT_EQ(
      refused.message(),
      "device = cuda: got hidden_sizes = 65536,65536, which make 8590917635 parameters, which "
      "kernels cannot do yet; take narrower layers, of at most 2147483647 together, or set "
      "device = cpu");
}

TEST_F(DeviceFaults, RefusesMoreNumbersOfAMinibatchThanItCounts) {
  const auto refused = [](const char* minibatches) {
    const Config config = config_of("CartPole-v1", {{"num_envs", "4096"},
                                                    {"num_steps", "16"},
                                                    {"num_minibatches", minibatches},
                                                    {"total_timesteps", "65536"}});
    const std::unique_ptr<VecEnv> envs = make_one_env(config).take();
    NetworkShape shape = network_shape(config, envs->spec());
    shape.encoder = Encoder::kNature;
    shape.image = {210, 160, 12};
    shape.observation_size = shape.image.size();
    ThreadPool pool(1);
    const ActorCritic network(shape);
    return check_device({config, network, *envs, pool}).message();
  };
  EXPECT_NE(refused("1").find("got minibatches of 65536 samples"), std::string::npos);
  EXPECT_EQ(refused("64"), "");
}

// The memory planned in advance equals the allocated memory to the byte.
TEST_F(DeviceFaults, RefusesWhatDoesNotFitItsMemory) {
  if (device_is_real()) GTEST_SKIP() << "its memory is what it is";
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", kPqn},
           {"Pendulum-v1", kNormalised},
           {"Pendulum-v1", {{"algorithm", "ppo_rnd"}, {"rnd_outputs", "300"}}},
           {"Pendulum-v1",
            {{"strata.a.mass", "1..2"}, {"disturb.action_delay", "3"}, {"norm_obs", "true"}}},
           {"Pendulum-v1",
            {{"norm_value", "running"}, {"lr_schedule", "adaptive"}, {"kl_estimate", "analytic"}}},
           {"MinAtar/Asterix-v1", {{"algorithm", "pqn"}, {"max_episode_steps", "11"}}},
           {"MinAtar/Asterix-v1", {{"algorithm", "pqn"}, {"env.frame_stack", "3"}}}}) {
    emulation = {};
    const Config config = config_of(env_id, options);
    const std::size_t taken = make_trainer(config, "cuda")->device()->memory_bytes();
    EXPECT_GT(taken, std::size_t{13 * 16 * 4 * 4});
    emulation.limits.free_bytes = taken;
    EXPECT_EQ(make_trainer(config, "cuda")->device()->memory_bytes(), taken);
    emulation.limits.free_bytes = taken - 1;
    const std::string message = refusal(env_id, options);
    EXPECT_EQ(message.find("device = cuda: 13 environments and 16 steps take"), 0u) << message;
  }
}

// Pinned pages for copies count as host memory. The plan covers all data in flight plus a quarter,
// and the next permutations.
TEST_F(DeviceFaults, PlansWhatPassesThroughTheHost) {
  RELEASE_ONLY("counts bytes of whole runs");
  if (device_is_real()) GTEST_SKIP() << "only the emulated one counts";
  const Options changing{
      {"num_envs", "13"}, {"num_steps", "16"}, {"shape_schedule", "13x16 @ 0, 64x32 @ 0.01"}};
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", {}},
           {"CartPole-v1", changing},
           {"CartPole-v1", {{"hashes", "true"}}},
           {"CartPole-v1", {{"hidden_sizes", "192,128"}, {"num_steps", "16"}}},
           {"FrozenLake-v1", kPqn},
           {"CartPole-v1",
            {{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "128,96"}, {"update_proportion", "1"}}},
           {"MinAtar/Breakout-v1",
            {{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "32"}, {"num_steps", "2"}}},
           {"Pendulum-v1", {{"norm_obs", "true"}, {"num_steps", "1"}, {"hidden_sizes", "2"}}},
           {"Pendulum-v1", {{"norm_reward", "true"}, {"hashes", "true"}}},
           {"Pendulum-v1", {{"norm_value", "running"}, {"hidden_sizes", "2"}}},
           {"Pendulum-v1", {{"norm_value", "popart"}, {"hashes", "true"}}},
           {"CartPole-v1", {{"shuffle", "block"}, {"hidden_sizes", "2"}}},
           {"Pendulum-v1", {{"norm_reward", "true"}, {"norm_obs", "true"}}}}) {
    SCOPED_TRACE(env_id + (options.empty() ? "" : ", " + options.back().first));
    const Options large{{"device", "cuda"}, {"num_envs", "64"}, {"num_steps", "32"}};
    const Config config = config_of(
        env_id,
        combine(combine(large, {{"num_minibatches", "1"}, {"total_timesteps", "20000"}}), options));
    std::size_t most = 0;
    emulation.limits.most_under_way = &most;
    const std::unique_ptr<Trainer> trainer = make_trainer(config, "cuda");
    for (std::size_t p = 0; p < config.phase_count(); ++p) iterate(*trainer);
    ASSERT_TRUE(trainer->capture().ok());
    const std::size_t samples = trainer->block().size();
    const std::size_t sets =
        config.algorithm == "ppo_rnd" ? 2 : 1;  // sets of permutations, at most
    const double held = 1.25 * static_cast<double>(most) +
                        static_cast<double>(sets * 2 * samples * sizeof(std::int32_t));
    const double planned = static_cast<double>(plan_memory(config, 2).take().passing);
    EXPECT_LT(held, planned);
    EXPECT_GT(held, 0.55 * planned);
  }
  Config narrow = config_of(
      "CartPole-v1", {{"memory_limit", "1"}, {"num_steps", "4000"}, {"total_timesteps", "60000"}});
  narrow.device = "cuda";
  const Status refused = Trainer::create(narrow, 1).status();
  EXPECT_NE(refused.message().find("MB copies to and from the device"), std::string::npos)
      << refused.message();
}

}  // namespace
}  // namespace broadloom::cuda
