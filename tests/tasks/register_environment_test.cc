// Environments registered by a program: their features, and refused entries.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/register_environment.h"
#include "examples/own_env/hover.h"
#include "tests/env/observation_envs.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

// Every test uses its own ids, since a process has one registry.
void expect_refused(const Status& status, const std::vector<std::string>& words) {
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << word << " in " << status.message();
  }
}

EnvSpec hover_spec(const std::string& id) {
  EnvSpec spec = Hover::spec(Hover::Params{});
  spec.id = id;
  return spec;
}

// A simulator that follows its options.
Result<std::unique_ptr<VecEnv>> hovers(const std::string& id, const VecEnvOptions& options) {
  EnvSpec spec = hover_spec(id);
  spec.set_time_limit(options.max_episode_steps);
  return std::unique_ptr<VecEnv>(
      std::make_unique<BatchedEnv<Hover>>(Hover::Params{}, spec, options));
}

MakeSimulator simulator(const std::string& id) {
  return [id](const VecEnvOptions& options) { return hovers(id, options); };
}

// Has no capability, and this spec.
class Plain final : public VecEnv {
 public:
  Plain(std::unique_ptr<VecEnv> inner, EnvSpec spec)
      : inner_(std::move(inner)), spec_(std::move(spec)) {}
  const EnvSpec& spec() const override { return spec_; }
  int num_envs() const override { return inner_->num_envs(); }
  int max_truncations(int num_steps) const override { return inner_->max_truncations(num_steps); }
  void observe(int begin, int end, ObservationRows rows) const override {
    inner_->observe(begin, end, rows);
  }
  Status step(int begin, int end, const StepRows& rows) override {
    return inner_->step(begin, end, rows);
  }
  std::int64_t episode_step(int env) const override { return inner_->episode_step(env); }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    inner_->append_state(prefix, out);
  }

 private:
  std::unique_ptr<VecEnv> inner_;
  EnvSpec spec_;
};

TEST(RegisterEnvironment, MakesTheIdKnownEverywhere) {
  ASSERT_TRUE(register_environment<Hover>("Header-v0").ok());
  EXPECT_EQ(env_spec("Header-v0", {}).value().id, "Header-v0");
  EXPECT_EQ(env_spec("Header-v0", {}, 7).value().max_episode_steps, 7);
  EXPECT_EQ(make("Header-v0", {.num_envs = 3})->num_envs(), 3);
  EXPECT_EQ(list_env_options("Header-v0").value().at(0).name, "gravity");
  EXPECT_EQ(list_envs().back().id, "Header-v0");
  EXPECT_FALSE(is_built_in("Header-v0"));
  EXPECT_TRUE(is_built_in("CartPole-v1"));
  EXPECT_FALSE(is_built_in("NoSuch-v0"));
  const std::string message = make_vec_env("Headr-v0", {}, {}).status().message();
  EXPECT_NE(message.find("did you mean 'Header-v0'?"), std::string::npos) << message;
}

// A registered environment has the same features and bits as the library's own.
TEST(RegisterEnvironment, EqualsABuiltInEnvironment) {
  ASSERT_TRUE(register_environment<CartPole>("OwnPole-v0").ok());
  const Overrides keys = {
      {"gravity", "9"}, {"strata.short.half_length", "0.2..0.4"}, {"disturb.action_delay", "2"}};
  const VecEnvOptions options{
      .num_envs = 8, .seed = 3, .max_episode_steps = 40, .seed_families = 4};
  EXPECT_EQ(roll(*make("OwnPole-v0", options, keys), 0, 120, 8),
            roll(*make("CartPole-v1", options, keys), 0, 120, 8));
  EXPECT_NE(roll(*make("OwnPole-v0", options), 0, 120, 8),
            roll(*make("OwnPole-v0", options, keys), 0, 120, 8));
}

TEST(RegisterEnvironment, TakesOtherDefaults) {
  ASSERT_TRUE(register_environment<Hover>("HeavyHover-v0", {.gravity = 15.0}).ok());
  EXPECT_EQ(list_env_options("HeavyHover-v0").value().at(0).default_text, "15");
  EXPECT_EQ(list_env_options("FrozenLake8x8-v1").value().at(0).default_text, "8x8");
  expect_refused(register_environment<Hover>("NoHover-v0", {.gravity = 50.0}),
                 {"'NoHover-v0'", "default options", "cannot fly"});
  EXPECT_EQ(env_spec("NoHover-v0", {}).status().kind(), ErrorKind::kNotFound);
}

