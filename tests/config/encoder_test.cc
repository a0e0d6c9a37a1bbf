// Defaults that `encoder`, `layer_norm` and `algorithm` set, and refusals of these keys.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

Config resolved(const Overrides& overrides) {
  Result<Config> config = resolve_config(overrides);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

EnvSpec images(int height, int width, int channels) {
  EnvSpec spec;
  spec.id = "Pictures-v0";
  spec.observation = Space::bytes({height, width, channels});
  spec.action = Space::discrete(3);
  return spec;
}

std::string refusal(const Overrides& overrides, const EnvSpec& spec) {
  return check_observations(resolved(overrides), spec).message();
}

TEST(ActionDistribution, NeedsBounds) {
  EnvSpec spec;
  spec.id = "Endless-v0";
  spec.observation = Space::box({0.0f}, {1.0f});
  spec.action = Space::box({-1.0f, 0.0f}, {1.0f, std::numeric_limits<float>::infinity()});
  const auto refused = [&](const std::string& distribution) {
    return check_actions(
               resolved({{"env_id", "Pendulum-v1"}, {"action_distribution", distribution}}), spec)
        .message();
  };
  EXPECT_EQ(refused("gaussian"), "");
  for (const std::string distribution : {"squashed", "beta"}) {
    EXPECT_EQ(refused(distribution),
              "action_distribution = " + distribution +
                  ": it scales actions to the bounds of their Box, but actions of Endless-v0 have "
                  "a bound that is not finite; set action_distribution = gaussian, or give the "
                  "environment finite bounds");
  }
  spec.action.high[1] = 1.0f;
  EXPECT_EQ(refused("beta"), "");
}

TEST(ActionDistribution, SetsTheNumberOfOutputs) {
  EnvSpec spec;
  spec.observation = Space::box({0.0f}, {1.0f});
  spec.action = Space::box({-1.0f, 0.0f}, {1.0f, 1.0f});
  const auto shape = [&](Overrides keys) {
    keys.emplace_back("env_id", "Pendulum-v1");
    return network_shape(resolved(keys), spec);
  };
  EXPECT_EQ(shape({{"action_distribution", "squashed"}}).action_outputs, 2);
  for (const Overrides& keys :
       {Overrides{{"action_distribution", "beta"}}, Overrides{{"std_form", "state_dependent"}}}) {
    EXPECT_EQ(shape(keys).action_outputs, 4);
    EXPECT_EQ(shape(keys).action_size(), 2);
    EXPECT_FALSE(shape(keys).has_log_std());
  }
}

TEST(Encoder, BringsItsPublishedLayersUnlessOthersAreAskedFor) {
  const Config plain = resolved({});
  EXPECT_EQ(plain.hidden_sizes, (std::vector<int>{64, 64}));
  EXPECT_EQ(plain.activation, "tanh");
  const Config nature = resolved({{"encoder", "nature"}});
  EXPECT_EQ(nature.hidden_sizes, (std::vector<int>{512}));
  EXPECT_EQ(nature.activation, "relu");
  const Config own =
      resolved({{"hidden_sizes", "32"}, {"encoder", "minatar"}, {"activation", "elu"}});
  EXPECT_EQ(own.hidden_sizes, (std::vector<int>{32}));
  EXPECT_EQ(own.activation, "elu");
}

TEST(Encoder, RefusesWhatIsNoImageOrTooSmall) {
  EnvSpec numbers = images(1, 1, 1);
  numbers.observation = Space::box({0, 0, 0}, {1, 1, 1});
  EXPECT_NE(refusal({{"encoder", "minatar"}}, numbers).find("expected images"), std::string::npos);
  EXPECT_EQ(refusal({{"encoder", "minatar"}}, images(10, 10, 4)), "");
  EXPECT_EQ(refusal({{"encoder", "nature"}}, images(84, 84, 4)), "");
  const std::string small = refusal({{"encoder", "nature"}}, images(10, 10, 4));
  EXPECT_NE(small.find("10 x 10"), std::string::npos) << small;
  EXPECT_NE(small.find("at least 36 x 36"), std::string::npos) << small;
  EXPECT_NE(refusal({{"encoder", "impala"}, {"layer_norm", "channels"}}, images(10, 10, 4))
                .find("layer_norm"),
            std::string::npos);
  EnvSpec two = images(10, 10, 4);
  two.critic_observation = Space::box({0}, {1});
  EXPECT_NE(refusal({{"encoder", "minatar"}}, two).find("encoder = minatar"), std::string::npos);
}

TEST(Encoder, IsNamedWhereImagesAreReadAsNumbers) {
  EXPECT_NE(encoder_advice(resolved({}), images(10, 10, 4)).find("encoder = minatar"),
            std::string::npos);
  EXPECT_NE(encoder_advice(resolved({}), images(84, 84, 4)).find("encoder = nature"),
            std::string::npos);
  EXPECT_EQ(encoder_advice(resolved({{"encoder", "impala"}}), images(84, 84, 4)), "");
}

TEST(Actions, HardlyReachedByANewPolicyAreNamed) {
  const auto note = [](float low, float high, Overrides overrides) {
    overrides.emplace_back("env_id", "Pendulum-v1");  // whose actions are a Box
    EnvSpec spec;
    spec.id = "Boxes-v0";
    spec.action = Space::box({-1, low}, {1, high});
    return action_range_advice(resolved(overrides), spec);
  };
  EXPECT_NE(note(5, 35, {}).find("action 1 of Boxes-v0 lies in 5 to 35"), std::string::npos);
  EXPECT_NE(note(5, 35, {}).find("stays at a bound"), std::string::npos);
  EXPECT_NE(note(0, 1000, {}).find("small part"), std::string::npos);
  EXPECT_EQ(note(-2, 2, {}), "");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(note(-infinity, infinity, {}), "");
  EXPECT_NE(note(5, infinity, {}).find("stays at a bound"), std::string::npos);
  EXPECT_EQ(note(0, 1, {}), "");
  EXPECT_EQ(note(0, 100, {{"log_std_init", "2"}}), "");
}

TEST(Algorithm, BringsItsDefaultsUnderWhatIsAskedFor) {
  const Config pqn = resolved({{"num_envs", "7"}, {"algorithm", "pqn"}});
  EXPECT_EQ(pqn.num_envs, 7);
  EXPECT_EQ(pqn.num_steps, 64);
  EXPECT_EQ(pqn.layer_norm, "channels");
  EXPECT_EQ(pqn.max_grad_norm, 10.0);
  EXPECT_TRUE(network_shape(pqn, images(10, 10, 4)).action_values);
  EXPECT_FALSE(network_shape(resolved({}), images(10, 10, 4)).action_values);
}

}  // namespace
}  // namespace broadloom
