// Trainers whose device is emulated, beside those of the host's processor: the same runs, to the
// bit, from the first block to a resume; and what a device refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/math/isa.h"
#include "broadloom/train/trainer.h"
#include "tests/cuda/emulated_runs.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom::cuda {
namespace {

using Options = Overrides;

class DeviceTrainer : public ::testing::Test {
 protected:
  void SetUp() override {
    register_emulated_device();
    if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  }
};

Config config_of(const std::string& env_id, const Options& options) {
  Overrides all{{"env_id", env_id},          {"num_envs", "13"},     {"num_steps", "16"},
                {"num_minibatches", "3"},    {"update_epochs", "2"}, {"hidden_sizes", "16,16"},
                {"total_timesteps", "2000"}, {"seed", "4"},          {"norm_obs", "false"},
                {"norm_reward", "false"}};
  all.insert(all.end(), options.begin(), options.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.value();
}

std::unique_ptr<Trainer> make_trainer(Config config, const char* device) {
  config.device = device;
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 2);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

void iterate(Trainer& trainer) {
  const Status status = trainer.iterate();
  ASSERT_TRUE(status.ok()) << status.message();
}

using Bits = std::vector<std::pair<std::string, std::uint64_t>>;

// Every number of the last iteration, of which some are not numbers.
Bits numbers_of(const Trainer& trainer) {
  Bits bits;
  const auto take = [&](const NumberInfo& info, double value) {
    bits.emplace_back(info.name, std::bit_cast<std::uint64_t>(value));
  };
  visit_numbers(trainer.report(), [&](const NumberInfo& info, auto value) {
    take(info, static_cast<double>(value));
  });
  if (trainer.instruments().measured()) trainer.instruments().visit_numbers(take);
  return bits;
}

std::vector<std::string> state_of(Trainer& trainer) {
  EXPECT_TRUE(trainer.capture().ok());
  std::vector<std::string> state;
  for (const TensorRef& tensor : trainer.state()) {
    state.push_back(tensor.name + " ");
    state.back().append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  return state;
}

// Not as text, of which a difference would show pages.
void expect_same_state(Trainer& host, Trainer& device) {
  const std::vector<std::string> a = state_of(host), b = state_of(device);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i]) << a[i].substr(0, a[i].find(' ')) << " differs after iteration "
                              << host.report().iteration;
  }
}

void expect_same_iteration(Trainer& host, Trainer& device) {
  EXPECT_EQ(numbers_of(host), numbers_of(device)) << "iteration " << host.report().iteration;
  ASSERT_EQ(host.hashes() == nullptr, device.hashes() == nullptr);
  if (host.hashes() == nullptr) return;
  EXPECT_EQ(host.hashes()->rows, device.hashes()->rows);
  EXPECT_EQ(host.hashes()->columns, device.hashes()->columns);
  EXPECT_EQ(host.hashes()->params, device.hashes()->params);
}

// hashes: with those of blocks, for which the device hands out all of a block.
void expect_the_same(const std::string& env_id, Options options, int iterations = 3,
                     bool hashes = true) {
  options.emplace_back("hashes", hashes ? "true" : "false");
  const Config config = config_of(env_id, options);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  ASSERT_EQ(host->device(), nullptr);
  ASSERT_NE(device->device(), nullptr);
  EXPECT_EQ(device->device()->name(), "emulated on the host");
  expect_same_state(*host, *device);
  for (int i = 0; i < iterations; ++i) {
    iterate(*host);
    iterate(*device);
    expect_same_iteration(*host, *device);
  }
  EXPECT_GT(host->episodes(), 0);
  expect_same_state(*host, *device);
}

constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                  FiberOrder::kShuffled};

const Options kShort{{"max_episode_steps", "11"}};
const Options kPqn{{"algorithm", "pqn"}, {"max_episode_steps", "11"}, {"layer_norm", "off"}};

