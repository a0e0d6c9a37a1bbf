// Text from other people's files (names, paths, messages, log lines), escaped: one function for
// each place that it goes to. Each place reads the result as text, whatever its bytes are.
#pragma once

#include <string>
#include <string_view>

namespace broadloom {

// A terminal. Lines and tabs stay. Bytes that a terminal would obey or hide are written as \x1b:
// control characters, signs that turn the direction of writing, bytes that are not UTF-8.
std::string terminal_text(std::string_view text);

// Content and quoted attributes of HTML, SVG and other XML. Characters that XML forbids, and bytes
// that are not UTF-8, become U+FFFD.
std::string xml_text(std::string_view text);

// One cell of a table in Markdown: no cell more, no line more, no markup.
std::string markdown_cell(std::string_view text);

// One field of CSV (RFC 4180). Spreadsheets read a text that begins with = + - @ as a formula: it
// gets a ' before it, unless it is a number or a lone sign.
std::string csv_field(std::string_view text);

// One line: a line break becomes a blank, with the white space around it.
std::string one_line(std::string_view text);

// One word of a shell's command line.
std::string shell_word(std::string_view word);

}  // namespace broadloom
