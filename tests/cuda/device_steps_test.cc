// Simulators that step in the memory of an emulated device, which is the host's, compared with
// their steps on the CPU.
// sanitizers: address
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/device_steps.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/cuda/device_trainers.h"
#include "tests/env/observation_envs.h"
#include "tests/env/simulators.h"
#include "tests/support/folders.h"
#include "tests/support/release_only.h"

namespace broadloom::cuda {
namespace {

// Changes the results of a step, counted from 0.
using Change = std::function<Status(int step, const DeviceStepRows& rows)>;

// Environments whose device has a copy of its own, in the host's memory. Between TAKE and BRING the
// host's copy is old.
class OnDevice final : public Simulator, public DeviceSteps, public ActionMasks {
 public:
  OnDevice(std::unique_ptr<VecEnv> inner, std::unique_ptr<VecEnv> device, const std::string& id,
           VecEnvTraits traits, Change change)
      : Simulator(std::move(inner), id, traits),
        device_(std::move(device)),
        change_(std::move(change)),
        ends_(static_cast<std::size_t>(num_envs())) {}

  Status step(int begin, int end, const StepRows& rows) override {
    ++host_steps;
    return inner().step(begin, end, rows);
  }
  Status begin_anew(std::uint64_t) override {  // forgets what the device did
    ++begun_anew;
    return {};
  }
  bool can_begin_anew() const override { return true; }
  Status take_to_device(void*) override {
    ++taken;
    return copy(inner(), *device_);
  }
  Status bring_from_device(void*) override { return copy(*device_, inner()); }
  Status observe_on_device(const DeviceStepRows& rows, void*) override {
    device_->observe(0, num_envs(), rows_at(rows.observations, spec().observation));
    if (rows.critic_observations != nullptr) {
      device_->observe_critic(0, num_envs(),
                              rows_at(rows.critic_observations, spec().critic_observation));
    }
    return show_masks(rows);
  }
  Status step_on_device(const DeviceStepRows& rows, void*) override {
    const Space &seen = spec().observation, &critic = spec().critic_observation;
    BROADLOOM_TRY(
        device_->step(0, num_envs(),
                      {rows.actions, rows_at(rows.observations, seen), rows.rewards,
                       rows.terminated, rows.truncated, rows_at(rows.final_observations, seen),
                       ends_.data(), rows_at(rows.critic_observations, critic),
                       rows_at(rows.final_critic_observations, critic)}));
    for (std::size_t n = 0; n < ends_.size(); ++n) {
      rows.reasons[n] = static_cast<std::uint8_t>(ends_[n].reason);
      rows.successes[n] = ends_[n].success == 1 ? 1 : 0;
    }
    BROADLOOM_TRY(show_masks(rows));
    return change_ ? change_(steps++, rows) : Status();
  }
  Status took_block(int T, const std::uint8_t* terminated, const std::uint8_t* truncated) override {
    for (int i = 0; i < T * num_envs(); ++i) ended += terminated[i] + truncated[i];
    return {};
  }
  void valid_actions(int begin, int end, std::uint8_t* flags) const override {
    capability<ActionMasks>(inner())->valid_actions(begin, end, flags);
  }
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    return std::make_unique<OnDevice>(make_another(inner(), options),
                                      make_another(inner(), options), spec().id, traits(), change_);
  }

  int taken = 0, steps = 0, ended = 0, host_steps = 0, begun_anew = 0;