TEST(RegisterEnvironment, RefusesAnIdThatIsTaken) {
  expect_refused(register_environment<Hover>("CartPole-v1"), {"'CartPole-v1'", "already"});
  ASSERT_TRUE(register_environment<Hover>("Twice-v0").ok());
  expect_refused(register_environment<Hover>("Twice-v0"), {"'Twice-v0'", "already"});
}

TEST(Bridges, RegisterBuiltInEnvironmentsUnlessTheIdIsTaken) {
  const auto named = [](const std::string& id, int limit) {
    EnvEntry entry = make_entry<Hover>({}, [=](EnvSpec& spec) {
      spec.id = id;
      spec.max_episode_steps = limit;
    });
    return entry;
  };
  register_built_in(named("Bridged-v0", 11));
  EXPECT_TRUE(is_built_in("Bridged-v0"));
  ASSERT_TRUE(register_environment(named("Mine-v0", 22)).ok());
  register_built_in(named("Mine-v0", 33));
  EXPECT_FALSE(is_built_in("Mine-v0"));
  EXPECT_EQ(env_spec("Mine-v0", {}).value().max_episode_steps, 22);
}

TEST(Bridges, SayHowToGetAbsentEnvironments) {
  announce_absent({{"Robot-v0", "Robot-v1"}, "a simulator", "install it"});
  const Status asked = env_spec("Robot-v1", {}).status();
  EXPECT_EQ(asked.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(asked.message(),
            "Robot-v1 needs a simulator, which this program was built without; install it");
  EXPECT_NE(env_spec("Rohbot-v1", {}).status().message().find("did you mean 'Robot-v1'"),
            std::string::npos);
  EXPECT_EQ(list_absent().back().ids.size(), 2u);
}

TEST(RegisterEnvironment, RefusesIdsThatCannotNameAFolder) {
  for (const char* id : {"", "../x", "/x", "x/", "x//y", "x/../y", "x/.y", "w/x/y/z", ".hidden",
                         "-v0", "a b", "a\nb", "a:b", "g/p:x/y/z", "g/x/p:y", "g/p:q:x", "g/:x"}) {
    expect_refused(register_environment<Hover>(id), {"folders", "such as 'Hover-v0'"});
  }
  expect_refused(register_environment<Hover>(std::string(101, 'a')), {"at most 100"});
  EXPECT_TRUE(register_environment<Hover>(std::string(100, 'a')).ok());
  EXPECT_TRUE(register_environment<Hover>("Mine/Hover-v0").ok());
  EXPECT_TRUE(register_environment<Hover>("gymnasium/package:Mine/Hover-v0").ok());
}

TEST(RegisterEnvironment, RefusesEntriesWithoutAFunctionOrASpace) {
  expect_refused(register_environment(simulator_entry(hover_spec("Null-v0"), nullptr)),
                 {"'Null-v0'", "factory (make) is empty"});
  expect_refused(register_environment(EnvEntry{}), {"empty"});
  EnvEntry entry = simulator_entry(hover_spec("Null-v0"), simulator("Null-v0"));
  entry.options = nullptr;
  expect_refused(register_environment(entry), {"its options is empty"});
  entry = simulator_entry(hover_spec("Null-v0"), simulator("Null-v0"));
  entry.spec.id = "Other-v0";
  expect_refused(register_environment(entry), {"'Other-v0'", "'Null-v0'"});

  EnvSpec spec = hover_spec("Null-v0");
  spec.action = {};
  expect_refused(register_environment(simulator_entry(spec, simulator("Null-v0"))),
                 {"action space has size 0"});
  spec = hover_spec("Null-v0");
  spec.observation.low.pop_back();
  expect_refused(register_environment(simulator_entry(spec, simulator("Null-v0"))),
                 {"observation", "has 2 numbers with 1 lower and 2 upper"});
  spec = hover_spec("Null-v0");
  std::swap(spec.action.low, spec.action.high);
  expect_refused(register_environment(simulator_entry(spec, simulator("Null-v0"))),
                 {"bounds [1, -1] at number 0"});
}

TEST(RegisterEnvironment, RefusesNamesThatRecordsCannotHave) {
  const auto refused = [](EnvSpec spec, const std::vector<std::string>& words) {
    expect_refused(register_environment(simulator_entry(spec, simulator("Null-v0"))), words);
  };
  EnvSpec spec = hover_spec("Null-v0");
  spec.measures = {{"off the mark", "m"}};
  refused(spec, {"measures 'off the mark'", "letters, digits"});
  spec = hover_spec("Null-v0");
  spec.reward_terms = {{"speed", 1.0}, {"speed", 2.0}};
  refused(spec, {"reward term 'speed'", "different names"});
  spec.reward_terms = {{"speed", std::numeric_limits<double>::quiet_NaN()}};
  refused(spec, {"reward term 'speed' has a weight of nan", "a finite number"});
  spec = hover_spec("Null-v0");
  spec.measures = {{"off_mark", "m\xf9"}};
  refused(spec, {"measures 'off_mark' in 'm", "printable ASCII"});
  spec = hover_spec("Null-v0");
  spec.context = {{"forward, m/s", 1.0, 0.0}};
  refused(spec, {"'forward, m/s' in [1, 0]", "low <= high"});
  spec.context = {{"forw\xe4rts", 0.0, 1.0}};
  refused(spec, {"printable ASCII"});
  spec = hover_spec("Null-v0");
  spec.commands = {{"speed, m/s", 1.0, 0.0}};
  refused(spec, {"the command 'speed, m/s' in [1, 0]"});
  for (const char* line : {"two\nlines", "\ttab", "\x1b[2J", "\x7f"}) {
    spec = hover_spec("Null-v0");
    spec.summary = line;
    refused(spec, {"its summary has a line break or another control character"});
    spec = hover_spec("Null-v0");
    spec.terrain = line;
    refused(spec, {"its terrain has"});
  }
  spec = hover_spec("Null-v0");
  spec.engine = "two\nlines";
  spec.upstream = "two\nlines";  // allowed
  refused(spec, {"its engine has"});
  spec = hover_spec("Null-v0");
  spec.max_episode_steps = -5;
  refused(spec, {"its max_episode_steps is -5, expected at least 0"});
}

// Has no optional member, but a promise in its spec.
template <void (*promise)(EnvSpec&)>
struct Promising : Catch {
  static EnvSpec spec(const Params& params) {
    EnvSpec out = Catch::spec(params);
    promise(out);
    return out;
  }
};
void promise_masks(EnvSpec& spec) { spec.action.masked = true; }
void promise_success(EnvSpec& spec) { spec.names_success = true; }
void promise_context(EnvSpec& spec) { spec.context = {{"speed, m/s", 0.0, 1.0}}; }
void promise_reasons(EnvSpec& spec) { spec.end_reasons = {"fell", "left", "time_limit"}; }
void promise_no_step(EnvSpec& spec) { spec.max_episode_steps = -5; }

// They would be dropped.
TEST(RegisterEnvironment, RefusesPromisesOfASpecWhoseMemberIsMissing) {
  const auto refused = [](const Status& status, const char* words) {
    expect_refused(status, {"'Promise-v0'", words, "leave it out of spec()"});
  };
  refused(register_environment<Promising<promise_masks>>("Promise-v0"),
          "action.masked without valid_actions()");
  refused(register_environment<Promising<promise_context>>("Promise-v0"),
          "context without context()");
  refused(register_environment<Promising<promise_success>>("Promise-v0"),
          "names_success without success()");
  refused(register_environment<Promising<promise_reasons>>("Promise-v0"),
          "several end_reasons without the member of that name");
  expect_refused(register_environment<Promising<promise_no_step>>("Promise-v0"),
                 {"its max_episode_steps is -5"});
}

struct BluntHover : Hover {
  static StepResult step(const Params& params, State& state, const float* action, Random& random) {
    StepResult result = Hover::step(params, state, action, random);
    result.terminated *= 2;
    return result;
  }
};

TEST(RegisterEnvironment, TakesAnyFlagButZeroAsAnEnd) {
  ASSERT_TRUE(register_environment<Hover>("SharpHover-v0").ok());
  ASSERT_TRUE(register_environment<BluntHover>("BluntHover-v0").ok());
  const VecEnvOptions options{.num_envs = 6, .seed = 3};
  EXPECT_EQ(roll(*make("BluntHover-v0", options), 0, 300, 6),
            roll(*make("SharpHover-v0", options), 0, 300, 6));
}

// Evaluations index these lists, and studies divide by the difference of the scores.
TEST(RegisterEnvironment, RefusesReasonsAndScoresThatNobodyCanRead) {
  const auto refused = [](EnvSpec spec, const std::vector<std::string>& words) {
    expect_refused(register_environment(simulator_entry(spec, simulator("Null-v0"))), words);
  };
  EnvSpec spec = hover_spec("Null-v0");
  for (const std::vector<std::string>& reasons :
       {std::vector<std::string>{}, {"time_limit", "hit"}, {"hit"}}) {
    spec.end_reasons = reasons;
    refused(spec, {"its end_reasons are [", "then 'time_limit'"});
  }
  spec = hover_spec("Null-v0");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [random, reference] : {std::pair{nan, 5.0}, {5.0, nan}, {5.0, 5.0}}) {
    spec.set_score_range(random, reference);
    refused(spec, {"its score range is", "two different finite numbers"});
  }
  spec = hover_spec("Null-v0");
  spec.has_reward_threshold = true;
  spec.reward_threshold = nan;
  refused(spec, {"its reward_threshold is nan"});
  spec = hover_spec("plugin:libmine.so:Null-v0");
  refused(spec, {"name files of plug-ins"});
}

