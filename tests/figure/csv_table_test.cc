#include "research/figure/csv_table.h"

#include <gtest/gtest.h>

#include <string>

namespace broadloom {
namespace {

std::string error_of(const std::string& text) {
  const Result<CsvTable> table = parse_csv(text, "a.csv");
  EXPECT_FALSE(table.ok()) << text;
  EXPECT_EQ(table.status().kind(), ErrorKind::kInvalidConfig);
  return table.status().message();
}

TEST(CsvTable, ReadsCellsQuotesAndLineNumbers) {
  const CsvTable table =
      parse_csv("\xEF\xBB\xBFtask,\"a, b\",n\r\nx,\"two\nlines \"\"q\"\"\",1\r\n\ny,,2", "a.csv")
          .take();
  EXPECT_EQ(table.columns, (std::vector<std::string>{"task", "a, b", "n"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].cells, (std::vector<std::string>{"x", "two\nlines \"q\"", "1"}));
  EXPECT_EQ(table.rows[0].line, 2U);
  EXPECT_EQ(table.rows[1].cells, (std::vector<std::string>{"y", "", "2"}));
  EXPECT_EQ(table.rows[1].line, 5U);
}

TEST(CsvTable, AFileOfOneColumnMayHaveEmptyCells) {
  EXPECT_EQ(parse_csv("a\n\n1\n", "a.csv").take().rows.size(), 2U);
}

TEST(CsvTable, SaysInWhichLineAFileIsWrong) {
  EXPECT_NE(error_of("").find("a.csv:1: the file is empty"), std::string::npos);
  EXPECT_NE(error_of("a,b,a\n").find("a.csv:1: two columns are called 'a'"), std::string::npos);
  EXPECT_NE(error_of("a,b\n1,2\n1,2,3\n").find("a.csv:3: got 3 cells, expected 2"),
            std::string::npos);
  EXPECT_NE(error_of("a,b\n1,\"2\n3,4\n").find("a.csv:2: a quote opens"), std::string::npos);
  EXPECT_NE(error_of("a,b\n\"1\"x,2\n").find("a.csv:2: text follows a closing quote"),
            std::string::npos);
}

TEST(CsvColumn, IsACellOrASettingInIt) {
  const CsvTable table =
      parse_csv("arm,other,weight norm\na,gae_lambda=0.9 x=1,3\nb,x=2,4\n", "a.csv").take();
  const CsvColumn norm = CsvColumn::find(table, "weight norm").take();
  EXPECT_EQ(norm.text(table.rows[1]), "4");
  const CsvColumn lambda = CsvColumn::find(table, "other/gae_lambda").take();
  EXPECT_EQ(lambda.text(table.rows[0]), "0.9");
  EXPECT_EQ(lambda.text(table.rows[1]), "");
  EXPECT_EQ(CsvColumn::find(table, "other/x").take().text(table.rows[1]), "2");
}

TEST(CsvColumn, NamesTheNearestOfUnknownOnes) {
  const CsvTable table = parse_csv("arm,evaluation,other\na,1,x=1\n", "a.csv").take();
  const Status slip = CsvColumn::find(table, "evalution").status();
  EXPECT_EQ(slip.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(slip.message().find("unknown column 'evalution'; did you mean 'evaluation'?"),
            std::string::npos);
  EXPECT_NE(CsvColumn::find(table, "other/lambda").status().message().find("'lambda=...'"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
