#include "broadloom/core/escape.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

namespace broadloom {
namespace {

constexpr std::uint32_t kNoCharacter = 0xffffffff;  // a byte that is not of UTF-8

struct Character {
  std::uint32_t code = kNoCharacter;
  std::string_view bytes;
};

// The first character of a text that is not empty.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc2 ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 0;
  const Character wrong{kNoCharacter, text.substr(0, 1)};
  if (size == 0 || size > text.size()) return wrong;
  std::uint32_t code = size == 1 ? lead : lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return wrong;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool is_long = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_half = code >= 0xd800 && code <= 0xdfff;
  if (is_long || is_half || code > 0x10ffff) return wrong;
  return {code, text.substr(0, size)};
}

// Calls take with each character in turn.
template <class Take>
void each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const Character next = first_of(text);
    take(next);
    text.remove_prefix(next.bytes.size());
  }
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code <= 0x9f); }

// Signs that turn the direction of what follows, so that a line reads as another one.
bool turns_direction(std::uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x200e || code == 0x200f || code == 0x61c;
}

std::string in_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
  return out;
}

// With `before` put before every one of `specials`.
std::string with_before(std::string_view text, std::string_view specials, char before) {
  std::string out;
  for (const char c : text) {
    if (specials.find(c) != std::string_view::npos) out += before;
    out += c;
  }
  return out;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string out;
  each_character(text, [&](const Character& c) {
    const bool is_plain =
        c.code == '\n' || c.code == '\t' ||
        (c.code != kNoCharacter && !is_control(c.code) && !turns_direction(c.code));
    out += is_plain ? std::string(c.bytes) : in_hex(c.bytes);
  });
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  each_character(text, [&](const Character& c) {
    const bool is_white = c.code == '\n' || c.code == '\t';
    const bool is_forbidden = c.code == kNoCharacter || (is_control(c.code) && !is_white) ||
                              c.code == 0xfffe || c.code == 0xffff || turns_direction(c.code);
    out += is_forbidden     ? "\ufffd"
           : c.code == '<'  ? "&lt;"
           : c.code == '>'  ? "&gt;"
           : c.code == '&'  ? "&amp;"
           : c.code == '"'  ? "&quot;"
           : c.code == '\'' ? "&#39;"
                            : std::string(c.bytes);
  });
  return out;
}

std::string markdown_cell(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\t', ' ');
  std::string out;
  for (const char c : with_before(terminal_text(line), "\\`*_|<>~&", '\\')) {
    const bool is_link = c == '(' && !out.empty() && out.back() == ']';  // "[words](address)"
    out += is_link ? "\\(" : std::string(1, c);
  }
  return out;
}

std::string csv_field(std::string_view text) {
  std::string field(text);
  const bool is_formula =
      field.size() > 1 && std::string_view("=+-@\t\r").find(field[0]) != std::string_view::npos;
  if (is_formula && !is_number(field)) field = std::string(1, '\'').append(field);
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string one_line(std::string_view text) {
  constexpr std::string_view kBreaks = "\n\v\f\r", kWhite = " \t\n\v\f\r";
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(kWhite));
    text.remove_prefix(word.size());
    const std::string_view white = text.substr(0, text.find_first_not_of(kWhite));
    text.remove_prefix(white.size());
    out += word;
    out += white.find_first_of(kBreaks) == std::string_view::npos ? white : " ";
  }
  return out;
}

std::string shell_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace broadloom