TEST(Simulator, IsDisturbedOnlyOnRequest) {
  ASSERT_TRUE(register_environment<Hover>("Hover-v0").ok());
  ASSERT_TRUE(
      register_environment(simulator_entry(hover_spec("Sim-v0"), simulator("Sim-v0"))).ok());
  const VecEnvOptions options{.num_envs = 6, .seed = 3, .max_episode_steps = 40};
  for (const Overrides& keys : {Overrides{}, Overrides{{"disturb.obs_noise", "0.1"}}}) {
    EXPECT_EQ(roll(*make("Sim-v0", options, keys), 0, 90, 6),
              roll(*make("Hover-v0", options, keys), 0, 90, 6));
  }
  const EnvSpec noisy = make("Sim-v0", options, {{"disturb.obs_noise", "0.1"}})->spec();
  EXPECT_TRUE(std::isinf(noisy.observation.high.at(0)));
  ASSERT_EQ(list_env_options("Sim-v0").value().size(), 9u);
  EXPECT_EQ(list_env_options("Sim-v0").value()[0].name, "scale_actions");
  expect_refused(make_vec_env("Sim-v0", {{"gravity", "9"}}, options).status(),
                 {"unknown option 'gravity'", "there are none"});
  expect_refused(env_spec("Sim-v0", {{"disturb.noise", "9"}}).status(), {"disturb"});
}

