#include "broadloom/core/config_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace broadloom {
namespace {

struct LakeOptions {
  bool is_slippery = true;
  int size = 4;
  std::int64_t steps = 100;
  std::uint64_t seed = 1;
  double success_rate = 0.5;
  std::string map_name = "4x4";
  std::string note;
  std::vector<int> sizes = {64, 64};

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("is_slippery", is_slippery, "Ice.");
    v("size", size, Range{1, 100}, "Side.");
    v("steps", steps, Range{0}, "Steps.");
    v("seed", seed, Range{}, "Seed.");
    v("success_rate", success_rate, Range{0.0, 1.0}, "Chance.");
    v("map_name", map_name, Choices{{"4x4", "8x8"}}, "Map.");
    v("note", note, "Anything.");
    v("sizes", sizes, "Widths.");
  }
};

std::string message_of(const Status& status) {
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  return status.message();
}

TEST(ConfigTable, SetsEveryType) {
  LakeOptions options;
  ASSERT_TRUE(set_field(options, "is_slippery", "false").ok());
  ASSERT_TRUE(set_field(options, "size", "8").ok());
  ASSERT_TRUE(set_field(options, "steps", "5e5").ok());
  ASSERT_TRUE(set_field(options, "seed", "18446744073709551615").ok());
  ASSERT_TRUE(set_field(options, "success_rate", "1e-3").ok());
  ASSERT_TRUE(set_field(options, "map_name", "8x8").ok());
  ASSERT_TRUE(set_field(options, "note", " any = thing ").ok());
  ASSERT_TRUE(set_field(options, "sizes", "32, 16").ok());
  EXPECT_FALSE(options.is_slippery);
  EXPECT_EQ(options.size, 8);
  EXPECT_EQ(options.steps, 500000);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.success_rate, 1e-3);
  EXPECT_EQ(options.map_name, "8x8");
  EXPECT_EQ(options.note, " any = thing ");
  EXPECT_EQ(options.sizes, (std::vector<int>{32, 16}));
}

TEST(ConfigTable, UnderscoresStandBetweenDigitsAsInToml) {
  LakeOptions options;
  ASSERT_TRUE(set_field(options, "steps", "10_000").ok());
  EXPECT_EQ(options.steps, 10000);
  ASSERT_TRUE(set_field(options, "success_rate", "0.000_1").ok());
  EXPECT_EQ(options.success_rate, 1e-4);
  ASSERT_TRUE(set_field(options, "sizes", "1_024,64").ok());
  EXPECT_EQ(options.sizes, (std::vector<int>{1024, 64}));
  for (const char* text : {"_1", "1_", "1__0", "1_e5", "_"}) {
    EXPECT_FALSE(set_field(options, "steps", text).ok()) << text;
  }
}

TEST(ConfigTable, MessagesNameTheFieldsOwnRange) {
  LakeOptions options;
  EXPECT_EQ(message_of(set_field(options, "size", "3x")),
            "size: got '3x', expected an integer, 1 to 100");
  EXPECT_EQ(message_of(set_field(options, "steps", "x")),
            "steps: got 'x', expected an integer, at least 0");
  EXPECT_EQ(message_of(set_field(options, "steps", "99999999999999999999")),
            "steps: got '99999999999999999999', expected an integer of at most "
            "9223372036854775807, at least 0");
  EXPECT_EQ(message_of(set_field(options, "seed", "-1")), "seed: got '-1', expected an integer");
}

TEST(ConfigTable, AliasesOfKnownKeysComeBeforeWhatResemblesThem) {
  constexpr Alias kAliases[] = {{"lr", "learning_rate"}, {"step", "num_steps"}};
  EXPECT_EQ(nearest_key("LR", {"learning_rate", "l"}, kAliases), "learning_rate");
  EXPECT_EQ(nearest_key("lr", {"gamma"}, kAliases), "");
  EXPECT_EQ(nearest_key("g", {"dt", "mass", "gravity"}), "gravity");  // the one that begins so
  EXPECT_EQ(nearest_key("m", {"mass", "max_speed"}), "");
  EXPECT_EQ(nearest_key("g", {"dt", "x"}), "");  // nothing of it was typed
  EXPECT_EQ(nearest_key("td", {"dt", "mass"}), "dt");
  EXPECT_EQ(nearest_key("step", {"num_steps", "steps"}, kAliases), "num_steps");
}

TEST(ConfigTable, ErrorsSayGotAndExpectedAndChangeNothing) {
  LakeOptions options;
  EXPECT_EQ(message_of(set_field(options, "size", "0")), "size: got 0, expected 1 to 100");
  EXPECT_EQ(message_of(set_field(options, "steps", "-1")), "steps: got -1, expected at least 0");
  EXPECT_EQ(message_of(set_field(options, "is_slippery", "maybe")),
            "is_slippery: got 'maybe', expected true or false");
  EXPECT_EQ(message_of(set_field(options, "map_name", "8x9")),
            "map_name: got '8x9', expected 4x4 | 8x8; did you mean '8x8'?");
  EXPECT_EQ(options.size, 4);
  EXPECT_EQ(options.steps, 100);
  EXPECT_TRUE(options.is_slippery);
  EXPECT_EQ(options.map_name, "4x4");
}

