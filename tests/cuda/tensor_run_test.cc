// Trainers with precision = tf32, whose bits are the device's own, compared with each other.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cuda/device_trainers.h"
#include "tests/env/observation_envs.h"

namespace broadloom::cuda {
namespace {

class TensorRun : public DeviceTrainer {
 protected:
  void SetUp() override {
    DeviceTrainer::SetUp();
    emulation.limits.shared_bytes = 227 * 1024;
  }
};

Options rounded(const Options& options) {
  return combine(options, {{"device", "cuda"}, {"precision", "tf32"}, {"max_episode_steps", "11"}});
}

struct Task {
  const char* env_id;
  Options options;
  const char* instruments;  // instruments for its loss
};
const std::vector<Task>& tasks() {
  EXPECT_TRUE(register_observation_envs());
  static const std::vector<Task> all{
      {"CartPole-v1", {}, "gradient,plasticity,policy"},
      {"Pendulum-v1", {{"shared_encoder", "true"}, {"norm_obs", "true"}}, "gradient,coverage"},
      {"CartPole-v1",
       {{"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "8"}, {"rnd_outputs", "4"}},
       "plasticity,policy"},
      {"Windy-v0", {{"norm_obs", "true"}}, "plasticity,policy"},  // a critic with rows of its own
      {"MinAtar/Breakout-v1", kTinyMinatar, "plasticity,coverage"}};
  return all;
}

TEST_F(TensorRun, ContinuesToTheBit) {
  for (const auto& [env_id, options, instruments] : tasks()) {
    const Config config = config_of(env_id, rounded(options));
    const std::unique_ptr<Trainer> whole = make_trainer(config, "cuda");
    for (int i = 0; i < 3; ++i) iterate(*whole);
    for (int cut = 0; cut < 3; ++cut) {
      SCOPED_TRACE(std::string(env_id) + " until " + std::to_string(cut));
      const std::unique_ptr<Trainer> before = make_trainer(config, "cuda");
      for (int i = 0; i < cut; ++i) iterate(*before);
      const std::unique_ptr<Trainer> after = make_trainer(config, "cuda");
      copy_state(*before, *after);
      for (int i = cut; i < 3; ++i) iterate(*after);
      expect_same_state(*whole, *after);
    }
  }
}

// Watching does not change the bits, and they differ from those of float32.
TEST_F(TensorRun, HasTheSameBitsWhileWatched) {
  for (const auto& [env_id, options, instruments] : tasks()) {
    SCOPED_TRACE(env_id);
    const Options plain = rounded(options);
    const Options seen{{"instruments", instruments}, {"instrument_every", "1"}, {"hashes", "true"}};
    const std::unique_ptr<Trainer> alone = make_trainer(config_of(env_id, plain), "cuda");
    const std::unique_ptr<Trainer> watched =
        make_trainer(config_of(env_id, combine(plain, seen)), "cuda");
    const std::unique_ptr<Trainer> exact =
        make_trainer(config_of(env_id, combine(plain, {{"precision", "fp32"}})), "cuda");
    for (int i = 0; i < 2; ++i) {
      for (Trainer* trainer : {alone.get(), watched.get(), exact.get()}) iterate(*trainer);
      EXPECT_TRUE(watched->instruments().measured());
    }
    expect_same_state(*alone, *watched);
    const std::size_t count = alone->network().parameter_count();
    EXPECT_FALSE(std::equal(alone->params(), alone->params() + count, exact->params()));
  }
}

TEST_F(TensorRun, CountsItsMemory) {
  if (device_is_real()) GTEST_SKIP() << "its memory is what it is";
  const Config config = config_of("MinAtar/Breakout-v1", rounded(kTinyMinatar));
  const std::size_t taken = make_trainer(config, "cuda")->device()->memory_bytes();
  emulation.limits.free_bytes = taken;
  EXPECT_EQ(make_trainer(config, "cuda")->device()->memory_bytes(), taken);
  emulation.limits.free_bytes = taken - 1;
  EXPECT_EQ(Trainer::create(config, 2).status().kind(), ErrorKind::kInvalidConfig);
}

TEST_F(TensorRun, IsRefusedIfADeviceLacksIt) {
  if (device_is_real()) GTEST_SKIP() << "it is what it is";
  const Config config = config_of("CartPole-v1", rounded({{"hidden_sizes", "640,640"}}));
  const auto refusal = [&] { return Trainer::create(config, 2).status().message(); };
  emulation.limits.shared_bytes = 48 * 1024;
  EXPECT_EQ(refusal(),
            "precision: got 'tf32', for which eight rows of a network with hidden_sizes = 640,640 "
            "and observations of 4 numbers take more shared memory than a block of this GPU has; "
            "set precision = fp32, or take narrower layers");
  // Acting takes more memory than learning here.
  const Config narrower = config_of("CartPole-v1", rounded({{"hidden_sizes", "636,644"}}));
  EXPECT_NE(Trainer::create(narrower, 2).status().message().find("636,644"), std::string::npos);
  emulation.limits.has_tf32 = false;
  EXPECT_EQ(refusal(),
            "precision: got 'tf32', which takes a GPU of compute capability 8.0 or later, and "
            "kernels compiled for one (-DBROADLOOM_CUDA_ARCHITECTURES: docs/gpu.md); set "
            "precision = fp32");
}

}  // namespace
}  // namespace broadloom::cuda