TEST_F(DeviceTrainer, TrainsCartPoleByPpo) {
  for (const FiberOrder each : kOrders) {
    emulation.order = each;
    expect_the_same("CartPole-v1", kShort);
  }
}

TEST_F(DeviceTrainer, TrainsCartPoleByPqn) {
  for (const FiberOrder each : kOrders) {
    emulation.order = each;
    expect_the_same("CartPole-v1", kPqn);
  }
}

TEST_F(DeviceTrainer, TrainsPqnWithItsDefaults) {
  expect_the_same("CartPole-v1",
                  {{"algorithm", "pqn"}, {"max_episode_steps", "11"}, {"norm_obs", "true"}});
}

TEST_F(DeviceTrainer, TrainsPendulumByPpo) {
  for (const FiberOrder each : kOrders) {
    emulation.order = each;
    expect_the_same("Pendulum-v1", kShort);
  }
}

TEST_F(DeviceTrainer, TrainsEveryEnvironmentOfVectors) {
  for (const char* env_id : {"Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0",
                             "CliffWalking-v1", "FrozenLake-v1", "Taxi-v3"}) {
    SCOPED_TRACE(env_id);
    expect_the_same(env_id, kShort, 2);
  }
}

// Of images, which are bytes: a convolution, normalised, and what shared memory does not hold.
const Options kMinatar{{"algorithm", "pqn"},   {"num_envs", "5"},
                       {"num_steps", "8"},     {"num_minibatches", "2"},
                       {"hidden_sizes", "12"}, {"max_episode_steps", "7"}};

const Options kTinyMinatar{{"algorithm", "pqn"},      {"num_envs", "3"},
                           {"num_steps", "4"},        {"update_epochs", "1"},
                           {"hidden_sizes", "4"},     {"num_minibatches", "1"},
                           {"max_episode_steps", "3"}};

TEST_F(DeviceTrainer, TrainsBreakoutByPqn) {
  for (const FiberOrder each : kOrders) {
    emulation.order = each;
    expect_the_same("MinAtar/Breakout-v1", kMinatar, 2);
  }
}

TEST_F(DeviceTrainer, TrainsEveryGameOfMinatar) {
  for (const char* env_id : {"MinAtar/Asterix-v1", "MinAtar/Freeway-v1", "MinAtar/Seaquest-v1",
                             "MinAtar/SpaceInvaders-v1"}) {
    SCOPED_TRACE(env_id);
    expect_the_same(env_id, kMinatar, 2);
  }
}

