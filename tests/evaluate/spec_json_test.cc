// A spec as text comes back with all that a policy's network depends on, and describes an
// environment to a registry that does not know it.
#include "broadloom/evaluate/spec_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

EnvSpec valve(const std::string& id) {
  EnvSpec spec;
  spec.id = id;
  spec.observation = Space::box({-kInfinity, 0.1f, 0.1f}, {kInfinity, 5.0f, 5.0f});
  spec.critic_observation = Space::box({-1.0f}, {1.0f});
  spec.action = Space::box({5.0f}, {35.0f});
  spec.max_episode_steps = 50;
  spec.end_reasons = {"burst", "time_limit"};
  spec.names_success = true;
  spec.strata = {"cold", "hot"};
  return spec;
}

TEST(SpecJson, BoundsReasonsAndStrataComeBack) {
  const EnvSpec spec = valve("Valve-v0");
  const Result<EnvSpec> again = parse_spec(spec_json(spec));
  ASSERT_TRUE(again.ok()) << again.status().message();
  const EnvSpec& got = again.value();
  EXPECT_EQ(got.id, spec.id);
  EXPECT_EQ(got.observation.low, spec.observation.low);
  EXPECT_EQ(got.observation.high, spec.observation.high);
  EXPECT_EQ(got.critic_observation.low, spec.critic_observation.low);
  EXPECT_EQ(got.action.high, spec.action.high);
  EXPECT_EQ(got.max_episode_steps, 50);
  EXPECT_EQ(got.end_reasons, spec.end_reasons);
  EXPECT_TRUE(got.names_success);
  EXPECT_EQ(got.strata, spec.strata);
}