// Faults of a factory are found on use, before anything is written out of bounds.
TEST(Simulator, IsRefusedIfItReturnsSomethingElse) {
  const auto refused = [](const std::string& id, const MakeSimulator& make,
                          const std::vector<std::string>& words) {
    ASSERT_TRUE(register_environment(simulator_entry(hover_spec(id), make)).ok());
    expect_refused(make_vec_env(id, {}, {.num_envs = 4, .max_episode_steps = 9}).status(), words);
  };
  refused("Nothing-v0", [](const VecEnvOptions&) { return std::unique_ptr<VecEnv>(); },
          {"'Nothing-v0'", "null"});
  refused("Failed-v0", [](const VecEnvOptions&) { return invalid("no licence"); }, {"no licence"});
  refused("Few-v0",
          [](VecEnvOptions options) {
            options.num_envs = 2;
            return hovers("Few-v0", options);
          },
          {"2 environments", "num_envs = 4"});
  refused("Named-v0", simulator("Else-v0"), {"'Named-v0'", "'Else-v0'"});
  refused("Ended-v0",
          [](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
            EnvSpec spec = hover_spec("Ended-v0");
            spec.max_episode_steps = 9;
            spec.end_reasons = {"crashed", "flew_off", "time_limit"};
            return std::unique_ptr<VecEnv>(
                std::make_unique<BatchedEnv<Hover>>(Hover::Params{}, spec, options));
          },
          {"'Ended-v0'", "end_reasons"});
  const auto with_spec = [](const std::string& id, void (*change)(EnvSpec&)) {
    return [=](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
      EnvSpec spec = hover_spec(id);
      spec.max_episode_steps = 9;
      change(spec);
      return std::unique_ptr<VecEnv>(
          std::make_unique<BatchedEnv<Hover>>(Hover::Params{}, spec, options));
    };
  };
  refused("Strong-v0", with_spec("Strong-v0", [](EnvSpec& spec) { spec.action.high[0] *= 2.0f; }),
          {"'Strong-v0'", "the registered one in action;"});
  refused("Far-v0", with_spec("Far-v0", [](EnvSpec& spec) { spec.observation.low[0] = -1.0f; }),
          {"'Far-v0'", "the registered one in observation;"});
  refused("Given-v0",
          with_spec("Given-v0",
                    [](EnvSpec& spec) {
                      spec.reward_terms = {{"near", 1.0}};
                    }),
          {"'Given-v0'", "the registered one in reward_terms;"});
  refused("Measured-v0",
          with_spec("Measured-v0",
                    [](EnvSpec& spec) {
                      spec.measures = {{"distance", "m"}};
                    }),
          {"Measured-v0", "StepCounter"});
  refused("Endless-v0",
          [](VecEnvOptions options) {
            options.max_episode_steps = 0;
            return hovers("Endless-v0", options);
          },
          {"max_episode_steps 200", "max_episode_steps 9"});
  refused("Wide-v0",
          [](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
            EnvSpec spec = CartPole::spec(CartPole::Params{});
            spec.id = "Wide-v0";
            spec.max_episode_steps = 9;
            return std::unique_ptr<VecEnv>(
                std::make_unique<BatchedEnv<CartPole>>(CartPole::Params{}, spec, options));
          },
          {"Box(4), action Discrete(2)", "Box(2), action Box(1)"});
}