 private:
  static Status copy(VecEnv& source, VecEnv& target) {
    BROADLOOM_TRY(source.capture());
    std::vector<TensorRef> from_tensors, to_tensors;
    source.append_state("envs", from_tensors);
    target.append_state("envs", to_tensors);
    for (std::size_t i = 0; i < from_tensors.size(); ++i) {
      std::memcpy(to_tensors[i].data, from_tensors[i].data, from_tensors[i].bytes());
    }
    return target.state_restored();
  }
  Status show_masks(const DeviceStepRows& rows) const {
    if (rows.valid_actions == nullptr) return {};
    capability<ActionMasks>(*device_)->valid_actions(0, num_envs(), rows.valid_actions);
    return {};
  }
  static ObservationRows rows_at(void* rows, const Space& space) {
    if (rows == nullptr) return nullptr;
    return space.dtype == Dtype::kU8 ? ObservationRows(static_cast<std::uint8_t*>(rows))
                                     : ObservationRows(static_cast<float*>(rows));
  }
  std::unique_ptr<VecEnv> device_;
  Change change_;
  std::vector<EpisodeEnd> ends_;
};

// The last one that was made.
OnDevice* last_made = nullptr;

// Registers environment `inner`, wrapped.
void register_on_device(const std::string& inner, const std::string& id, Change change = {},
                        bool saves_state = true) {
  EnvSpec spec = env_spec(inner, {}).take();
  spec.id = id;
  const auto make = [=](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    Result<std::unique_ptr<VecEnv>> envs = make_vec_env(inner, {}, options);
    if (!envs.ok()) return envs;
    auto made = std::make_unique<OnDevice>(
        envs.take(), make_vec_env(inner, {}, options).take(), id,
        VecEnvTraits{.whole_batch = true, .saves_state = saves_state}, change);
    last_made = made.get();
    return std::unique_ptr<VecEnv>(std::move(made));
  };
  ASSERT_TRUE(register_environment(simulator_entry(spec, make)).ok());
}

class StepsOnDevice : public DeviceTrainer {
 protected:
  void SetUp() override {
    DeviceTrainer::SetUp();
    if (device_is_real()) GTEST_SKIP() << "these simulators know the host's memory alone";
    static const bool once = [] {
      if (!register_observation_envs()) return false;
      for (const char* id : {"CartPole-v1", "Pendulum-v1", "Windy-v0", "Catch-v0", "TicTacToe-v0",
                             "FrozenLake-v1", "Dials-v0"}) {
        register_on_device(id, std::string("Device") + id);
      }
      return true;
    }();
    ASSERT_TRUE(once);
  }
};

TEST_F(StepsOnDevice, TrainAsOnTheCpu) {
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("DeviceCartPole-v1", kShort);
  }
  expect_the_same("DevicePendulum-v1", kNormalised);
  expect_the_same("DeviceWindy-v0", kNormalised);
  expect_the_same("DeviceCatch-v0", kPqn, 2);
  expect_the_same("DeviceTicTacToe-v0", {});
  expect_the_same("DeviceDials-v0", {}, 2);
  expect_the_same("DeviceFrozenLake-v1", kShort);  // names success
  const Options watched{{"instruments", "plasticity"}, {"target_kl", "0.02"}};
  expect_the_same("DeviceCartPole-v1", combine(kNormalised, watched), 2, false);
}

TEST_F(StepsOnDevice, NeverStepOnTheHost) {
  const std::unique_ptr<Trainer> trainer =
      make_trainer(config_of("DeviceCartPole-v1", kShort), "cuda");
  EXPECT_FALSE(trainer->device()->steps_on_host());
  const OnDevice& simulator = *last_made;
  for (int i = 0; i < 3; ++i) iterate(*trainer);
  EXPECT_EQ(simulator.taken, 1);
  EXPECT_EQ(simulator.host_steps, 0);
  EXPECT_EQ(simulator.ended, trainer->episodes());
}

TEST_F(StepsOnDevice, TakeNewEpisodesAfterAFailedBlock) {
  register_on_device(
      "CartPole-v1", "Fails-v0",
      [](int step, const DeviceStepRows& rows) {
        if (step == 20) rows.rewards[4] = NAN;
        return Status();
      },
      false);
  const std::unique_ptr<Trainer> trainer = make_trainer(config_of("Fails-v0", kShort), "cuda");
  const OnDevice& simulator = *last_made;
  iterate(*trainer);
  EXPECT_EQ(trainer->iterate().kind(), ErrorKind::kNumeric);
  EXPECT_EQ(simulator.taken, 1);
  iterate(*trainer);
  EXPECT_EQ(simulator.begun_anew, 1);
  EXPECT_EQ(simulator.taken, 2);
}

