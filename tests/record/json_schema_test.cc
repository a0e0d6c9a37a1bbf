#include "broadloom/record/json_schema.h"

#include <gtest/gtest.h>

#include <string>

namespace broadloom {
namespace {

constexpr const char* kSchema = R"({
  "title": "a test",
  "type": "object",
  "required": ["name", "size"],
  "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "minLength": 2, "maxLength": 4},
    "size": {"type": "integer", "minimum": 1, "maximum": 9},
    "share": {"type": ["number", "null"]},
    "kind": {"enum": ["a", 2]},
    "open": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "list": {"type": "array", "items": {"type": "object", "required": ["x"]}}
  }
})";

TEST(JsonSchema, TakesWhatFits) {
  for (
      const char* json :
      {R"({"name": "ab", "size": 1})", R"({"name": "abcd", "size": 9, "share": null})",
       R"({"name": "abc", "size": 1, "share": 2, "kind": 2, "open": {"y": true}})",
       R"({"name": "abc", "size": 1, "share": 0.5, "kind": "a", "list": [{"x": 1}, {"x": ""}]})"}) {
    const Status status = check_json(json, kSchema);
    EXPECT_TRUE(status.ok()) << json << ": " << status.message();
  }
}

TEST(JsonSchema, NamesTheFirstPlaceThatDoesNotFit) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "not valid JSON"},
      {"3", "got 3, expected object"},
      {R"({"name": "ab"})", "'size' is missing"},
      {R"({"name": 1, "size": 1})", "name: got 1, expected string"},
      {R"({"name": "a", "size": 1})", "at least 2 characters"},
      {R"({"name": "abcde", "size": 1})", "at most 4 characters"},
      {R"({"name": "ab", "size": 1.5})", "size: got 1.5, expected integer"},
      {R"({"name": "ab", "size": 0})", "size: got 0, expected at least 1"},
      {R"({"name": "ab", "size": 10})", "size: got 10, expected at most 9"},
      {R"({"name": "ab", "size": 4294967297})", "size: got 4294967297, expected at most 9"},
      {R"({"name": "ab", "size": 1, "share": "x"})", "expected number or null"},
      {R"({"name": "ab", "size": 1, "kind": 3})", "expected one of [\"a\",2]"},
      {R"({"name": "ab", "size": 1, "other": 3})", "other: is not a key"},
      {R"({"name": "ab", "size": 1, "open": {"y": 1}})", "open.y: got 1, expected boolean"},
      {R"({"name": "ab", "size": 1, "list": [{"x": 1}, {}]})", "list[1]: the key 'x' is missing"},
  };
  for (const auto& [json, words] : cases) {
    const Status status = check_json(json, kSchema);
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << json;
    EXPECT_NE(status.message().find(words), std::string::npos) << json << ": " << status.message();
  }
}

TEST(JsonSchema, KeywordsThatItDoesNotCheckAreRefused) {
  const Status status = check_json("{}", R"({"type": "object", "patternProperties": {}})");
  EXPECT_NE(status.message().find("'patternProperties'"), std::string::npos) << status.message();
  EXPECT_FALSE(check_json("{}", "[").ok());
}

}  // namespace
}  // namespace broadloom
