// Blocks whose shape changes over a run, on an emulated device, beside the host's processor.
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

// Grows, shrinks below what it began with, and grows again; minibatches of its own in between, and
// widths of one shard and of two. Nine blocks.
const Options kChanging = shapes("13x16 @ 0, 70x4/50 @ 0.2, 3x24 @ 0.5, 20x16 @ 0.7", "2000");

// One, two, one and one block.
const Options kQuick = shapes("13x16 @ 0, 20x8/50 @ 0.1, 3x24 @ 0.5, 15x20 @ 0.55");

// To its end, through all shapes.
void expect_the_same_run(const std::string& env_id, const Options& options, bool hashes = true) {
  const Config config = config_of(env_id, options);
  EXPECT_EQ(config.run_stretches().size(), config.phase_count());
  expect_the_same(env_id, options, static_cast<int>(config.num_iterations()), hashes);
}

TEST_F(DeviceShapes, AreFollowed) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same_run("CartPole-v1", with(kNormalised, kQuick));
    expect_the_same_run("CartPole-v1", with(kPqn, kQuick));
  }
  expect_the_same_run("CartPole-v1", with(kNormalised, kChanging));
  expect_the_same_run("Pendulum-v1", with(with(kNormalised, kQuick), {{"shared_encoder", "true"}}));
}

TEST_F(DeviceShapes, AreFollowedWithoutWholeBlocks) {
  expect_the_same_run("CartPole-v1", with(kShort, kQuick), false);
  expect_the_same_run("Acrobot-v1", with(with(kNormalised, kQuick), {{"norm_adv", "batch"}}),
                      false);
}

// Schedules go by environment steps, and an update may end early or set the rate.
TEST_F(DeviceShapes, AreFollowedByEverySchedule) {
  expect_the_same_run("CartPole-v1", with(with(kShort, kQuick), {{"clip_schedule", "linear"},
                                                                 {"ent_schedule", "linear"},
                                                                 {"target_kl", "1e-3"}}));
  expect_the_same_run("CartPole-v1", with(with(kShort, kQuick), {{"lr_schedule", "adaptive"}}));
}

// A block of one step keeps whole stacks, others each frame once.
TEST_F(DeviceShapes, AreOfStacksOfFrames) {
  const Options stacks = with(kTinyMinatar, {{"env.frame_stack", "3"}});
  for (const char* schedule : {"3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.5", "3x1 @ 0, 2x5 @ 0.2"}) {
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      Options options = with(stacks, shapes(schedule, "60"));
      options.emplace_back("num_steps", schedule[2] == '4' ? "4" : "1");
      expect_the_same_run("MinAtar/Breakout-v1", options);
    }
  }
}

// What rests keeps its constants, its level, its disturbances and its age.
TEST_F(DeviceShapes, AreOfWorldsThatDiffer) {
  const Options worlds{{"strata.light.pole_mass", "0.05..0.1"},
                       {"strata.heavy.half_length", "0.5..1.5"},
                       {"curriculum", "light,heavy"},
                       {"curriculum_episodes", "2"},
                       {"disturb.obs_noise", "0.1"},
                       {"disturb.action_delay", "2"},
                       {"disturb.push_interval", "3"},
                       {"stagger_starts", "true"}};
  expect_the_same_run("CartPole-v1", with(with(kNormalised, worlds), kQuick));
}

TEST_F(DeviceShapes, AreSeenByInstruments) {
  const Options watched{{"instruments", "gradient,plasticity,policy,coverage,audit"},
                        {"instrument_every", "1"}};
  expect_the_same_run("CartPole-v1", with(with(kNormalised, watched), kQuick));
}

// Before a change, at one, and between two.
TEST_F(DeviceShapes, GoOnAfterAResume) {
  expect_same_after_resume("CartPole-v1", with(kNormalised, kQuick));
  expect_same_after_resume("Pendulum-v1", with(kShort, kQuick));
  Options stacks = with(kTinyMinatar, {{"env.frame_stack", "3"}});
  stacks = with(stacks, shapes("3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.3", "60"));
  expect_same_after_resume("MinAtar/Breakout-v1", stacks);
}

// The same trainer is put back before a change that it has made, or past one that it has not.
TEST_F(DeviceShapes, GoBackAndForth) {
  const Config config = config_of("CartPole-v1", with(kNormalised, kQuick));
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

// Rows n >= from of every array of the environments.
std::string rows_of(Trainer& trainer, std::size_t from) {
  EXPECT_TRUE(trainer.capture().ok());
  std::string bytes;
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.name.rfind("envs.", 0) != 0) continue;
    const std::size_t envs = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t row = tensor.bytes() / envs;
    bytes.append(static_cast<const char*>(tensor.data) + row * from, row * (envs - from));
  }
  return bytes;
}

TEST_F(DeviceShapes, LetEnvironmentsRestAsTheyAre) {
  const Options noise{{"disturb.obs_noise", "0.1"}, {"disturb.action_delay", "2"}};
  const std::unique_ptr<Trainer> device = make_trainer(
      config_of("CartPole-v1",
                with(with(kShort, noise), shapes("13x16 @ 0, 5x16 @ 0.3, 13x16 @ 0.6"))),
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
    Options options = with(kNormalised, {{"num_envs", envs}, {"num_steps", steps}});
    if (!schedule.empty()) options.emplace_back("shape_schedule", schedule);
    return bytes_of("CartPole-v1", options);
  };
  const std::size_t wide = bytes("80", "5", ""), tall = bytes("4", "200", "");
  const std::size_t both = bytes("80", "5", "80x5 @ 0, 4x200 @ 0.5");
  EXPECT_EQ(bytes("4", "200", "4x200 @ 0, 80x5 @ 0.5"), both);
  EXPECT_EQ(bytes("80", "5", "80x5 @ 0, 80x5 @ 0.5"), wide);
  EXPECT_EQ(bytes("80", "5", "80x5 @ 0, 40x2 @ 0.5"), wide);
  EXPECT_GT(both, std::max(wide, tall));  // environments of the one, transitions of the other
  EXPECT_LT(both, wide + tall);
}

// All of it is there from the start.
TEST_F(DeviceShapes, TakeNoMoreWhereTheyChange) {
  const std::unique_ptr<Trainer> device =
      make_trainer(config_of("CartPole-v1", with(kNormalised, kQuick)), "cuda");
  const std::size_t taken = device->device()->memory_bytes();
  while (!device->finished()) iterate(*device);
  EXPECT_EQ(device->device()->memory_bytes(), taken);
}

TEST_F(DeviceShapes, AreRefusedWhereTheLargestDoesNotFit) {
  if (device_is_real()) GTEST_SKIP() << "its memory is what it is";
  const Options stacks = with(kTinyMinatar, {{"env.frame_stack", "3"}});
  for (const auto& [env_id, options] : std::vector<std::pair<const char*, Options>>{
           {"CartPole-v1", with(kNormalised, kQuick)},
           {"MinAtar/Breakout-v1", with(stacks, shapes("3x4 @ 0, 5x1 @ 0.2, 2x7 @ 0.5", "60"))}}) {
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
