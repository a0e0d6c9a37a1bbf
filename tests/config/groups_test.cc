// Groups of observations: the layers and readers that keys choose, and refusals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/group_shapes.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

EnvSpec camera() {
  EnvSpec spec;
  spec.id = "Camera-v0";
  spec.observation = Space::grouped({{"image", Space::bytes({6, 8, 3})},
                                     {"state", Space::box({-1.0f, -1.0f}, {1.0f, 1.0f})},
                                     {"secret", Space::box({0.0f}, {1.0f})}});
  spec.action = Space::discrete(3);
  return spec;
}

Config with_keys(const Overrides& keys) {
  Config config;
  for (const auto& [key, text] : keys) {
    const Status set = set_config(config, key, text);
    EXPECT_TRUE(set.ok()) << set.message();
  }
  return config;
}

std::string group_refusal(const Overrides& keys, const EnvSpec& spec = camera()) {
  return check_observations(with_keys(keys), spec).message();
}

TEST(Groups, AreOneBoxWithNames) {
  const Space space = camera().observation;
  EXPECT_EQ(space.size, 6 * 8 * 3 + 3);
  EXPECT_EQ(space.low.size(), 147u);
  EXPECT_EQ(space.high[0], 255.0f);
  EXPECT_EQ(shape_text(space), "Dict(image: 6 x 8 x 3; uint8, state: 2, secret: 1)");
  EXPECT_EQ(space.groups[1].first, 144);
  EXPECT_EQ(space.groups[2].first, 146);
  EXPECT_TRUE(same_shape(space, camera().observation));
  Space other = space;
  other.groups[0].name = "picture";
  EXPECT_FALSE(same_shape(space, other));
}

TEST(Groups, HaveTheLayersAndReadersOfTheKeys) {
  const std::vector<GroupShape> usual = group_shapes(with_keys({}), camera());
  ASSERT_EQ(usual.size(), 3u);
  for (const GroupShape& group : usual) {
    EXPECT_EQ(group.encoder, Encoder::kMlp);
    EXPECT_TRUE(group.policy && group.critic && group.widths.empty());
  }
  EXPECT_EQ(usual[0].divisor, 255.0f);
  EXPECT_EQ(usual[1].divisor, 1.0f);
  const std::vector<GroupShape> set = group_shapes(with_keys({{"encoder", "impala"},
                                                              {"group_encoders", "state:mlp/7/5"},
                                                              {"policy_groups", "image,state"}}),
                                                   camera());
  EXPECT_EQ(set[0].encoder, Encoder::kImpala);
  EXPECT_EQ(set[1].widths, (std::vector<int>{7, 5}));
  EXPECT_FALSE(set[2].policy);
  EXPECT_TRUE(set[2].critic);
  EXPECT_TRUE(group_shapes(with_keys({{"policy_groups", "none"}}), camera())[2].policy);
  const NetworkShape shape =
      network_shape(with_keys({{"group_encoders", "image:minatar/9"}}), camera());
  EXPECT_EQ(shape.groups[0].encoder, Encoder::kMinatar);
  EXPECT_EQ(shape.groups[0].widths, std::vector<int>{9});
  EXPECT_EQ(ActorCritic(shape).actor().layers().back().out.size(), 64);
}

TEST(Groups, RefuseWhatNoOneReads) {
  EXPECT_EQ(group_refusal({{"policy_groups", "image"}, {"critic_groups", "image,state"}}),
            "policy_groups, critic_groups: no one reads group 'secret' of Camera-v0; name it in "
            "one of them, or leave it out of the observations (in Python by observation_keys)");
}

TEST(Groups, RefuseNamesThatAreNotThere) {
  EXPECT_EQ(group_refusal({{"policy_groups", "img"}}),
            "policy_groups: got 'img', but the groups of Camera-v0 are image, state, secret; name "
            "one of them");
  EXPECT_EQ(group_refusal({{"group_encoders", "img:nature"}}),
            "group_encoders: got 'img', but the groups of Camera-v0 are image, state, secret; name "
            "one of them");
  EXPECT_EQ(group_refusal({{"critic_groups", "state,state"}}),
            "critic_groups: got 'state' twice; name it once");
}

