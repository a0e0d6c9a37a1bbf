// JSON values to build, write and read. Only json.cc includes nlohmann-json, because its header
// costs seconds of compile time per file.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace broadloom {

// Reading a value as another kind, a missing key or a missing element gives null, "", 0 or an empty
// list. Nothing throws.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of insertion

  Json();  // null
  Json(std::nullptr_t);
  Json(bool value);
  Json(double value);  // not finite: written as null
  Json(std::signed_integral auto value) : Json(kSigned, value) {}
  Json(std::unsigned_integral auto value) : Json(kUnsigned, value) {}
  Json(const char* text);
  Json(std::string_view text);
  Json(const std::string& text);
  template <class T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const auto& value : values) push_back(value);
  }
  // A list of {"key", value} pairs is an object, any other an array.
  Json(std::initializer_list<Json> list);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json object();
  // Null if the text is not JSON, is "null", or nests deeper than 200 levels.
  static Json parse(std::string_view text);

  // One line, or indented by that many spaces per level. Bytes that are not UTF-8 are replaced.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_integer() const;   // written without a fraction or an exponent
  bool is_unsigned() const;  // an integer, not negative
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  bool boolean() const;
  const std::string& text() const;
  double real() const;
  template <std::integral T>
  T integer() const {
    return static_cast<T>(bits());
  }

  std::size_t size() const;  // of an array or object
  const Array& elements() const&;
  const Object& members() const&;
  // Copies, so that a loop may run over a temporary's elements.
  Array elements() && { return static_cast<const Json&>(*this).elements(); }
  Object members() && { return static_cast<const Json&>(*this).members(); }
  bool contains(std::string_view key) const;
  const Json& operator[](std::string_view key) const;
  const Json& at(std::size_t index) const;

  // Turns a value of another kind into an object, and adds a missing key.
  Json& operator[](std::string_view key);
  void erase(std::string_view key);
  // Turns a value of another kind into an array.
  void push_back(Json value);
  // Adds a member without searching for the key, which must be new.
  void append(std::string key, Json value);
  // The value of an object's member by index, below size().
  Json& member_at(std::size_t place);

  // Compares numbers by value, and objects without regard to key order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  enum Signed { kSigned };
  enum Unsigned { kUnsigned };
  Json(Signed, std::int64_t value);
  Json(Unsigned, std::uint64_t value);
  std::uint64_t bits() const;  // of an integer; other numbers are truncated

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

}  // namespace broadloom