TEST(ConfigTable, RefusesTextThatIsNotAValue) {
  LakeOptions options;
  for (const char* text : {"", " ", "x", "4x", "1.5", "99999999999", "nan", "inf", "--1", "+-1"}) {
    EXPECT_FALSE(set_field(options, "size", text).ok()) << text;
  }
  for (const char* text : {"", "nan", "inf", "-inf", "1,5", "0.5 x", "1e999"}) {
    EXPECT_FALSE(set_field(options, "success_rate", text).ok()) << text;
  }
  for (const char* text : {"-1", "1.5", "18446744073709551616", "-1e3"}) {
    EXPECT_FALSE(set_field(options, "seed", text).ok()) << text;
  }
  for (const char* text : {",", "64,", ",64", "64,,64", "64;64", "a", "[64"}) {
    EXPECT_FALSE(set_field(options, "sizes", text).ok()) << text;
  }
  EXPECT_EQ(options.sizes, (std::vector<int>{64, 64}));
}

TEST(ConfigTable, UnknownKeyNamesTheNearest) {
  LakeOptions options;
  EXPECT_EQ(message_of(set_field(options, "sucess_rate", "1")),
            "unknown key 'sucess_rate'; did you mean 'success_rate'?");
  EXPECT_EQ(message_of(set_field(options, "slippery", "1")),
            "unknown key 'slippery'; did you mean 'is_slippery'?");
  EXPECT_EQ(message_of(set_field(options, "qqqqqqqq", "1")),
            "unknown key 'qqqqqqqq'; expected one of: is_slippery, size, steps, seed, "
            "success_rate, map_name, note, sizes");
}

TEST(ConfigTable, ListsValuesAndDefaults) {
  LakeOptions options;
  options.success_rate = 0.1;
  const std::vector<FieldInfo> fields = list_fields(options);
  ASSERT_EQ(fields.size(), 8u);
  EXPECT_EQ(fields[0].type, "bool");
  EXPECT_EQ(fields[4].name, "success_rate");
  EXPECT_EQ(fields[4].type, "float");
  EXPECT_EQ(fields[4].value_text, "0.1");
  EXPECT_EQ(fields[4].default_text, "0.5");
  EXPECT_EQ(fields[4].range_text, "0 to 1");
  EXPECT_EQ(fields[5].range_text, "4x4 | 8x8");
  EXPECT_EQ(fields[7].value_text, "64,64");
  EXPECT_EQ(fields[7].doc, "Widths.");
}

struct ToolOptions {
  std::vector<std::string> tools = {"saw"};

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("tools", tools, Choices{{"saw", "awl", "adze"}}, "What to bring.");
  }
};

TEST(ConfigTable, ListsOfNamesAreChecked) {
  ToolOptions options;
  ASSERT_TRUE(set_field(options, "tools", "adze, saw").ok());
  EXPECT_EQ(options.tools, (std::vector<std::string>{"adze", "saw"}));
  for (const char* bad : {"hammer", "saw,,awl", "saw,", ",", "saw,saw", "saw,hammer", "[saw"}) {
    EXPECT_FALSE(set_field(options, "tools", bad).ok()) << bad;
    EXPECT_EQ(options.tools.size(), 2u) << bad;
  }
  const FieldInfo field = list_fields(options)[0];
  EXPECT_EQ(field.type, "names");
  EXPECT_EQ(field.value_text, "adze,saw");
  EXPECT_EQ(field.default_text, "saw");
  EXPECT_EQ(field.range_text, "saw | awl | adze");
  ASSERT_TRUE(set_field(options, "tools", "").ok());
  EXPECT_TRUE(options.tools.empty());
  options.tools = {"saw"};
  ASSERT_TRUE(set_field(options, "tools", " none ").ok());
  EXPECT_TRUE(options.tools.empty());
  EXPECT_TRUE(check_fields(options).ok());
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"none"}, {"none", "saw"}, {"saw"}, {}}) {
    std::vector<std::string> back;
    ASSERT_TRUE(parse_text(to_text(names), back).ok());
    EXPECT_EQ(back, names);
  }
  options.tools = {"hammer"};
  EXPECT_EQ(message_of(check_fields(options)), "tools: got 'hammer', expected saw | awl | adze");
}

TEST(ConfigTable, ChecksStructsThatWereFilledInCode) {
  LakeOptions options;
  EXPECT_TRUE(check_fields(options).ok());
  options.success_rate = 1.5;
  EXPECT_EQ(message_of(check_fields(options)), "success_rate: got 1.5, expected 0 to 1");
  options.success_rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_fields(options).ok());
}

TEST(ConfigTable, DoublesComeBackBitForBit) {
  std::mt19937_64 bits(7);
  int tried = 0;
  while (tried < 20000) {
    const std::uint64_t pattern = bits();
    double value = 0.0;
    std::memcpy(&value, &pattern, sizeof(value));
    if (value - value != 0.0) continue;  // infinities and not-a-numbers
    ++tried;
    double back = 0.0;
    ASSERT_TRUE(parse_text(to_text(value), back).ok()) << to_text(value);
    std::uint64_t back_pattern = 0;
    std::memcpy(&back_pattern, &back, sizeof(back));
    ASSERT_EQ(back_pattern, pattern) << to_text(value);
  }
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(2.5e-4), "0.00025");
}

TEST(ConfigTable, IntegersAndListsComeBack) {
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                   std::numeric_limits<std::int64_t>::max()}) {
    std::int64_t back = 1;
    ASSERT_TRUE(parse_text(to_text(value), back).ok());
    EXPECT_EQ(back, value);
  }
  for (const std::vector<int>& value : {std::vector<int>{}, {7}, {1, -2, 3}}) {
    std::vector<int> back = {9};
    ASSERT_TRUE(parse_text(to_text(value), back).ok());
    EXPECT_EQ(back, value);
  }
}

TEST(EditDistance, CountsSlips) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("num-envs", "num_envs"), 0);
  EXPECT_EQ(edit_distance("num_evns", "num_envs"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

}  // namespace
}  // namespace broadloom
