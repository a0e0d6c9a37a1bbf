// Builds one JSON object on one line, keys in the order they are added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom {

class JsonLine {
 public:
  // Doubles take the shortest text that reads back the same; what is not finite becomes null.
  JsonLine& add(std::string_view key, double value);
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, std::uint64_t value);
  JsonLine& add(std::string_view key, int value) { return add(key, std::int64_t{value}); }
  JsonLine& add(std::string_view key, bool value);
  JsonLine& add(std::string_view key, std::string_view value);
  JsonLine& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  // json: the text of a JSON value, put in as it is.
  JsonLine& add_raw(std::string_view key, std::string_view json);

  std::string str() const { return text_ + "}"; }
  std::string line() const { return text_ + "}\n"; }

 private:
  std::string text_ = "{";
};

}  // namespace broadloom
