#include "broadloom/core/escape.h"

#include <gtest/gtest.h>

#include <string>

namespace broadloom {
namespace {

TEST(Escape, ATerminalReadsTextAndObeysNothing) {
  EXPECT_EQ(terminal_text("a\tb\n"), "a\tb\n");
  EXPECT_EQ(terminal_text("γ = 0.99, 漢字, 🙂"), "γ = 0.99, 漢字, 🙂");
  EXPECT_EQ(terminal_text("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(terminal_text("over\rwritten\x7f\b"), "over\\x0dwritten\\x7f\\x08");
  EXPECT_EQ(terminal_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(terminal_text("\xc2\x9b"
                          "31m"),
            "\\xc2\\x9b31m");  // ESC [ in one character
  EXPECT_EQ(terminal_text("\x9b"
                          "31m"),
            "\\x9b31m");  // and in one byte
  EXPECT_EQ(terminal_text("a\u202e"
                          "b"),
            "a\\xe2\\x80\\xaeb");                              // turns the line round
  EXPECT_EQ(terminal_text("cut \xe2\x82"), "cut \\xe2\\x82");  // half a character
  EXPECT_EQ(terminal_text("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // none of UTF-8
}

TEST(Escape, OneLineHasABlankForABreakAndTheWhiteSpaceAroundIt) {
  EXPECT_EQ(one_line("array([[0., 0.],\n       [0., 0.]])"), "array([[0., 0.], [0., 0.]])");
  EXPECT_EQ(one_line("a \r\n\t b\n"), "a b ");
  EXPECT_EQ(one_line("map='S  F\\nG'\t."), "map='S  F\\nG'\t.");
  EXPECT_EQ(one_line(""), "");
}

TEST(Escape, XmlStaysWellFormed) {
  EXPECT_EQ(xml_text("a]]>b"), "a]]&gt;b");
  EXPECT_EQ(xml_text("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
  EXPECT_EQ(xml_text("a\nb\tγ"), "a\nb\tγ");
  EXPECT_EQ(xml_text(std::string_view("\0\x01\x1b\r\x7f", 5)), "\ufffd\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(xml_text("\xff\uffff"), "\ufffd\ufffd");
}

TEST(Escape, ACellOfMarkdownIsOneCellOfText) {
  EXPECT_EQ(markdown_cell("runs/a"), "runs/a");
  EXPECT_EQ(markdown_cell("12.5 [11.0, 14.0]"), "12.5 [11.0, 14.0]");
  EXPECT_EQ(markdown_cell("a|b\nc\td"), "a\\|b c d");
  EXPECT_EQ(markdown_cell("<img src=x>"), "\\<img src=x\\>");
  EXPECT_EQ(markdown_cell("[x](javascript:y)"), "[x]\\(javascript:y)");
  EXPECT_EQ(markdown_cell("*a* _b_ `c` ~d~ &lt; \\"),
            "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~ \\&lt; \\\\");
  EXPECT_EQ(markdown_cell("a\x1b[0m"), "a\\\\x1b[0m");
}

TEST(Escape, AFieldOfCsvIsNoFormula) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a\"b\n"), "\"a\"\"b\n\"");
  for (const std::string formula : {"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "-dash"}) {
    EXPECT_EQ(csv_field(formula), "'" + formula);
  }
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  for (const std::string number : {"-1.5", "+2", "-1e-05", "-inf", "-", ""}) {
    EXPECT_EQ(csv_field(number), number);
  }
}

TEST(Escape, AWordOfAShellIsOneWord) {
  EXPECT_EQ(shell_word("./lib-1.so"), "./lib-1.so");
  EXPECT_EQ(shell_word("a; rm -rf ~"), "'a; rm -rf ~'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace broadloom
