// Environments that the host steps while an emulated device acts and learns, compared with the CPU.
// sanitizers: address
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/env/block_player.h"
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

// Leaves environment 5 no valid action once it has made 20 steps.
class Stuck final : public Simulator, public ActionMasks {
 public:
  Stuck(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {
    mask_actions();
  }
  Status step(int begin, int end, const StepRows& rows) override {
    if (begin <= kEnv && kEnv < end) ++steps_;
    return inner().step(begin, end, rows);
  }
  void valid_actions(int begin, int end, std::uint8_t* flags) const override {
    std::fill_n(flags, 2 * (end - begin), std::uint8_t{1});
    if (begin <= kEnv && kEnv < end && steps_ >= 20) {
      std::fill_n(flags + 2 * (kEnv - begin), 2, std::uint8_t{0});
    }
  }

 private:
  static constexpr int kEnv = 5;
  int steps_ = 0;
};

// CartPole as a dictionary of two vectors.
class TwoVectors final : public Simulator {
 public:
  TwoVectors(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {
    const Space two = Space::box({-9.0f, -9.0f}, {9.0f, 9.0f});
    group_observations({{"cart", two}, {"pole", two}});
  }
};

// places: of numbers that are not finite.
void register_two_vectors(const std::string& id, const std::vector<NotFinite::Place>& places = {}) {
  const auto make = [=](const VecEnvOptions& options) {
    return std::make_unique<TwoVectors>(
        std::make_unique<NotFinite>(make_vec_env("CartPole-v1", {}, options).take(), id, places,
                                    false),
        id);
  };
  const EnvSpec spec = make({})->spec();
  ASSERT_TRUE(register_environment(simulator_entry(spec, [=](const VecEnvOptions& options) {
                return Result<std::unique_ptr<VecEnv>>(make(options));
              })).ok());
}

// Shows the critic a number that is not finite, at a step of one environment.
class BadForCritic final : public Simulator {
 public:
  static constexpr int kEnv = 3, kStep = 20;
  BadForCritic(std::unique_ptr<VecEnv> inner, const std::string& id, bool is_last)
      : Simulator(std::move(inner), id, {}), is_last_(is_last) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    const bool is_there = begin <= kEnv && kEnv < end;
    if (!is_there || steps_++ != kStep) return {};
    const ObservationRows shown =
        is_last_ ? rows.final_critic_observations : rows.critic_observations;
    const std::size_t place = static_cast<std::size_t>(kEnv - begin);
    shown.floats()[place * static_cast<std::size_t>(spec().critic_observation.size) + 1] =
        std::numeric_limits<float>::infinity();
    if (is_last_) rows.truncated[place] = 1;
    if (is_last_) rows.terminated[place] = 0;
    return {};
  }

 private:
  bool is_last_;
  int steps_ = 0;  // of that environment
};

// Plays blocks in a thread of its own. Its program ends early in the block that has failing_step,
// counted from 0 over all blocks; -1: in none.
class Player final : public Simulator, public BlockPlayer {
 public:
  Player(std::unique_ptr<VecEnv> inner, const std::string& id, int failing_step)
      : Simulator(std::move(inner), id, {.whole_batch = true}), failing_step_(failing_step) {}
  Status step(int, int, const StepRows&) override {
    return {ErrorKind::kIo, "it plays blocks alone"};
  }
  Status play(int num_steps, const Ask& ask) override {
    Status status;
    std::thread([&] { status = play_here(num_steps, ask); }).join();
    return status;
  }

