// Blocks that change their shape during a run, on an emulated device, compared with the CPU.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "tests/cuda/device_trainers.h"

namespace broadloom::cuda {
namespace {

class DeviceShapes : public DeviceTrainer {};

Options shapes(const std::string& schedule, const std::string& total_timesteps = "1000") {
  return {{"shape_schedule", schedule}, {"total_timesteps", total_timesteps}};
}

// Grows, shrinks below the first shape, and grows again. Own minibatches in between, and widths of
// one and two shards. Nine blocks.
const Options kChanging = shapes("13x16 @ 0, 70x4/50 @ 0.2, 3x24 @ 0.5, 20x16 @ 0.7", "2000");

// One, two, one and one block.
const Options kQuick = shapes("13x16 @ 0, 20x8/50 @ 0.1, 3x24 @ 0.5, 15x20 @ 0.55");

// Trains to the end, through all shapes.
void expect_the_same_run(const std::string& env_id, const Options& options, bool hashes = true) {
  const Config config = config_of(env_id, options);
  EXPECT_EQ(config.run_stretches().size(), config.phase_count());
  expect_the_same(env_id, options, static_cast<int>(config.num_iterations()), hashes);
}

TEST_F(DeviceShapes, AreFollowed) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same_run("CartPole-v1", combine(kNormalised, kQuick));
    expect_the_same_run("CartPole-v1", combine(kPqn, kQuick));
  }
  expect_the_same_run("CartPole-v1", combine(kNormalised, kChanging));
  expect_the_same_run("Pendulum-v1",
                      combine(combine(kNormalised, kQuick), {{"shared_encoder", "true"}}));
}

TEST_F(DeviceShapes, AreFollowedWithoutWholeBlocks) {
  expect_the_same_run("CartPole-v1", combine(kShort, kQuick), false);
  expect_the_same_run("Acrobot-v1", combine(combine(kNormalised, kQuick), {{"norm_adv", "batch"}}),
                      false);
}

// Schedules depend on environment steps. An update may end early or set the learning rate.
TEST_F(DeviceShapes, AreFollowedByEverySchedule) {
  expect_the_same_run("CartPole-v1", combine(combine(kShort, kQuick), {{"clip_schedule", "linear"},
                                                                       {"ent_schedule", "linear"},
                                                                       {"target_kl", "1e-3"}}));
  expect_the_same_run("CartPole-v1",
                      combine(combine(kShort, kQuick), {{"lr_schedule", "adaptive"}}));
}

// A block of one step stores whole stacks; others store each frame once.
TEST_F(DeviceShapes, HoldFrameStacks) {
  const Options stacks = combine(kTinyMinatar, {{"env.frame_stack", "3"}});
  for (const char* schedule : {"3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.5", "3x1 @ 0, 2x5 @ 0.2"}) {
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      Options options = combine(stacks, shapes(schedule, "60"));
      options.emplace_back("num_steps", schedule[2] == '4' ? "4" : "1");
      expect_the_same_run("MinAtar/Breakout-v1", options);
    }
  }
}

// Resting environments keep their constants, levels, disturbances and ages.
TEST_F(DeviceShapes, HoldDifferentWorlds) {
  const Options worlds{{"strata.light.pole_mass", "0.05..0.1"},
                       {"strata.heavy.half_length", "0.5..1.5"},
                       {"curriculum", "light,heavy"},
                       {"curriculum_episodes", "2"},
                       {"disturb.obs_noise", "0.1"},
                       {"disturb.action_delay", "2"},
                       {"disturb.push_interval", "3"},
                       {"stagger_starts", "true"}};
  expect_the_same_run("CartPole-v1", combine(combine(kNormalised, worlds), kQuick));
}

TEST_F(DeviceShapes, AreSeenByInstruments) {
  const Options watched{{"instruments", "gradient,plasticity,policy,coverage,audit"},
                        {"instrument_every", "1"}};
  expect_the_same_run("CartPole-v1", combine(combine(kNormalised, watched), kQuick));
}

// Resumes before a change, at one, and between two.
TEST_F(DeviceShapes, ContinueAfterAResume) {
  expect_same_after_resume("CartPole-v1", combine(kNormalised, kQuick));
  expect_same_after_resume("Pendulum-v1", combine(kShort, kQuick));
  Options stacks = combine(kTinyMinatar, {{"env.frame_stack", "3"}});
  stacks = combine(stacks, shapes("3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.3", "60"));
  expect_same_after_resume("MinAtar/Breakout-v1", stacks);
}

