// Trainers on an emulated device and on the CPU, for tests that compare them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/math/isa.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "tests/cuda/emulated_runs.h"

namespace broadloom::cuda {

using Options = Overrides;

class DeviceTrainer : public ::testing::Test {
 protected:
  void SetUp() override {
    register_tested_device();
    if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  }
};

inline Config config_of(const std::string& env_id, const Options& options) {
  Overrides all{{"env_id", env_id},          {"num_envs", "13"},     {"num_steps", "16"},
                {"num_minibatches", "3"},    {"update_epochs", "2"}, {"hidden_sizes", "16,16"},
                {"total_timesteps", "2000"}, {"seed", "4"},          {"norm_obs", "false"},
                {"norm_reward", "false"}};
  all.insert(all.end(), options.begin(), options.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.value();
}

inline std::unique_ptr<Trainer> make_trainer(Config config, const char* device) {
  config.device = device;
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 2);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

// Named as the algorithm names itself.
inline const std::string& tested_device() {
  static const std::string name =
      device_is_real() ? make_trainer(config_of("CartPole-v1", {}), "cuda")->device()->name()
                       : "emulated on the host";
  return name;
}

inline void iterate(Trainer& trainer) {
  const Status status = trainer.iterate();
  ASSERT_TRUE(status.ok()) << status.message();
}

using Bits = std::vector<std::pair<std::string, std::uint64_t>>;

// All numbers of the last iteration, some of them NaN.
inline Bits numbers_of(const Trainer& trainer) {
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

inline std::vector<std::string> state_of(Trainer& trainer) {
  EXPECT_TRUE(trainer.capture().ok());
  std::vector<std::string> state;
  for (const TensorRef& tensor : trainer.state()) {
    state.push_back(tensor.name + " ");
    state.back().append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  return state;
}

// Compares without printing, since a difference would fill pages.
inline void expect_same_state(Trainer& host, Trainer& device) {
  const std::vector<std::string> a = state_of(host), b = state_of(device);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i]) << a[i].substr(0, a[i].find(' ')) << " differs after iteration "
                              << host.report().iteration;
  }
}

inline void expect_same_iteration(Trainer& host, Trainer& device) {
  EXPECT_EQ(numbers_of(host), numbers_of(device)) << "iteration " << host.report().iteration;
  ASSERT_EQ(host.hashes() == nullptr, device.hashes() == nullptr);
  if (host.hashes() == nullptr) return;
  EXPECT_EQ(host.hashes()->rows, device.hashes()->rows);
  EXPECT_EQ(host.hashes()->columns, device.hashes()->columns);
  EXPECT_EQ(host.hashes()->params, device.hashes()->params);
}

// hashes: also compare hashes of blocks, for which the device copies out whole blocks.
inline void expect_the_same(const std::string& env_id, Options options, int iterations = 3,
                            bool hashes = true) {
  options.emplace_back("hashes", hashes ? "true" : "false");
  const Config config = config_of(env_id, options);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  ASSERT_EQ(host->device(), nullptr);
  ASSERT_NE(device->device(), nullptr);
  EXPECT_EQ(device->device()->name(), tested_device());
  expect_same_state(*host, *device);
  for (int i = 0; i < iterations; ++i) {
    iterate(*host);
    iterate(*device);
    expect_same_iteration(*host, *device);
  }
  EXPECT_GT(host->episodes(), 0);
  expect_same_state(*host, *device);
}

inline constexpr FiberOrder kOrders[] = {FiberOrder::kForward, FiberOrder::kReversed,
                                         FiberOrder::kShuffled};

inline const Options kShort{{"max_episode_steps", "11"}};
inline const Options kPqn{{"algorithm", "pqn"}, {"max_episode_steps", "11"}, {"layer_norm", "off"}};

inline const Options kNormalised{
    {"max_episode_steps", "11"}, {"norm_obs", "true"}, {"norm_reward", "true"}};

// Byte images: a normalised convolution, and tiles that exceed shared memory.
inline const Options kMinatar{{"algorithm", "pqn"},   {"num_envs", "5"},
                              {"num_steps", "8"},     {"num_minibatches", "2"},
                              {"hidden_sizes", "12"}, {"max_episode_steps", "7"}};

inline const Options kTinyMinatar{{"algorithm", "pqn"},      {"num_envs", "3"},
                                  {"num_steps", "4"},        {"update_epochs", "1"},
                                  {"hidden_sizes", "4"},     {"num_minibatches", "1"},
                                  {"max_episode_steps", "3"}};

inline Options combine(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

inline TensorRef tensor_of(Trainer& trainer, const std::string& name) {
  for (TensorRef& tensor : trainer.state()) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

inline void copy_state(Trainer& source, Trainer& target) {
  ASSERT_TRUE(source.capture().ok());
  const std::vector<TensorRef> a = source.state(), b = target.state();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].bytes(), b[i].bytes());
    std::memcpy(b[i].data, a[i].data, a[i].bytes());
  }
  ASSERT_TRUE(target.state_restored().ok());
}

// Either side can resume a run of the other. Both have the same state before each cut, so what
// continues the device's state would continue the host's alike.
inline void expect_same_after_resume(const std::string& env_id, const Options& options) {
  const Config config = config_of(env_id, options);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  std::vector<std::unique_ptr<Trainer>> resumed;
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE("until " + std::to_string(i));
    expect_same_state(*host, *device);
    for (const char* second : {"cuda", "cpu"}) {
      resumed.push_back(make_trainer(config, second));
      copy_state(*device, *resumed.back());
      for (int rest = i; rest < 4; ++rest) iterate(*resumed.back());
    }
    iterate(*host);
    if (i < 3) iterate(*device);
  }
  for (std::size_t i = 0; i < resumed.size(); ++i) {
    SCOPED_TRACE("until " + std::to_string(i / 2) + ", then " + (i % 2 == 0 ? "cuda" : "cpu"));
    expect_same_state(*host, *resumed[i]);
  }
}

}  // namespace broadloom::cuda
