#include "bridges/mujoco/options.h"

#include <cmath>
#include <utility>

namespace broadloom::mujoco {
namespace {

std::string text_of(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return broadloom::to_text(x);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool read_end(std::string_view text, double& out) {
  const std::string_view word = trimmed(text);
  const std::string_view size =
      !word.empty() && (word[0] == '-' || word[0] == '+') ? word.substr(1) : word;
  if (size != "inf") return broadloom::parse_text(word, out).ok();
  out = word[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  return true;
}

// A file's list has brackets, a flag's has none.
std::string_view without_brackets(std::string_view text) {
  std::string_view body = trimmed(text);
  if (body.size() >= 2 && body.front() == '[' && body.back() == ']') {
    body = body.substr(1, body.size() - 2);
  }
  return body;
}

}  // namespace

std::string to_text(const Interval& value) {
  return text_of(value.low) + "," + text_of(value.high);
}

Status parse_text(std::string_view text, Interval& out) {
  const std::string_view body = without_brackets(text);
  const std::size_t comma = body.find(',');
  Interval read;
  if (comma == std::string_view::npos || !read_end(body.substr(0, comma), read.low) ||
      !read_end(body.substr(comma + 1), read.high) || !(read.low <= read.high)) {
    return invalid(
        "got '" + std::string(text) +
        "', expected two numbers, the lower first, such as 0.7,inf (in a file [0.7, inf])");
  }
  out = read;
  return {};
}

std::string to_text(const Numbers& value) {
  std::string out;
  for (const double x : value.values) {
    if (!out.empty()) out += ',';
    out += broadloom::to_text(x);
  }
  return out;
}

Status parse_text(std::string_view text, Numbers& out) {
  Numbers read;
  for (std::string_view rest = without_brackets(text);;) {
    const std::size_t comma = rest.find(',');
    double x = 0.0;
    if (!broadloom::parse_text(trimmed(rest.substr(0, comma)), x).ok()) {
      return invalid("got '" + std::string(text) +
                     "', expected numbers such as 1,0.5 (in a file [1, 0.5])");
    }
    read.values.push_back(x);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  out = std::move(read);
  return {};
}

}  // namespace broadloom::mujoco