Options with(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// The body that PQN has by default, and episodes without a limit.
TEST_F(DeviceTrainer, TrainsThePublishedBodyOfMinatar) {
  expect_the_same("MinAtar/Breakout-v0", with(kTinyMinatar, {{"hidden_sizes", "128"}}));
  expect_the_same("MinAtar/Breakout-v1", with(kMinatar, {{"max_episode_steps", "0"}}), 3);
}

// Bodies apart, and images as if they were vectors.
TEST_F(DeviceTrainer, TrainsBreakoutByPpo) {
  const Options ppo = with(kMinatar, {{"algorithm", "ppo"}, {"encoder", "minatar"}});
  expect_the_same("MinAtar/Breakout-v1", ppo, 2);
  expect_the_same("MinAtar/Breakout-v0", with(ppo, {{"layer_norm", "all"}}), 2, false);
  expect_the_same("MinAtar/Breakout-v1", with(ppo, {{"encoder", "mlp"}}), 2);
}

const Options kNormalised{
    {"max_episode_steps", "11"}, {"norm_obs", "true"}, {"norm_reward", "true"}};

TEST_F(DeviceTrainer, NormalisesObservationsAndRewards) {
  for (const FiberOrder each : kOrders) {
    emulation.order = each;
    expect_the_same("CartPole-v1", kNormalised);
  }
  expect_the_same("Pendulum-v1", kNormalised);
  expect_the_same("FrozenLake-v1", kNormalised, 2);
}

// More environments than the rows of a shard, of which the last is not full, and of a thread block.
TEST_F(DeviceTrainer, NormalisesShardsOfAllSizes) {
  for (const char* num_envs : {"1", "40", "70"}) {
    SCOPED_TRACE(num_envs);
    expect_the_same("Acrobot-v1", with(kNormalised, {{"num_envs", num_envs}}));
  }
  expect_the_same("CartPole-v1", with(kPqn, {{"norm_obs", "true"}}));
  expect_the_same("CartPole-v1", with(kNormalised, {{"reward_scale", "0.3"}, {"clip_obs", "0.2"}}),
                  3, false);
}

TEST_F(DeviceTrainer, StopsAnUpdateAtItsTargetKl) {
  const Options options =
      with(kShort, {{"target_kl", "1e-6"}, {"update_epochs", "4"}, {"learning_rate", "1e-2"}});
  expect_the_same("CartPole-v1", options);
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", options), "cuda");
  iterate(*device);
  EXPECT_LT(device->report().epochs, 4);
}

TEST_F(DeviceTrainer, AdaptsItsLearningRate) {
  const Options options = with(
      kShort, {{"lr_schedule", "adaptive"}, {"desired_kl", "1e-4"}, {"learning_rate", "1e-3"}});
  expect_the_same("CartPole-v1", options);
  expect_the_same("Pendulum-v1", with(options, {{"target_kl", "1e-3"}}));
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", options), "cuda");
  for (int i = 0; i < 2; ++i) iterate(*device);
  EXPECT_NE(device->report().learning_rate, 1e-3);
}

TEST_F(DeviceTrainer, NormalisesTheAdvantagesOfABatch) {
  expect_the_same("CartPole-v1", with(kShort, {{"norm_adv", "batch"}}));
  expect_the_same("Pendulum-v1", with(kShort, {{"norm_adv", "batch"}, {"num_minibatches", "1"}}));
}

TEST_F(DeviceTrainer, NeedsNoWholeBlocks) {
  expect_the_same("CartPole-v1", kShort, 3, false);
  expect_the_same("Pendulum-v1", kShort, 3, false);
}

TEST_F(DeviceTrainer, FollowsTheRestOfTheConfig) {
  Options options = kShort;
  for (const auto& [key, value] : Options{{"stagger_starts", "true"},
                                          {"seed_families", "1"},
                                          {"reward_scale", "0.3"},
                                          {"clip_schedule", "linear"},
                                          {"ent_schedule", "linear"},
                                          {"norm_adv", "off"},
                                          {"truncation_mode", "zero"},
                                          {"lr_schedule", "constant"}}) {
    options.emplace_back(key, value);
  }
  expect_the_same("CartPole-v1", options);
}

Options watched(Options options, const std::string& instruments) {
  options.emplace_back("instruments", instruments);
  options.emplace_back("instrument_every", "2");
  return options;
}

// Those that look at blocks, policies and environments, and those that watch updates from inside.
TEST_F(DeviceTrainer, IsSeenByInstruments) {
  const Options seen_options = watched(kShort, "gradient,plasticity,policy,coverage,audit");
  expect_the_same("CartPole-v1", seen_options, 4);
  expect_the_same("Pendulum-v1", seen_options, 2);
  expect_the_same("CartPole-v1", watched(kPqn, "plasticity,coverage"), 2);
  expect_the_same("MinAtar/Breakout-v1", watched(kMinatar, "plasticity,coverage"), 2);
  const Options ppo = with(kTinyMinatar, {{"algorithm", "ppo"}, {"encoder", "minatar"}});
  expect_the_same("MinAtar/Asterix-v1", watched(ppo, "gradient,plasticity,policy,coverage,audit"),
                  2);
  const std::unique_ptr<Trainer> plain = make_trainer(config_of("CartPole-v1", kShort), "cuda");
  const std::unique_ptr<Trainer> seen =
      make_trainer(config_of("CartPole-v1", seen_options), "cuda");
  for (int i = 0; i < 3; ++i) {
    iterate(*plain);
    iterate(*seen);
  }
  expect_same_state(*plain, *seen);
}

TEST_F(DeviceTrainer, LeavesAPolicyToEvaluate) {
  const Config config = config_of("CartPole-v1", kShort);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  for (int i = 0; i < 2; ++i) {
    iterate(*host);
    iterate(*device);
  }
  const EvalOptions options{.episodes = 5, .seed = 1, .threads = 2};
  const Result<EvalResult> a = evaluate_policy(host->policy(), options);
  const Result<EvalResult> b = evaluate_policy(device->policy(), options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.value().mean_return, b.value().mean_return);
  EXPECT_EQ(a.value().std_return, b.value().std_return);
}

void copy_state(Trainer& from, Trainer& to) {
  ASSERT_TRUE(from.capture().ok());
  const std::vector<TensorRef> a = from.state(), b = to.state();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].bytes(), b[i].bytes());
    std::memcpy(b[i].data, a[i].data, a[i].bytes());
  }
  ASSERT_TRUE(to.state_restored().ok());
}