TEST(SpecJson, ImagesAndDiscreteSpacesComeBack) {
  EnvSpec spec;
  spec.id = "Images-v0";
  spec.observation = Space::bytes({84, 84, 4});
  spec.observation.frames = 4;
  spec.observation.frame_padding = FramePadding::kZero;
  spec.action = Space::discrete(3);
  spec.action.start = -1;
  const std::string text = spec_json(spec);
  EXPECT_LT(text.size(), 1000U) << "equal bounds take one pair";
  const Result<EnvSpec> again = parse_spec(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(shape_text(again.value().observation), shape_text(spec.observation));
  EXPECT_EQ(again.value().observation.frame_padding, FramePadding::kZero);
  EXPECT_EQ(again.value().action.start, -1);
  EXPECT_EQ(again.value().action.size, 3);
  EXPECT_EQ(again.value().critic_observation.size, 0);
}

TEST(SpecJson, SeveralChoicesComeBack) {
  EnvSpec spec = valve("Valves-v0");
  spec.action = Space::multi_discrete({3, 1, 4, 2});
  spec.action.shape = {2, 2};
  const std::string good = spec_json(spec);
  const Result<EnvSpec> again = parse_spec(good);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(same_shape(again.value().action, spec.action));
  for (const char* choices : {"[]", "[3, 0]", "[16777216, 1]", "[null]"}) {
    std::string text = good;
    const std::size_t begin = text.find("\"choices\":") + 10;
    text.replace(begin, text.find(']', begin) + 1 - begin, choices);
    EXPECT_EQ(parse_spec(text).status().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(SpecJson, ChoicesAndNumbersComeBackWithTheirStructure) {
  EnvSpec spec = valve("Hybrid-v0");
  spec.action = Space::hybrid({3, 2}, {-1.0f, -kInfinity}, {1.0f, kInfinity});
  spec.action.masked = true;
  spec.action.structure = R"({"tuple": [{"kind": "discrete"}]})";
  const std::string good = spec_json(spec);
  const Result<EnvSpec> again = parse_spec(good);
  ASSERT_TRUE(again.ok()) << again.status().message();
  const Space& got = again.value().action;
  EXPECT_TRUE(same_shape(got, spec.action));
  EXPECT_EQ(shape_text(got), "Hybrid(3, 2; 2 numbers; masked)");
  EXPECT_EQ(got.low, spec.action.low);
  EXPECT_EQ(got.high, spec.action.high);
  EXPECT_EQ(got.structure, spec.action.structure);
  for (const char* choices : {"0", "4", "-1", "3", "1.5", "null"}) {
    std::string text = good;
    const std::size_t begin = text.find("\"leading_choices\":") + 18;
    text.replace(begin, text.find(',', begin) - begin, choices);
    EXPECT_EQ(parse_spec(text).status().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(SpecJson, OtherTextsAreRefused) {
  const std::string good = spec_json(valve("Valve-v0"));
  EXPECT_EQ(parse_spec("").status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(parse_spec("{}").status().kind(), ErrorKind::kCorrupt);
  // A count that no memory holds, and bounds of different lengths.
  for (const char* low : {"[0, 99999999999]", "[0, 1]", "[0]", "[null, 3]", "[0, -3]"}) {
    std::string text = good;
    const std::size_t begin = text.find("\"low\":") + 6;
    text.replace(begin, text.find(']', begin) + 1 - begin, low);
    EXPECT_EQ(parse_spec(text).status().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(DescribedEnvironment, IsKnownButNotMadeUntilItIsRegistered) {
  EnvSpec spec = valve("DescribedValve-v0");
  spec.strata.clear();
  ASSERT_FALSE(env_spec(spec.id, {}).ok());
  ASSERT_TRUE(describe_environment(spec).ok());
  EXPECT_TRUE(needs_description(spec));
  EXPECT_EQ(env_spec(spec.id, {}).value().action.high, spec.action.high);
  EXPECT_FALSE(is_built_in(spec.id));
  for (const EnvSpec& listed : list_envs()) EXPECT_NE(listed.id, spec.id);
  const Status made = make_vec_env(spec.id, {}, {.num_envs = 1}).status();
  EXPECT_EQ(made.kind(), ErrorKind::kNotFound);
  EXPECT_NE(made.message().find("broadloom.register(\"" + spec.id), std::string::npos)
      << made.message();
  spec.action = Space::box({0.0f}, {1.0f});  // another file describes it otherwise
  ASSERT_TRUE(describe_environment(spec).ok());
  EXPECT_EQ(env_spec(spec.id, {}).value().action.high, spec.action.high);
  EnvSpec registered = spec;
  registered.max_episode_steps = 7;
  ASSERT_TRUE(register_environment(simulator_entry(registered, [](const VecEnvOptions&) {
                return Result<std::unique_ptr<VecEnv>>(invalid("makes none"));
              })).ok());
  ASSERT_TRUE(describe_environment(spec).ok());
  EXPECT_EQ(env_spec(spec.id, {}).value().max_episode_steps, 7);
}

// The environment is registered, but needs a file that is not here.
TEST(DescribedEnvironment, StandsInWhereAFileIsMissing) {
  EnvSpec spec = valve("FiledValve-v0");
  spec.strata.clear();
  const auto absent = [spec](const Overrides& options) -> Result<EnvSpec> {
    if (options.empty()) return spec;
    const bool is_file = options.size() == 2;
    return Status(is_file ? ErrorKind::kNotFound : ErrorKind::kInvalidConfig, "no file");
  };
  const auto make = [](const Overrides&, const VecEnvOptions&) {
    return Result<std::unique_ptr<VecEnv>>(Status(ErrorKind::kNotFound, "no file"));
  };
  EnvEntry entry;
  entry.spec = spec;
  entry.options = [] { return std::vector<FieldInfo>(); };
  entry.make = make;
  entry.make_spec = absent;
  ASSERT_TRUE(register_environment(entry).ok());
  const Overrides one = {{"file", "one"}, {"size", "2"}}, other = {{"file", "other"}};
  EXPECT_FALSE(env_spec(spec.id, one).ok());
  spec.max_episode_steps = 7;
  spec.engine = "MuJoCo 4.0.0, one 12ab";
  ASSERT_TRUE(describe_environment(parse_spec(spec_json(spec)).value(), one).ok());
  EXPECT_EQ(env_spec(spec.id, {one[1], one[0]}).value().max_episode_steps, 7);
  EXPECT_EQ(own_spec(spec.id, one).value().engine, spec.engine);
  EXPECT_FALSE(env_spec(spec.id, other).ok()) << "that is another environment";
  ASSERT_TRUE(describe_environment(spec, {one[1]}).ok());
  EXPECT_EQ(env_spec(spec.id, {one[1]}).status().kind(), ErrorKind::kInvalidConfig)
      << "only a missing file is stood in for";
  const Status made = make_vec_env(spec.id, one, {.num_envs = 1}).status();
  EXPECT_EQ(made.message(), "no file");
}

TEST(DescribedEnvironment, OfAPythonPackageNamesTheProgramThatOpensIt) {
  EnvSpec spec = valve("warp/Valve-v0");
  spec.strata.clear();
  ASSERT_TRUE(describe_environment(spec).ok());
  const std::string refusal = make_vec_env(spec.id, {}, {.num_envs = 1}).status().message();
  EXPECT_NE(refusal.find("call `python -m broadloom` with --allow_plugin warp"), std::string::npos)
      << refusal;
}

}  // namespace
}  // namespace broadloom