TEST_F(StepsOnDevice, ResumeOnEitherDevice) {
  expect_same_after_resume("DeviceCartPole-v1", kNormalised);
}

// The host steps it if a user shortens its episodes, since it resets itself at its own limit.
TEST_F(StepsOnDevice, ArePlugins) {
  ASSERT_TRUE(allow_code(test_plugin_folder()).ok());
  const std::string id = "plugin:" + test_plugin_folder() + "/libwalk.so:Device-v0";
  const Options options{{"num_steps", "40"}};  // longer than an episode
  expect_the_same(id, options);
  expect_same_after_resume(id, options);
  EXPECT_FALSE(make_trainer(config_of(id, options), "cuda")->device()->steps_on_host());
  for (const Options& by_host :
       {Options{{"max_episode_steps", "9"}}, Options{{"stagger_starts", "true"}}}) {
    const Options all = combine(options, by_host);
    EXPECT_TRUE(make_trainer(config_of(id, all), "cuda")->device()->steps_on_host());
    expect_the_same(id, all, 2);
  }
}

// The message of a run that fails.
std::string failure(const std::string& id, const Options& options = kShort) {
  Config config = config_of(id, options);
  config.device = "cuda";
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, 2);
  if (!made.ok()) return made.status().message();
  const std::unique_ptr<Trainer> trainer = made.take();
  for (int i = 0; i < 4; ++i) {
    const Status status = trainer->iterate();
    if (!status.ok()) return status.message();
  }
  return "";
}

TEST_F(StepsOnDevice, FailWithTheFirstFault) {
  struct Case {
    const char* id;
    Change change;
    const char* words;
  };
  const auto change_once = [](int step,
                              std::function<void(const DeviceStepRows&)> change) -> Change {
    return [=](int now, const DeviceStepRows& rows) {
      if (now == step) change(rows);
      return Status();
    };
  };
  for (const Case& one : std::vector<Case>{
           {"BadReward-v0",
            change_once(20, [](const DeviceStepRows&rows) { rows.rewards[4] = NAN; }),
            "reward of environment 4 is not finite at its step 20"},
           {"BadSight-v0",
            change_once(20,
                        [](const DeviceStepRows&rows) {
                          static_cast<float*>(rows.observations)[4 * 5 + 1] = INFINITY;
                        }),
            "observation of environment 5 is not finite at its step 21"},
           {"BothEnds-v0",
            change_once(
                20, [](const DeviceStepRows&rows) { rows.terminated[6] = rows.truncated[6] = 1; }),
            "environment 6 at its step 20 in both ways"},
           {"BadReason-v0",
            change_once(20,
                        [](const DeviceStepRows&rows) {
                          rows.terminated[7] = 1;
                          rows.truncated[7] = 0;
                          rows.reasons[7] = 9;
                        }),
            "environment 7 at its step 20 in both ways, or for a reason"},
           {"Truncates-v0",
            [](int, const DeviceStepRows&rows) {
              rows.terminated[2] = 0;
              rows.truncated[2] = 1;
              return Status();
            },
            "environment 2 of Truncates-v0 was truncated at its step "},
           {"Refuses-v0",
            [](int step, const DeviceStepRows&) {
              return step < 20 ? Status() : Status(ErrorKind::kIo, "out of contacts");
            },
            "the simulator failed at its step 20: out of contacts"},
           {"Throws-v0",
            [](int step, const DeviceStepRows&) -> Status {
              if (step == 20) throw std::runtime_error("lost the stream");
              return {};
            },
            "step_on_device() of Throws-v0 threw an exception"}}) {
    register_on_device("CartPole-v1", one.id, one.change);
    const std::string message = failure(one.id);
    EXPECT_NE(message.find(one.words), std::string::npos) << one.id << ": " << message;
  }
}

}  // namespace
}  // namespace broadloom::cuda
