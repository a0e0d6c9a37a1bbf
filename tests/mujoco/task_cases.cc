// Gymnasium's MuJoCo tasks as registered environments: contract, bits, resumes, and failures of the
// physics. (tests/oracle compares them with Gymnasium.)
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bridges/bridges.h"
#include "bridges/mujoco/gymnasium/tasks.h"
#include "bridges/mujoco/task_envs.h"
#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/mujoco/training.h"
#include "tests/train/folder.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Released by the same operator delete (std::stable_sort allocates its buffer this way).
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace broadloom {
namespace {

std::vector<std::string> task_ids() {
  register_bridges();
  std::vector<std::string> ids;
  for (const EnvEntry& entry : mujoco::gymnasium_tasks()) ids.push_back(entry.spec.id);
  return ids;
}

Result<std::unique_ptr<VecEnv>> made(const std::string& id, const Overrides& options = {},
                                     const VecEnvOptions& asked = {}) {
  register_bridges();
  return make_vec_env(id, options, asked);
}

class MujocoTask : public ::testing::TestWithParam<std::string> {};

TEST_P(MujocoTask, PassesTheConformanceChecks) {
  ConformanceOptions options;
  options.time_limit = 10;
  options.num_steps = 21;
  options.allocations = [] { return allocations.load(); };
  const ConformanceReport report = check_vec_env(
      [&](const VecEnvOptions& asked) { return made(GetParam(), {}, asked); }, options);
  EXPECT_EQ(report.findings(), std::vector<std::string>());
}

TEST_P(MujocoTask, HasTheSpecKnownWithoutTheModel) {
  const Result<EnvSpec> early = env_spec(GetParam(), {});
  ASSERT_TRUE(early.ok()) << early.status().message();
  const Result<std::unique_ptr<VecEnv>> envs = made(GetParam());
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  const EnvSpec& spec = envs.value()->spec();
  EXPECT_TRUE(same_shape(spec.observation, early.value().observation));
  EXPECT_EQ(spec.action.low, early.value().action.low);
  EXPECT_EQ(spec.action.high, early.value().action.high);
  EXPECT_EQ(spec.end_reasons, early.value().end_reasons);
  EXPECT_EQ(early.value().engine, "");
  EXPECT_EQ(spec.engine.rfind("MuJoCo 4.0.0, ", 0), 0u) << spec.engine;
}

TEST_P(MujocoTask, DrawsItself) {
  const Result<std::unique_ptr<VecEnv>> envs = made(GetParam());
  ASSERT_TRUE(envs.ok());
  Drawing drawing;
  capability<Drawable>(*envs.value())->draw(0, nullptr, drawing);
  EXPECT_GT(drawing.shapes.size(), 3u);
  EXPECT_LT(drawing.left, drawing.right);
}

// The reward of a step is the sum of the task's terms, also at an episode's end.
TEST_P(MujocoTask, SumsItsRewardTerms) {
  VecEnvOptions options;
  options.num_envs = 4;
  options.max_episode_steps = 30;
  const Result<std::unique_ptr<VecEnv>> envs = made(GetParam(), {}, options);
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  expect_terms_add_up(*envs.value(), 100, [](double sum) { return sum; });
}

INSTANTIATE_TEST_SUITE_P(Gymnasium, MujocoTask, ::testing::ValuesIn(task_ids()),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('-'));
                         });

// Ant's reward depends on more than the physics' state, and Hopper's episodes end often.
TEST(MujocoTraining, HasTheSameBitsForAnyNumberOfThreads) {
  for (const char* id : {"Ant-v5", "Hopper-v5"}) expect_same_bits_on_any_threads(config_of(id));
}

TEST(MujocoTraining, MayBeginStaggeredByAge) {
  VecEnvOptions options{.num_envs = 4, .seed = 5};
  const std::unique_ptr<VecEnv> fresh = made("HalfCheetah-v5", {}, options).take();
  options.stagger_starts = true;
  options.stagger_by = StaggerBy::kAge;
  const std::unique_ptr<VecEnv> aged = made("HalfCheetah-v5", {}, options).take();
  std::vector<float> aged_observations(4 * 17), fresh_observations(aged_observations.size());
  aged->observe(0, 4, aged_observations.data());
  fresh->observe(0, 4, fresh_observations.data());
  EXPECT_EQ(aged_observations, fresh_observations);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(aged->episode_step(i), 250 * i);
}

