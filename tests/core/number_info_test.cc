// Names of numbers, some of which are made when a run starts.
#include "broadloom/core/number_info.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

constexpr NumberInfo kDeclared[] = {
    {"loss", "Loss", "nats", "losses/loss"},
    {"epochs", "Epochs", "", kNoTag},
    {"rate/<stratum>", "Rate of <stratum>"},
    {"units/dormant", "Dormant units", "%"},
    {"units/<body>_layer<l>_dormant", "Dormant units of <body>, layer <l>", "%"},
    {"units/<body>_layer<l>_tau_dormant", "Units of <body>, layer <l>, dormant at tau", "%"},
};

std::string found(std::string_view name) {
  const NumberInfo* info = find_number(kDeclared, name);
  return info != nullptr ? title_of(*info, name) : "none";
}

TEST(NumberInfo, TensorBoardHasANumberUnderItsTagOrItsNameOrNotAtAll) {
  EXPECT_EQ(tag_of(kDeclared[0]), "losses/loss");
  EXPECT_EQ(tag_of(kDeclared[1]), "");
  EXPECT_EQ(tag_of(kDeclared[3]), "units/dormant");
}

TEST(NumberInfo, ANumberIsFoundByItsName) {
  EXPECT_EQ(found("loss"), "Loss");
  EXPECT_EQ(found("units/dormant"), "Dormant units");
  for (const char* name : {"", "los", "losses", "Loss", "units/", "units/dormants"}) {
    EXPECT_EQ(found(name), "none") << name;
  }
}

TEST(NumberInfo, AFormIsFoundByANameThatItMakes) {
  EXPECT_EQ(found("rate/hard"), "Rate of hard");
  EXPECT_EQ(found("rate/a/b_<c>"), "Rate of a/b_<c>");
  EXPECT_EQ(found("units/actor_layer12_dormant"), "Dormant units of actor, layer 12");
  for (const char* name : {"rate/", "rate", "units/_layer1_dormant", "units/actor_layer_dormant",
                           "units/actor_layer1", "units/actor_layer1_dormant_"}) {
    EXPECT_EQ(found(name), "none") << name;
  }
}

// Layer "1_tau" would do, too.
TEST(NumberInfo, OfSeveralFormsTheOneThatSaysMostIsMeant) {
  EXPECT_EQ(found("units/actor_layer1_tau_dormant"), "Units of actor, layer 1, dormant at tau");
}

TEST(NumberInfo, ANamedNumberIsItsFormFilledIn) {
  const NamedNumber number(kDeclared[4], {"critic", "2"});
  EXPECT_STREQ(number.info().name, "units/critic_layer2_dormant");
  EXPECT_STREQ(number.info().title, "Dormant units of critic, layer 2");
  EXPECT_STREQ(number.info().unit, "%");
  EXPECT_EQ(tag_of(number.info()), "units/critic_layer2_dormant");
  EXPECT_EQ(NamedNumber(kDeclared[3], {}).name, "units/dormant");
}

}  // namespace
}  // namespace broadloom