// Restores a trainer to before a past change of shape, or to after a later one.
TEST_F(DeviceShapes, GoBackAndForth) {
  const Config config = config_of("CartPole-v1", combine(kNormalised, kQuick));
  for (const int behind : {0, 2}) {
    const std::unique_ptr<Trainer> early = make_trainer(config, "cuda");
    const std::unique_ptr<Trainer> late = make_trainer(config, "cuda");
    for (int i = 0; i < behind; ++i) iterate(*early);
    for (int i = 0; i < 4; ++i) iterate(*late);
    copy_state(behind == 0 ? *early : *late, behind == 0 ? *late : *early);
    iterate(*early);
    iterate(*late);
    expect_same_state(*early, *late);
  }
}

// Rows n >= first of every array of the environments.
std::string rows_of(Trainer& trainer, std::size_t first) {
  EXPECT_TRUE(trainer.capture().ok());
  std::string bytes;
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.name.rfind("envs.", 0) != 0) continue;
    const std::size_t envs = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t row = tensor.bytes() / envs;
    bytes.append(static_cast<const char*>(tensor.data) + row * first, row * (envs - first));
  }
  return bytes;
}

TEST_F(DeviceShapes, LeaveRestingEnvironmentsUnchanged) {
  const Options noise{{"disturb.obs_noise", "0.1"}, {"disturb.action_delay", "2"}};
  const std::unique_ptr<Trainer> device = make_trainer(
      config_of("CartPole-v1",
                combine(combine(kShort, noise), shapes("13x16 @ 0, 5x16 @ 0.3, 13x16 @ 0.6"))),
      "cuda");
  int rested = 0;
  while (!device->finished()) {
    const std::string all = rows_of(*device, 0), beyond = rows_of(*device, 5);
    iterate(*device);
    const bool rest = device->block().N == 5;
    EXPECT_EQ(rows_of(*device, 5) == beyond, rest) << device->clock().iteration;
    EXPECT_NE(rows_of(*device, 0), all);
    rested += rest ? 1 : 0;
  }
  EXPECT_GE(rested, 3);
}

std::size_t bytes_of(const std::string& env_id, const Options& options) {
  return make_trainer(config_of(env_id, options), "cuda")->device()->memory_bytes();
}

TEST_F(DeviceShapes, TakeTheMemoryOfTheLargestOfEach) {
  const auto bytes = [](const std::string& envs, const std::string& steps,
                        const std::string& schedule) {
    Options options = combine(kNormalised, {{"num_envs", envs}, {"num_steps", steps}});
    if (!schedule.empty()) options.emplace_back("shape_schedule", schedule);
    return bytes_of("CartPole-v1", options);
  };
  const std::size_t wide = bytes("80", "5", ""), tall = bytes("4", "200", "");
  const std::size_t both = bytes("80", "5", "80x5 @ 0, 4x200 @ 0.5");
  EXPECT_EQ(bytes("4", "200", "4x200 @ 0, 80x5 @ 0.5"), both);
  EXPECT_EQ(bytes("80", "5", "80x5 @ 0, 80x5 @ 0.5"), wide);
  EXPECT_EQ(bytes("80", "5", "80x5 @ 0, 40x2 @ 0.5"), wide);
  EXPECT_GT(both, std::max(wide, tall));  // environments of one, transitions of the other
  EXPECT_LT(both, wide + tall);
}

// All memory is allocated at the start.
TEST_F(DeviceShapes, AllocateNothingAtAChange) {
  const std::unique_ptr<Trainer> device =
      make_trainer(config_of("CartPole-v1", combine(kNormalised, kQuick)), "cuda");
  const std::size_t taken = device->device()->memory_bytes();
  while (!device->finished()) iterate(*device);
  EXPECT_EQ(device->device()->memory_bytes(), taken);
}

TEST_F(DeviceShapes, AreRefusedIfTheLargestDoesNotFit) {
  if (device_is_real()) GTEST_SKIP() << "its memory is what it is";
  const Options stacks = combine(kTinyMinatar, {{"env.frame_stack", "3"}});
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", combine(kNormalised, kQuick)},
           {"MinAtar/Breakout-v1",
            combine(stacks, shapes("3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.5", "60"))}}) {
    emulation = {};
    const std::size_t taken = bytes_of(env_id, options);
    emulation.limits.free_bytes = taken;
    EXPECT_EQ(bytes_of(env_id, options), taken);
    emulation.limits.free_bytes = taken - 1;
    Config config = config_of(env_id, options);
    config.device = "cuda";
    const Status status = Trainer::create(config, 1).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    const std::string begins =
        "device = cuda: blocks of shape_schedule = " + to_text(config.shape_schedule) + " take ";
    EXPECT_EQ(status.message().find(begins), 0u) << status.message();
    EXPECT_NE(status.message().find("make its shapes smaller"), std::string::npos);
  }
}

}  // namespace
}  // namespace broadloom::cuda