TEST(Groups, RefuseLayersThatCannotReadThem) {
  for (const char* text : {"image", "image:", "image:big", "state:mlp", "state:straight/4",
                           "state:mlp/0", "state:mlp/", "state:mlp/x"}) {
    EXPECT_NE(
        group_refusal({{"group_encoders", text}}).find(std::string("group_encoders: got '") + text),
        std::string::npos)
        << text;
  }
  EXPECT_EQ(group_refusal({{"group_encoders", "state:nature"}}),
            "group_encoders: group 'state' of Camera-v0 is no image of bytes, which this encoder "
            "needs; give it state:straight or state:mlp/64");
  EXPECT_EQ(group_refusal({{"encoder", "nature"}}),
            "encoder: group 'image' of Camera-v0 is 6 x 8 pixels, expected at least 36 x 36; set "
            "group_encoders = image:minatar");
  EnvSpec vectors = camera();
  vectors.observation = Space::grouped({{"a", Space::box({0.0f}, {1.0f})}});
  EXPECT_NE(
      group_refusal({{"encoder", "nature"}}, vectors).find("expected an image among the groups"),
      std::string::npos);
}

TEST(Groups, RefuseWhatCannotCarryThem) {
  const Overrides apart{{"policy_groups", "image,state"}};
  EXPECT_EQ(group_refusal(apart), "");
  Overrides shared = apart;
  shared.emplace_back("shared_encoder", "true");
  EXPECT_EQ(group_refusal(shared),
            "policy_groups, critic_groups: only the critic reads group 'secret' of Camera-v0, but "
            "shared_encoder = true gives both one body; set shared_encoder = false");
  Overrides pqn = apart;
  pqn.emplace_back("algorithm", "pqn");
  EXPECT_NE(group_refusal(pqn).find("leave these keys out"), std::string::npos);
  EXPECT_EQ(group_refusal({{"algorithm", "pqn"}}), "");
  EXPECT_NE(group_refusal({{"algorithm", "ppo_rnd"}}).find("its predictor reads one array"),
            std::string::npos);
  EnvSpec two = camera();
  two.critic_observation = Space::box({0.0f}, {1.0f});
  EXPECT_NE(group_refusal({}, two).find("make them a group"), std::string::npos);
}

TEST(Groups, OfAnEnvironmentAreChecked) {
  const auto wrong = [&](const auto& change) {
    EnvSpec spec = camera();
    change(spec);
    return describe_environment(spec).message();
  };
  EXPECT_NE(wrong([](EnvSpec& s) { s.observation.groups[1].name = "a b"; }).find("'a b'"),
            std::string::npos);
  EXPECT_NE(wrong([](EnvSpec& s) { s.observation.groups[1].name = "image"; }).find("two groups"),
            std::string::npos);
  EXPECT_NE(wrong([](EnvSpec& s) { s.observation.groups[1].first = 3; }).find("at number 3"),
            std::string::npos);
  EXPECT_NE(wrong([](EnvSpec& s) { s.observation.groups[0].full_scale = 0.0f; }).find("divided"),
            std::string::npos);
  EXPECT_NE(wrong([](EnvSpec& s) { s.observation.groups.pop_back(); }).find("its groups have 146"),
            std::string::npos);
}

TEST(Groups, KeysNeedAnEnvironmentWithGroups) {
  for (const char* key : {"group_encoders", "policy_groups", "critic_groups"}) {
    const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"}, {key, "image"}});
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_NE(config.status().message().find("observations = one array"), std::string::npos)
        << config.status().message();
  }
}

TEST(Groups, OfTurntableTakeNoHiddenNumbers) {
  EXPECT_FALSE(env_spec("Turntable-v0", {{"hide_obs", "1"}}).ok());
}

// Layers see the stacked sizes.
TEST(Groups, MayBeStacks) {
  const Config config = resolve_config({{"env_id", "Turntable-v0"},
                                        {"encoder", "minatar"},
                                        {"env.frame_stack_of", "image:4,turn:2"}})
                            .value();
  const EnvSpec spec = env_spec(config.env_id, config.env_options).value();
  const std::vector<GroupShape> shapes = group_shapes(config, spec);
  EXPECT_EQ(shapes[0].shape.channels, 4);
  EXPECT_EQ(shapes[1].shape.channels, 4);
  EXPECT_EQ(shapes[1].first, 144);
}

}  // namespace
}  // namespace broadloom
