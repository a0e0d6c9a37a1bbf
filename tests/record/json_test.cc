#include "broadloom/record/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace broadloom {
namespace {

TEST(Json, WritesWhatWasBuiltInTheOrderOfBuilding) {
  const std::vector<std::string> names = {"b", "a"};
  Json json = {{"z", 1}, {"names", names}, {"none", nullptr}, {"yes", true}};
  json["a"]["inner"] = {1.5, "text", Json::object()};
  json["list"].push_back(-3);
  EXPECT_EQ(json.dump(),
            R"({"z":1,"names":["b","a"],"none":null,"yes":true,"a":{"inner":[1.5,"text",{}]},)"
            R"("list":[-3]})");
  EXPECT_EQ(Json({{"a", {1}}}).dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(Json, KeepsNumbersExactly) {
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(2.0).dump(), "2.0");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  for (const char* text :
       {"18446744073709551615", "-9223372036854775808", "0.1", "2.0", "1e+300"}) {
    EXPECT_EQ(Json::parse(text).dump(), text);
  }
  EXPECT_EQ(Json::parse("18446744073709551615").integer<std::uint64_t>(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Json::parse("-7").integer<int>(), -7);
  EXPECT_EQ(Json::parse("2.75").integer<int>(), 2);
  EXPECT_EQ(Json::parse("1e300").integer<int>(), 0);
}

TEST(Json, TellsKindsApart) {
  EXPECT_TRUE(Json::parse("3").is_unsigned());
  EXPECT_FALSE(Json::parse("-3").is_unsigned());
  EXPECT_TRUE(Json::parse("-3").is_integer());
  EXPECT_FALSE(Json::parse("3.0").is_integer());
  EXPECT_TRUE(Json::parse("3.0").is_number());
  EXPECT_FALSE(Json::parse("true").is_number());
  EXPECT_FALSE(Json::parse("\"3\"").is_number());
}

TEST(Json, MissingValuesAreNull) {
  const Json json = Json::parse(R"({"a": {"b": [1]}, "text": "t"})");
  EXPECT_TRUE(json["x"]["y"].is_null());
  EXPECT_TRUE(json["a"]["b"].at(1).is_null());
  EXPECT_EQ(json["a"].text(), "");
  EXPECT_EQ(json["text"].real(), 0.0);
  EXPECT_EQ(json["text"].size(), 0U);
  EXPECT_FALSE(json["text"].contains("t"));
  EXPECT_EQ(json.size(), 2U);  // reading added nothing
}

// The object is destroyed before the loop begins.
TEST(Json, ALoopRunsOverWhatAFunctionGives) {
  const auto make = [] {
    return Json{{"some_key_that_is_no_small_text", std::string(100, 'x')}, {"b", 2}};
  };
  std::string names;
  for (const auto& [key, value] : make().members()) names += key + ";";
  EXPECT_EQ(names, "some_key_that_is_no_small_text;b;");
  std::size_t length = 0;
  const auto list = [] { return Json{std::string(100, 'x'), std::string(50, 'y')}; };
  for (const Json& element : list().elements()) length += element.text().size();
  EXPECT_EQ(length, 150u);
}

TEST(Json, ReadsObjectsOfManyKeys) {
  // A search for each key would take minutes.
  std::string text = "{\"first\":0";
  for (int i = 0; i < 200000; ++i) text += ",\"key" + std::to_string(i) + "\":" + std::to_string(i);
  const Json json = Json::parse(text + ",\"first\":1}");
  ASSERT_EQ(json.size(), 200001u);
  EXPECT_EQ(json.members().front().second, Json(1)) << "the last of equal keys counts";
  EXPECT_EQ(json.members().back().second, Json(199999));
  EXPECT_EQ(json.dump().size(), text.size() + 1);
}

// A search for each key would take minutes.
TEST(Json, ReadsAndComparesObjectsOfManyEqualKeys) {
  constexpr int kKeys = 100000;
  std::string text = "{\"first\":0";
  for (int i = 0; i < 2 * kKeys; ++i) {
    text += ",\"key" + std::to_string(i % kKeys) + "\":" + std::to_string(i);
  }
  const Json json = Json::parse(text + "}");
  ASSERT_EQ(json.size(), kKeys + 1u);
  EXPECT_EQ(json.members()[1].second, Json(kKeys)) << "the last of equal keys counts";
  EXPECT_EQ(json.members().back().second, Json(2 * kKeys - 1));
  EXPECT_EQ(json, Json::parse(json.dump()));
}

TEST(Json, NoJsonIsNull) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1} x", "nan", "'a'"}) {
    EXPECT_TRUE(Json::parse(text).is_null()) << text;
  }
  // Deep nesting must not overflow the stack.
  EXPECT_TRUE(Json::parse(std::string(1000000, '[')).is_null());
  EXPECT_TRUE(Json::parse(std::string(1000, '[') + std::string(1000, ']')).is_null());
}

TEST(Json, ComparesValues) {
  EXPECT_EQ(Json::parse(R"({"a": 1, "b": [2.0]})"), Json::parse(R"({"b": [2], "a": 1.0})"));
  EXPECT_NE(Json::parse(R"({"a": 1})"), Json::parse(R"({"a": 1, "b": null})"));
  EXPECT_NE(Json::parse("[1, 2]"), Json::parse("[2, 1]"));
  EXPECT_NE(Json(-1), Json(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_NE(Json(9007199254740993), Json(9007199254740992));
  EXPECT_NE(Json("1"), Json(1));
  EXPECT_EQ(Json("a"), "a");
}

TEST(Json, ReplacesBytesThatAreNotUtf8) { EXPECT_EQ(Json("a\xff").dump(), "\"a\uFFFD\""); }

}  // namespace
}  // namespace broadloom
