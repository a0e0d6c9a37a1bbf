// Numbers that a table of options may leave out.
#include "broadloom/core/optional_number.h"

#include <gtest/gtest.h>

#include <string>

namespace broadloom {
namespace {

TEST(OptionalNumbers, AreTheirTextAndBack) {
  for (const char* text : {"475", "-1.5", "0", "1e-05"}) {
    OptionalNumber number;
    ASSERT_TRUE(parse_text(text, number).ok()) << text;
    ASSERT_TRUE(number.value.has_value()) << text;
    EXPECT_EQ(to_text(number), text);
  }
  for (const char* text : {"", "none"}) {
    OptionalNumber number{1.0};
    ASSERT_TRUE(parse_text(text, number).ok()) << text;
    EXPECT_FALSE(number.value.has_value()) << text;
    EXPECT_EQ(to_text(number), "");
  }
}

TEST(OptionalNumbers, KeepTheirValueWhereATextIsNone) {
  for (const char* text : {"much", "inf", "nan", "1 2", "None of it"}) {
    OptionalNumber number{1.0};
    EXPECT_FALSE(parse_text(text, number).ok()) << text;
    EXPECT_EQ(number, OptionalNumber{1.0}) << text;
  }
}

}  // namespace
}  // namespace broadloom
