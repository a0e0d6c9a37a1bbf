// The record of a gradient study.
#include "research/report/gradients_json.h"

#include <gtest/gtest.h>

#include "broadloom/record/json.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

// Two policies differ in their network only if their records do.
TEST(GradientsJson, HasEveryKeyOfTheNetwork) {
  Result<Config> config = resolve_config({{"env_id", "Pendulum-v1"},
                                          {"num_envs", "32"},
                                          {"recurrent", "gru"},
                                          {"recurrent_units", "4"},
                                          {"hidden_sizes", "8,6"},
                                          {"std_min", "0.25"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  GradientStudyReport report;
  report.policy_parameters = 77;
  report.config = config.take();
  const Json json = Json::parse(gradients_json(report, "now", "1", "abc"));
  const Json& policy = json["policy"];
  std::size_t keys = 0;
  for (const FieldInfo& field : list_fields(report.config)) {
    if (field.facts.role != Role::kNetwork) continue;
    EXPECT_TRUE(policy.contains(field.name)) << field.name;
    keys += 1;
  }
  EXPECT_EQ(policy.size(), keys + 1);
  EXPECT_EQ(policy["parameters"].integer<int>(), 77);
  EXPECT_EQ(policy["recurrent"].text(), "gru");
  EXPECT_EQ(policy["recurrent_units"].integer<int>(), 4);
  ASSERT_EQ(policy["hidden_sizes"].size(), 2U);
  EXPECT_EQ(policy["hidden_sizes"].at(1).integer<int>(), 6);
  EXPECT_EQ(policy["std_min"].real(), 0.25);
  EXPECT_TRUE(policy["shared_encoder"].is_boolean());
  EXPECT_FALSE(policy["shared_encoder"].boolean());
}

}  // namespace
}  // namespace broadloom
