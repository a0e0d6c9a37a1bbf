// Builds one JSON object on one line, with keys in the order of insertion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom {

class JsonLine {
 public:
  // A double gets the shortest text that parses back to it; not finite: null.
  JsonLine& add(std::string_view key, double value);
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, std::uint64_t value);
  JsonLine& add(std::string_view key, int value) { return add(key, std::int64_t{value}); }
  JsonLine& add(std::string_view key, bool value);
  JsonLine& add(std::string_view key, std::string_view value);
  JsonLine& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  // json: the text of a JSON value, inserted unchanged.
  JsonLine& add_raw(std::string_view key, std::string_view json);

  std::string str() const { return text_ + "}"; }
  std::string line() const { return text_ + "}\n"; }

 private:
  std::string text_ = "{";
};

}  // namespace broadloom