// Any of the two may go on where any has stopped.
void expect_same_after_resume(const std::string& env_id, const Options& options) {
  const Config config = config_of(env_id, options);
  const std::unique_ptr<Trainer> whole = make_trainer(config, "cpu");
  for (int i = 0; i < 4; ++i) iterate(*whole);
  for (const auto& [first, second] : std::vector<std::pair<const char*, const char*>>{
           {"cuda", "cuda"}, {"cuda", "cpu"}, {"cpu", "cuda"}}) {
    for (int cut = 0; cut < 4; ++cut) {
      const std::unique_ptr<Trainer> before = make_trainer(config, first);
      for (int i = 0; i < cut; ++i) iterate(*before);
      const std::unique_ptr<Trainer> after = make_trainer(config, second);
      copy_state(*before, *after);
      for (int i = cut; i < 4; ++i) iterate(*after);
      SCOPED_TRACE(std::string(first) + " until " + std::to_string(cut) + ", then " + second);
      expect_same_state(*whole, *after);
    }
  }
}

TEST_F(DeviceTrainer, GoesOnAfterAResume) {
  expect_same_after_resume("CartPole-v1", kShort);
  expect_same_after_resume("CartPole-v1", kPqn);
  expect_same_after_resume("MinAtar/Seaquest-v1", kTinyMinatar);
  expect_same_after_resume("Pendulum-v1", with(kNormalised, {{"lr_schedule", "adaptive"}}));
}

// The same trainer is put back to an earlier state, over what its device has.
TEST_F(DeviceTrainer, GoesBackToAnEarlierState) {
  const Config config = config_of("CartPole-v1", kNormalised);
  const std::unique_ptr<Trainer> early = make_trainer(config, "cuda");
  const std::unique_ptr<Trainer> late = make_trainer(config, "cuda");
  for (int i = 0; i < 3; ++i) iterate(*late);
  copy_state(*early, *late);
  for (int i = 0; i < 2; ++i) {
    iterate(*early);
    iterate(*late);
  }
  expect_same_state(*early, *late);
}

