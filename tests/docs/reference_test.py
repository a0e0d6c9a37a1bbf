#!/usr/bin/env python3
"""Tests Doxygen's input filter for the public headers."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "site"))
import doc_comments  # noqa: E402
import reference  # noqa: E402

HEADER = """\
// A box of <T> numbers.
//
//   Box box;
#pragma once

namespace broadloom {

// A heading that stands by itself.

// Holds numbers, of `a<b>` too.
struct Box {
  int size = 0;  // numbers,
                 // at most 9
  double low = 0.0, high = 0.0;  // bounds
  std::string word;

  // Whether it is "{".
  bool is_open() const {
    // Inside: no documentation.
    return word == "{";
  }
  void add(int number);  // one more
  // Takes one away.
  void remove(int number);
  void remove(double number);

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("word", word, Choices{{"a", "b"}}, "The word "
      "of it.");
  }
};

}  // namespace broadloom
"""


class Filter(unittest.TestCase):
    def setUp(self):
        self.lines = doc_comments.filtered(HEADER).split("\n")

    def test_the_top_belongs_to_the_file_with_its_example_as_code(self):
        self.assertEqual(
            self.lines[:4],
            ["/// \\file", "/// A box of \\<T\\> numbers.", "///", "///        Box box;"],
        )

    def test_comments_before_and_behind_declarations_are_special(self):
        text = "\n".join(self.lines)
        for line in (
            "/// Holds numbers, of `a<b>` too.\nstruct Box {",
            "  int size = 0;  ///< numbers,\n                 ///< at most 9",
            "  double low = 0.0;  /**< bounds */\n  double high = 0.0;  ///< bounds",
            '  /// Whether it is "{".\n  bool is_open() const {',
            "  void add(int number);  ///< one more",
        ):
            self.assertIn(line, text)

    def test_overloads_share_a_comment(self):
        self.assertIn("  /** As the one above. */ void remove(double number);", self.lines)

    def test_options_are_told_by_their_help(self):
        self.assertIn("  std::string word;  ///< The word of it.", self.lines)

    def test_all_else_stays_plain(self):
        for line in (
            "// A heading that stands by itself.",
            "    // Inside: no documentation.",
            "}  // namespace broadloom",
        ):
            self.assertIn(line, self.lines)


class Headers(unittest.TestCase):
    def test_each_begins_with_what_it_is_for(self):
        for _, headers in reference.sections():
            for header in headers:
                self.assertRegex(reference.purpose(header), r"^[A-Z].{20,}\.$", header)

    def test_each_has_its_place_on_the_main_page(self):
        page = reference.main_page()
        for _, headers in reference.sections():
            for header in headers:
                self.assertIn(f'\\ref {header} "{header}": ', page)


if __name__ == "__main__":
    unittest.main()
