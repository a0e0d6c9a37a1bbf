#include "broadloom/record/json_line.h"

#include <fmt/core.h>

#include <cmath>

namespace broadloom {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

JsonLine& JsonLine::add_raw(std::string_view key, std::string_view json) {
  if (text_.size() > 1) text_ += ", ";
  text_ += quoted(key) + ": ";
  text_ += json;
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, double value) {
  return add_raw(key, std::isfinite(value) ? fmt::format("{}", value) : "null");
}
JsonLine& JsonLine::add(std::string_view key, std::int64_t value) {
  return add_raw(key, fmt::format("{}", value));
}
JsonLine& JsonLine::add(std::string_view key, std::uint64_t value) {
  return add_raw(key, fmt::format("{}", value));
}
JsonLine& JsonLine::add(std::string_view key, bool value) {
  return add_raw(key, value ? "true" : "false");
}
JsonLine& JsonLine::add(std::string_view key, std::string_view value) {
  return add_raw(key, quoted(value));
}

}  // namespace broadloom