TensorRef tensor_of(Trainer& trainer, const std::string& name) {
  for (TensorRef& tensor : trainer.state()) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

// Processors choose the sign of what is not a number.
std::string without_signs(std::string text) {
  for (std::size_t at = 0; (at = text.find("-nan")) != std::string::npos;) text.erase(at, 1);
  return text;
}

// A moment that is not a number spoils the first step, which the second one sees.
TEST_F(DeviceTrainer, GivesUpWhereTheProcessorDoes) {
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
  EXPECT_EQ(device->iterate().message(), of_device.message());
  EXPECT_EQ(device->capture().message(), of_device.message());  // its moments are spoilt
  const std::unique_ptr<Trainer> whole = make_trainer(config, "cpu");
  copy_state(*whole, *device);
  copy_state(*whole, *host);
  for (Trainer* trainer : {whole.get(), device.get(), host.get()}) iterate(*trainer);
  expect_same_state(*whole, *device);
  expect_same_state(*whole, *host);  // nothing of the failed block is left
}

TEST_F(DeviceTrainer, NamesWhatHasNoValue) {
  const std::unique_ptr<Trainer> device = make_trainer(config_of("CartPole-v1", kShort), "cuda");
  const TensorRef params = tensor_of(*device, "learner.params");
  std::fill_n(static_cast<float*>(params.data), params.count(),
              std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(device->state_restored().ok());
  const Status status = device->iterate();
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric);
  EXPECT_EQ(status.message().find("value of environment 0 is not finite at its step 0"), 0u)
      << status.message();
}

std::string refusal(const std::string& env_id, const Options& options) {
  Overrides all{{"device", "cuda"}};
  all.insert(all.end(), options.begin(), options.end());
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config_of(env_id, all), 1);
  if (trainer.ok()) return "";
  EXPECT_EQ(trainer.status().kind(), ErrorKind::kInvalidConfig);
  return trainer.status().message();
}

TEST_F(DeviceTrainer, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal("CartPole-v1", {{"shared_encoder", "true"}}),
            "device = cuda: got shared_encoder = true, which kernels cannot do yet; set "
            "shared_encoder = false, or set device = cpu");
  struct Refused {
    const char* env_id;
    Options options;
    const char* got;
  };
  for (const Refused& refused : std::vector<Refused>{
           {"CartPole-v1", {{"shape_schedule", "13x16 @ 0, 13x8 @ 0.5"}}, "shape_schedule"},
           {"CartPole-v1", {{"algorithm", "ppo_rnd"}}, "algorithm = ppo_rnd"},
           {"CartPole-v1", {{"hidden_sizes", "256,64"}}, "hidden_sizes = 256,64"},
           {"CartPole-v1", {{"hidden_sizes", "8,8,8,8,8"}}, "at most 4 layers"},
           {"CartPole-v1", {{"strata.a.half_length", "0.4..0.6"}}, "strata"},
           {"CartPole-v1", {{"disturb.action_delay", "1"}}, "disturbances"},
           {"MinAtar/Breakout-v1", {{"encoder", "impala"}}, "encoder = impala"},
           {"MinAtar/Breakout-v1", {{"env.frame_stack", "2"}}, "env.frame_stack = 2"},
       }) {
    const std::string message = refusal(refused.env_id, refused.options);
    EXPECT_NE(message.find(refused.got), std::string::npos) << refused.got << ": " << message;
    EXPECT_NE(message.find("device = c"), std::string::npos) << message;
  }
}

// What is counted before anything is made is what is then allocated, to the byte.
TEST_F(DeviceTrainer, RefusesWhatDoesNotFitItsMemory) {
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", kPqn},
           {"Pendulum-v1", kNormalised},
           {"MinAtar/Asterix-v1", {{"algorithm", "pqn"}, {"max_episode_steps", "11"}}}}) {
    emulation = {};
    const Config config = config_of(env_id, options);
    const std::size_t taken = make_trainer(config, "cuda")->device()->memory_bytes();
    EXPECT_GT(taken, std::size_t{13 * 16 * 4 * 4});
    emulation.free_bytes = taken;
    EXPECT_EQ(make_trainer(config, "cuda")->device()->memory_bytes(), taken);
    emulation.free_bytes = taken - 1;
    const std::string message = refusal(env_id, options);
    EXPECT_EQ(message.find("device = cuda: 13 environments and 16 steps take"), 0u) << message;
  }
}

TEST_F(DeviceTrainer, RefusesSeveralRanks) {
  const Config config = config_of("CartPole-v1", {{"device", "cuda"}});
  ThreadWorld world(2);
  world.run([&](Ranks& ranks) {
    const Status status = Trainer::create(config, 1, ranks).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("got 2 ranks"), std::string::npos) << status.message();
  });
}

}  // namespace
}  // namespace broadloom::cuda