TEST(MujocoTraining, ContinuesFromASavedState) {
  for (const char* id : {"Ant-v5", "Humanoid-v5", "InvertedDoublePendulum-v5"})
    expect_continues_from_saved_state(config_of(id));
}

class MujocoInFolder : public InFolder {
 protected:
  // A cart whose spring is too stiff for the timestep when it leaves the middle.
  std::string stiff_model() const {
    std::ofstream(at("stiff.xml")) << "<mujoco><option timestep='0.1'/><worldbody><body><joint "
                                      "name='spring' type='slide' axis='1 0 0' stiffness='1e9'/>"
                                      "<geom size='0.1'/></body></worldbody><actuator><motor "
                                      "joint='spring'/></actuator></mujoco>";
    return at("stiff.xml");
  }
};

// Steps until an episode ends or a step fails, at most 200 times.
struct Played {
  Status status;
  bool terminated = false;
  int reason = -1, steps = 0;
  float reward = 0.0f;
};
Played play(VecEnv& envs) {
  Played out;
  const auto width = static_cast<std::size_t>(envs.spec().observation_size());
  std::vector<float> action(static_cast<std::size_t>(envs.spec().action_size())), seen(width),
      last(width);
  std::uint8_t terminated = 0, truncated = 0;
  EpisodeEnd end;
  StepRows rows{action.data(), seen.data(), &out.reward, &terminated,
                &truncated,    last.data(), &end};
  while (out.steps < 200 && out.status.ok() && terminated == 0) {
    out.status = envs.step(0, 1, rows);
    out.steps += 1;
  }
  out.terminated = terminated != 0;
  out.reason = end.reason;
  return out;
}

TEST_F(MujocoInFolder, EndsTheEpisodeIfThePhysicsBreaksDown) {
  Result<std::unique_ptr<VecEnv>> envs = made("HalfCheetah-v5", {{"xml_file", stiff_model()}});
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  const Played played = play(*envs.value());
  EXPECT_TRUE(played.status.ok()) << played.status.message();
  EXPECT_TRUE(played.terminated);
  EXPECT_EQ(envs.value()->spec().end_reasons.at(static_cast<std::size_t>(played.reason)),
            "unstable");
  EXPECT_EQ(played.reward, 0.0f);
  EXPECT_EQ(envs.value()->episode_step(0), 0) << "a new episode";
}

TEST_F(MujocoInFolder, EndsTheRunOnRequestIfThePhysicsBreaksDown) {
  Result<std::unique_ptr<VecEnv>> envs =
      made("HalfCheetah-v5", {{"xml_file", stiff_model()}, {"on_unstable", "stop"}});
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  const Played played = play(*envs.value());
  EXPECT_EQ(played.status.kind(), ErrorKind::kNumeric);
  const std::string& words = played.status.message();
  for (const char* word : {"environment 0", "step", "joint 'spring'", "on_unstable"}) {
    EXPECT_NE(words.find(word), std::string::npos) << words;
  }
}

TEST_F(MujocoInFolder, ContinuesOnRequestIfThePhysicsBreaksDown) {
  Result<std::unique_ptr<VecEnv>> envs =
      made("HalfCheetah-v5", {{"xml_file", stiff_model()}, {"on_unstable", "go_on"}});
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  const Played played = play(*envs.value());
  EXPECT_TRUE(played.status.ok()) << played.status.message();
  EXPECT_EQ(played.steps, 200);
}

TEST_F(MujocoInFolder, RefusesModelsThatDoNotFitTheTask) {
  EXPECT_NE(made("Reacher-v5", {{"xml_file", stiff_model()}})
                .status()
                .message()
                .find("expected at least 4"),
            std::string::npos);
  EXPECT_EQ(made("Hopper-v5", {{"xml_file", "hoper.xml"}}).status().kind(), ErrorKind::kNotFound);
  EXPECT_NE(made("Ant-v5", {{"main_body", "hat"}}).status().message().find("no body named 'hat'"),
            std::string::npos);
  EXPECT_NE(made("Hopper-v5", {{"strata.a.healthy_reward", "1..2"}})
                .status()
                .message()
                .find("healthy_reward"),
            std::string::npos);
  EXPECT_FALSE(made("Hopper-v5", {{"healthy_z_range", "2,1"}}).ok());
}

}  // namespace
}  // namespace broadloom