// Their numbers would be recorded as 0.
TEST(Simulator, IsRefusedIfItLacksAPromisedCapability) {
  const auto refused = [](const std::string& id, void (*change)(EnvSpec&), const char* words) {
    EnvSpec spec = hover_spec(id);
    change(spec);
    ASSERT_TRUE(register_environment(simulator_entry(spec, [spec](const VecEnvOptions& options) {
                  return Result<std::unique_ptr<VecEnv>>(std::unique_ptr<VecEnv>(
                      std::make_unique<Plain>(hovers(spec.id, options).take(), spec)));
                })).ok());
    expect_refused(make_vec_env(id, {}, {}).status(), {id, words, "implement it (env/"});
  };
  refused(
      "NoMeasures-v0",
      [](EnvSpec& spec) {
        spec.measures = {{"distance", "m"}};
      },
      "StepCounter, which measures of");
  refused(
      "NoTerms-v0",
      [](EnvSpec& spec) {
        spec.reward_terms = {{"near", 1.0}};
        spec.counts_reward_terms = true;
      },
      "StepCounter, which counts_reward_terms of");
  refused(
      "NoContext-v0",
      [](EnvSpec& spec) {
        spec.context = {{"wind, m/s", -1.0, 1.0}};
      },
      "AuditContext, which context of");
}

// Without this check, a factory that ignores ages would start all environments in phase.
TEST(Simulator, IsRefusedIfItIgnoresAges) {
  EnvSpec spec = hover_spec("Ageless-v0");
  ASSERT_TRUE(register_environment(simulator_entry(spec, [](const VecEnvOptions& options) {
                VecEnvOptions other = options;
                other.stagger_starts = false;
                return hovers("Ageless-v0", other);
              })).ok());
  VecEnvOptions options{.num_envs = 3, .stagger_starts = true};
  EXPECT_TRUE(make_vec_env("Ageless-v0", {}, options).ok());
  options.stagger_by = StaggerBy::kAge;
  options.max_episode_steps = 9;
  expect_refused(make_vec_env("Ageless-v0", {}, options).status(),
                 {"stagger_by = age", "of Ageless-v0 begins at step", "stagger_by = actions"});
}

TEST(RegisterEnvironment, MayRunDuringLookups) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 20; ++k) {
        const std::string id = "Thread" + std::to_string(i) + "-v" + std::to_string(k);
        EXPECT_TRUE(register_environment<Hover>(id).ok());
        EXPECT_TRUE(env_spec(id, {}).ok());
        EXPECT_GT(list_envs().size(), 9u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list_envs().at(0).id, "CartPole-v1");  // the library's own come first
}

}  // namespace
}  // namespace broadloom