 private:
  Status play_here(int num_steps, const Ask& ask) {
    StepRows rows{};
    for (int t = 0; t <= num_steps && ask(t, rows); ++t) {
      if (t == num_steps) break;
      if (steps_++ == failing_step_) return {ErrorKind::kIo, "the program has ended early"};
      BROADLOOM_TRY(inner().step(0, num_envs(), rows));
    }
    return {};
  }
  int failing_step_, steps_ = 0;
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

// Blocks store each frame once, or whole stacks if they have one step.
TEST_F(HostSteps, TrainOnStacksOfImages) {
  ASSERT_TRUE(register_observation_envs());
  const Options stacks = combine(kShort, {{"hidden_sizes", "8"}, {"env.frame_stack", "3"}});
  expect_the_same("Catch-v0", stacks);
  expect_the_same("Catch-v0", combine(stacks, {{"num_steps", "1"}, {"max_episode_steps", "3"}}), 4);
  const Options zeros{{"env.frame_stack", "4"}, {"env.frame_padding", "zero"}};
  expect_the_same("Catch-v0", combine(combine(kPqn, zeros), {{"encoder", "mlp"}}), 2);
  expect_same_after_resume("Catch-v0", stacks);
}

// Three convolutions: of both bodies, of a shared one, and of action values with normalised layers.
TEST_F(HostSteps, TrainNaturesConvolutions) {
  RELEASE_ONLY("DeviceTile runs the same code on whole tiles");
  ASSERT_TRUE(register_observation_envs());
  const Options nature{{"encoder", "nature"},    {"hidden_sizes", "16"},
                       {"num_envs", "3"},        {"num_steps", "3"},
                       {"update_epochs", "1"},   {"num_minibatches", "1"},
                       {"env.frame_stack", "4"}, {"max_episode_steps", "2"}};
  emulate_as(FiberOrder::kShuffled);
  expect_the_same("LargeCatch-v0", combine(nature, {{"shared_encoder", "true"}}), 1);
  expect_the_same("LargeCatch-v0", nature, 2);
  expect_the_same("LargeCatch-v0", combine(nature, {{"algorithm", "pqn"}}), 1);
}

const Options kImpala{{"encoder", "impala"},  {"hidden_sizes", "16"},   {"num_steps", "5"},
                      {"update_epochs", "1"}, {"num_minibatches", "1"}, {"max_episode_steps", "2"}};

// A shared body and RND's networks, on images of 6 x 5 with one channel.
TEST_F(HostSteps, TrainResidualSections) {
  ASSERT_TRUE(register_observation_envs());
  const Options rnd{
      {"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "8"}, {"num_iterations_obs_norm_init", "0"}};
  const Options shared{{"num_envs", "3"}, {"shared_encoder", "true"}, {"activation", "tanh"}};
  expect_the_same("Catch-v0", combine(combine(kImpala, rnd), shared), 1);
}

// Two partial gradients. The critic's weights do not lie in fours.
TEST_F(HostSteps, TrainResidualSectionsOfTwoBodies) {
  RELEASE_ONLY("TrainResidualSections runs the same kernels");
  ASSERT_TRUE(register_observation_envs());
  emulate_as(FiberOrder::kShuffled);
  expect_the_same("Catch-v0", combine(kImpala, {{"num_envs", "13"}, {"env.frame_stack", "4"}}), 1);
}

// With a normaliser of their own, layer by layer, and with numbers that are hidden from policies.
TEST_F(HostSteps, TrainCriticsWithObservationsOfTheirOwn) {
  ASSERT_TRUE(register_observation_envs());
  const Options windy = combine(kNormalised, {{"max_episode_steps", "5"}});
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("Windy-v0", windy);
  }
  expect_the_same("Windy-v0", combine(windy, {{"hidden_sizes", "150,140"}, {"norm_obs", "false"}}),
                  2);
  const Options hidden{{"env.hide_obs", "1,3"}, {"env.hide_from", "policy"}};
  expect_the_same("CartPole-v1", combine(kNormalised, hidden), 2);
  expect_the_same("CartPole-v1", combine(combine(kShort, hidden), {{"env.frame_stack", "3"}}), 2);
  expect_same_after_resume("Windy-v0", windy);
}

// One choice and several, with options that are invalid.
TEST_F(HostSteps, TrainChoicesWithMasks) {
  for (const char* env_id : {"TicTacToe-v0", "Dials-v0"}) {
    SCOPED_TRACE(env_id);
    for (const FiberOrder each : kOrders) {
      emulate_as(each);
      expect_the_same(env_id, {{"ent_coef", "0.02"}});
    }
    expect_the_same(env_id, {{"shared_encoder", "true"}, {"hidden_sizes", "150,140"}}, 2);
    expect_same_after_resume(env_id, {});
  }
}

TEST_F(HostSteps, TrainByIntrinsicRewards) {
  RELEASE_ONLY("the same kernels as of device_rnd_test.cc");
  ASSERT_TRUE(register_observation_envs());
  const Options rnd{
      {"algorithm", "ppo_rnd"}, {"rnd_hidden_sizes", "8"}, {"num_iterations_obs_norm_init", "0"}};
  for (const char* env_id : {"HostPlain-v0", "Windy-v0", "TicTacToe-v0", "Dials-v0"}) {
    SCOPED_TRACE(env_id);
    expect_the_same(env_id, combine(kNormalised, rnd), 2);
  }
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
    EXPECT_GT(1.25 * static_cast<double>(most), 0.2 * planned);  // more is planned, such as states
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

// More steps than kernels of the library's own environments take at once.
TEST_F(HostSteps, PlayBlocksByOneCall) {
  register_simulator("HostPlayer-v0", [](auto inner) {
    return std::make_unique<Player>(std::move(inner), "HostPlayer-v0", -1);
  });
  const Options long_blocks = combine(kNormalised, {{"num_steps", "70"}});
  expect_the_same("HostPlayer-v0", long_blocks, 2);
  expect_the_same("HostPlayer-v0", combine(kPqn, {{"norm_obs", "true"}}), 2);
  expect_same_after_resume("HostPlayer-v0", kNormalised);
  register_simulator("HostEndsEarly-v0", [](auto inner) {
    return std::make_unique<Player>(std::move(inner), "HostEndsEarly-v0", 20);
  });
  expect_same_failure("HostEndsEarly-v0", kShort, ErrorKind::kIo,
                      "at its step 20: the program has ended early");
}

TEST_F(HostSteps, FailWithoutAValidAction) {
  register_simulator(
      "HostStuck-v0",
      [](auto inner) { return std::make_unique<Stuck>(std::move(inner), "HostStuck-v0"); }, true);
  expect_same_failure("HostStuck-v0", kShort, ErrorKind::kNumeric,
                      "environment 5 has no valid action at its step 20");
  register_simulator(
      "HostThrowingMask-v0",
      [](auto inner) {
        return std::make_unique<ThrowingElsewhere>(std::move(inner), "HostThrowingMask-v0",
                                                   "valid_actions", 30, false);
      },
      true);
  EXPECT_NE(failures("HostThrowingMask-v0", kShort)
                .second.message()
                .find("valid_actions() of HostThrowingMask-v0 threw an exception"),
            std::string::npos);
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

TEST_F(HostSteps, FailWhereTheCriticSeesANumberThatIsNotFinite) {
  ASSERT_TRUE(register_observation_envs());
  for (const bool is_last : {false, true}) {
    EnvSpec spec = env_spec("Windy-v0", {}).take();
    spec.id = is_last ? "WindyLast-v0" : "WindyNow-v0";
    ASSERT_TRUE(register_environment(simulator_entry(spec, [=](const VecEnvOptions& options) {
                  return Result<std::unique_ptr<VecEnv>>(std::make_unique<BadForCritic>(
                      make_vec_env("Windy-v0", {}, options).take(), spec.id, is_last));
                })).ok());
    expect_same_failure(
        spec.id, kNormalised, ErrorKind::kNumeric,
        is_last ? "last observation of environment 3 is not finite at its step " : "critic");
  }
}

TEST_F(HostSteps, TrainOnGroupsOfVectors) {
  ASSERT_NO_FATAL_FAILURE(register_two_vectors("HostGroups-v0"));
  for (const Options& options :
       {kNormalised, combine(kShort, {{"shared_encoder", "true"}}), kPqn}) {
    expect_the_same("HostGroups-v0", options);
  }
  ASSERT_NO_FATAL_FAILURE(
      register_two_vectors("BadGroups-v0", {{7, 20, NotFinite::What::kObservation}}));
  expect_same_failure("BadGroups-v0", kNormalised, ErrorKind::kNumeric,
                      "observation 'cart' of environment 7 is not finite at its step 21");
  const auto refusal = [](const char* env_id, Options options) {
    options.emplace_back("device", "cuda");
    return Trainer::create(config_of(env_id, options), 1).status().message();
  };
  EXPECT_EQ(refusal("HostGroups-v0", {{"critic_groups", "pole"}}),
            "device = cuda: got groups of observations with layers of their own, or for one side "
            "alone, which kernels cannot do yet; remove group_encoders, policy_groups and "
            "critic_groups, or set device = cpu");
  EXPECT_NE(refusal("Turntable-v0", {}).find("of which 'image' is not float32"), std::string::npos)
      << refusal("Turntable-v0", {});
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
