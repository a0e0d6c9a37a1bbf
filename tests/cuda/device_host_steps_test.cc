// Environments that the host steps while an emulated device acts and learns, compared with the CPU.
// sanitizers: address
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/simulator_call.h"
#include "broadloom/setup/memory_plan.h"
#include "tests/cuda/device_trainers.h"
#include "tests/env/observation_envs.h"
#include "tests/env/simulators.h"
#include "tests/support/release_only.h"

namespace broadloom::cuda {
namespace {

// Promises that it never truncates.
class TooFewSlots final : public Simulator {
 public:
  TooFewSlots(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {}
  int max_truncations(int) const override { return 0; }
};

class Throwing final : public Simulator {
 public:
  Throwing(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {}
  Status step(int begin, int end, const StepRows& rows) override {
    if (begin == 0 && ++steps_ == 5) throw std::runtime_error("socket closed");
    return inner().step(begin, end, rows);
  }

 private:
  int steps_ = 0;
};

class HostSteps : public DeviceTrainer {
 protected:
  void SetUp() override {
    DeviceTrainer::SetUp();
    static const bool once = [] {
      register_simulator("HostPlain-v0", [](auto inner) {
        return std::make_unique<Simulator>(std::move(inner), "HostPlain-v0", VecEnvTraits{});
      });
      register_simulator("HostWhole-v0", [](auto inner) {
        return std::make_unique<WholeBatch>(std::move(inner), "HostWhole-v0");
      });
      register_simulator("HostBytes-v0", [](auto inner) {
        return std::make_unique<Serialising>(std::move(inner), "HostBytes-v0");
      });
      return true;
    }();
    ASSERT_TRUE(once);
  }
};

TEST_F(HostSteps, TrainSimulatorsAsTheCpuDoes) {
  for (const char* env_id : {"HostPlain-v0", "HostWhole-v0"}) {
    SCOPED_TRACE(env_id);
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      expect_the_same(env_id, kShort);
    }
    expect_the_same(env_id, kNormalised);
    expect_the_same(env_id, combine(kPqn, {{"norm_obs", "true"}}), 2);
    expect_the_same(env_id, combine(kShort, {{"shared_encoder", "true"}}), 2);
  }
  const std::unique_ptr<Trainer> trainer = make_trainer(config_of("HostPlain-v0", kShort), "cuda");
  EXPECT_TRUE(trainer->device()->steps_on_host());
  EXPECT_FALSE(make_trainer(config_of("CartPole-v1", {}), "cuda")->device()->steps_on_host());
}

// Gaussian and scaled actions, success, stacks of floats, delays, noise on one number, images.
TEST_F(HostSteps, TrainTasksOfTheLibraryWithoutKernels) {
  const Options delayed{{"disturb.obs_delay", "1"}};
  expect_the_same("Pendulum-v1", combine(kNormalised, delayed));
  expect_the_same("Pendulum-v1", combine(kShort, {{"env.scale_actions", "true"}}), 2);
  expect_the_same("MountainCar-v0", combine(kShort, delayed), 2);
  expect_the_same("CartPole-v1", combine(kShort, {{"env.frame_stack", "3"}}), 2);
  expect_the_same("CartPole-v1", combine(kShort, {{"disturb.obs_noise_of", "2:0.3"}}), 2);
  ASSERT_TRUE(register_observation_envs());
  expect_the_same("Catch-v0", combine(kShort, {{"hidden_sizes", "8"}}), 2);
}

TEST_F(HostSteps, TrainByIntrinsicRewards) {
  RELEASE_ONLY("the same kernels as of device_rnd_test.cc");
  expect_the_same("HostPlain-v0",
                  combine(kNormalised, {{"algorithm", "ppo_rnd"},
                                        {"rnd_hidden_sizes", "8"},
                                        {"num_iterations_obs_norm_init", "0"}}),
                  2);
}

// A step's observations may take more pinned memory than the block that the CPU reads.
TEST_F(HostSteps, PlanWhatPassesInAStep) {
  RELEASE_ONLY("counts bytes of whole runs");
  if (device_is_real()) GTEST_SKIP() << "only the emulated one counts";
  const Options wide{{"env.frame_stack", "64"}, {"num_envs", "512"}, {"num_steps", "1"},
                     {"hidden_sizes", "2"},     {"device", "cuda"},  {"total_timesteps", "4096"}};
  for (const Options& options : {wide, combine(wide, {{"num_steps", "2"}, {"hashes", "true"}})}) {
    const Config config = config_of("CartPole-v1", options);
    std::size_t most = 0;
    emulation.limits.most_under_way = &most;
    const std::unique_ptr<Trainer> trainer = make_trainer(config, "cuda");
    for (int i = 0; i < 3; ++i) iterate(*trainer);
    const double planned = static_cast<double>(plan_memory(config, 2).take().passing);
    EXPECT_LT(1.25 * static_cast<double>(most), planned);
    EXPECT_GT(1.25 * static_cast<double>(most), 0.3 * planned);  // states are planned, too
  }
}

TEST_F(HostSteps, ChangeTheirShape) {
  expect_the_same(
      "HostPlain-v0",
      combine(kShort, {{"shape_schedule", "5x16 @ 0, 13x8 @ 0.1, 7x12 @ 0.2"}, {"num_envs", "5"}}),
      6);
}

TEST_F(HostSteps, ResumeOnEitherDevice) {
  for (const char* env_id : {"HostPlain-v0", "HostBytes-v0"}) {
    SCOPED_TRACE(env_id);
    expect_same_after_resume(env_id, kNormalised);
  }
}

// Trains both devices until one fails.
std::pair<Status, Status> failures(const std::string& env_id, const Options& options) {
  const Config config = config_of(env_id, options);
  Status ended[2];
  for (const int device : {0, 1}) {
    const std::unique_ptr<Trainer> trainer = make_trainer(config, device == 1 ? "cuda" : "cpu");
    for (int i = 0; i < 4 && ended[device].ok(); ++i) ended[device] = trainer->iterate();
  }
  return {ended[0], ended[1]};
}

void expect_same_failure(const std::string& env_id, const Options& options, ErrorKind kind,
                         const std::string& words) {
  const auto [of_host, of_device] = failures(env_id, options);
  EXPECT_EQ(of_device.message(), of_host.message());
  EXPECT_EQ(of_device.kind(), kind);
  EXPECT_NE(of_device.message().find(words), std::string::npos) << of_device.message();
}

TEST_F(HostSteps, FailWithTheSimulatorsError) {
  register_simulator("HostFails-v0", [](auto inner) {
    return std::make_unique<Failing>(std::move(inner), "HostFails-v0", 21, true);
  });
  expect_same_failure("HostFails-v0", kShort, ErrorKind::kIo,
                      "the simulator failed at its step 20: worker 3 has died");
  register_simulator("HostThrows-v0", [](auto inner) {
    return std::make_unique<Throwing>(std::move(inner), "HostThrows-v0");
  });
  expect_same_failure("HostThrows-v0", kShort, ErrorKind::kIo,
                      "step() of HostThrows-v0 threw an exception");
}

// A block begins with what the environments show then: a failed one leaves no trace.
TEST_F(HostSteps, GoOnWithNewEpisodesAfterAFailedBlock) {
  register_simulator("HostUnsaved-v0", [](auto inner) {
    return std::make_unique<Failing>(
        std::make_unique<Unsaved>(std::move(inner), "HostUnsaved-v0", true), "HostUnsaved-v0", 25,
        true, false);
  });
  const Config config = config_of("HostUnsaved-v0", kNormalised);
  const std::unique_ptr<Trainer> host = make_trainer(config, "cpu");
  const std::unique_ptr<Trainer> device = make_trainer(config, "cuda");
  for (Trainer* trainer : {host.get(), device.get()}) {
    iterate(*trainer);
    EXPECT_EQ(trainer->iterate().kind(), ErrorKind::kIo);
    iterate(*trainer);
  }
  expect_same_iteration(*host, *device);
  expect_same_state(*host, *device);
}

TEST_F(HostSteps, FailAtTheFirstNumberThatIsNotFinite) {
  using What = NotFinite::What;
  struct Case {
    std::vector<NotFinite::Place> places;
    const char* words;
  };
  int count = 0;
  for (const Case& one : std::vector<Case>{
           {{{7, 20, What::kReward}}, "reward of environment 7 is not finite at its step 20"},
           {{{7, 20, What::kObservation}},
            "observation of environment 7 is not finite at its step 21"},
           {{{2, 10, What::kLast}}, "last observation of environment 2 is not finite at its step "},
           {{{9, 19, What::kReward}, {2, 19, What::kObservation}, {1, 20, What::kReward}},
            "reward of environment 9 is not finite at its step 19"}}) {
    const std::string id = "HostNaN" + std::to_string(count++) + "-v0";
    register_simulator(id, [id, one](auto inner) {
      return std::make_unique<NotFinite>(std::move(inner), id, one.places, false);
    });
    expect_same_failure(id, kNormalised, ErrorKind::kNumeric, one.words);
  }
}

// A fault of an earlier step comes before what ended the steps.
TEST_F(HostSteps, ReportTheFirstFaultOfABlockThatEndedEarly) {
  register_simulator("HostBoth-v0", [](auto inner) {
    auto broken = std::make_unique<NotFinite>(
        std::move(inner), "HostBoth-v0",
        std::vector<NotFinite::Place>{{3, 17, NotFinite::What::kReward}}, true);
    return std::make_unique<Failing>(std::move(broken), "HostBoth-v0", 21, true);
  });
  expect_same_failure("HostBoth-v0", kShort, ErrorKind::kNumeric,
                      "reward of environment 3 is not finite at its step 17");
}

TEST_F(HostSteps, FailBeyondTheSlotsForTruncations) {
  register_simulator("HostSlots-v0", [](auto inner) {
    return std::make_unique<TooFewSlots>(std::move(inner), "HostSlots-v0");
  });
  expect_same_failure("HostSlots-v0", kShort, ErrorKind::kInvalidConfig, "max_truncations()");
}

}  // namespace
}  // namespace broadloom::cuda
