// Tables of options: a struct names its fields once, and flags, files, help and records follow from
// that list.
//
//   struct LakeOptions {
//     bool is_slippery = true;
//     double success_rate = 1.0 / 3.0;
//     std::string map_name = "4x4";
//
//     template <class Visitor>
//     void visit_fields(Visitor&& v) {
//       v("is_slippery", is_slippery, "Whether the ice deflects a move to either side.");
//       v("success_rate", success_rate, Range{0.0, 1.0}, "Chance of going where one meant to.");
//       v("map_name", map_name, Choices{{"4x4", "8x8"}}, "A built-in map.");
//     }
//   };
//
//   LakeOptions options;
//   Status status = set_field(options, "success_rate", "0.5", "option");
//
// Fields are bool, int, int64, uint64, float, double, string, or a vector of int or string. At this
// level every value is text; readers of files and flags convert their input to text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/key_role.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Both ends are included. An infinite end means that the type is the only limit.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// The only values of a string field, or of the names in a list field.
struct Choices {
  std::vector<std::string> values;  // each once
};

// Facts about one field for help pages, the reference page and the manifest.
struct FieldInfo {
  std::string name;  // the key
  std::string type;  // "int", "float", "bool", "text", "list", "choice", "names"; or a type's own
  std::string value_text;    // parses back to exactly the value it was made from
  std::string default_text;  // value_text of a default-constructed options struct
  std::string range_text;    // "0 to 1", "at least 1", "linear | constant"; empty: anything
  std::string doc;           // one line of help
  KeyFacts facts;            // only for keys of a run; empty for other tables
};

// Pairs of key and text, in the order in which they were given or declared.
using Overrides = std::vector<std::pair<std::string, std::string>>;

// Text of a value. parse_text(to_text(x)) gives x back, bit for bit; doubles use the shortest such
// text.
std::string to_text(bool value);
std::string to_text(int value);
std::string to_text(std::int64_t value);
std::string to_text(std::uint64_t value);
std::string to_text(double value);
std::string to_text(float value);
std::string to_text(const std::string& value);
std::string to_text(const std::vector<int>& value);          // "64,64"; empty list: ""
std::string to_text(const std::vector<std::string>& value);  // "a,b"; empty list: ""

// Parses text. If it is not a value of the type, `out` keeps its value, and kInvalidConfig quotes
// the text and names the expected type. Integers also accept an exact "1e6". Numbers must be
// finite, and may have underscores between digits, as in TOML.
Status parse_text(std::string_view text, bool& out);
Status parse_text(std::string_view text, int& out);
Status parse_text(std::string_view text, std::int64_t& out);
Status parse_text(std::string_view text, std::uint64_t& out);
Status parse_text(std::string_view text, double& out);
Status parse_text(std::string_view text, float& out);
Status parse_text(std::string_view text, std::string& out);
Status parse_text(std::string_view text, std::vector<int>& out);
// Comma-separated names without surrounding blanks; no name may be empty.
Status parse_text(std::string_view text, std::vector<std::string>& out);

// Insertions, deletions, replacements and neighbour swaps between two words. Hyphens and letter
// case do not count. Cost: O(|a| |b|).
int edit_distance(std::string_view a, std::string_view b);

// Another program's name for one of our keys.
struct Alias {
  const char* word;  // theirs
  const char* key;   // ours
};

// The entry of `keys` for which `key` is an alias, otherwise the most similar one. "" if none is
// similar enough to be a typing error.
std::string nearest_key(std::string_view key, const std::vector<std::string>& keys,
                        std::span<const Alias> aliases = {});

// "unknown <what> 'lerning_rate'; did you mean 'learning_rate'?". If no key is near, the message
// lists all keys.
Status unknown_key_error(std::string_view what, std::string_view key,
                         const std::vector<std::string>& keys, std::span<const Alias> aliases = {});

namespace config_table_detail {

template <class T>
constexpr const char* type_name() {
  if constexpr (requires { T::kTypeName; }) return T::kTypeName;
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_integral_v<T>) return "int";
  if constexpr (std::is_floating_point_v<T>) return "float";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "names";
  return "list";
}

std::string range_text(const Range& range);
std::string range_text(const Choices& choices);

// Errors that name the field, and its range if it has one. cause: status of parse_text().
Status field_error(std::string_view name, const Status& cause, const Range& range = {});
Status check_choice(std::string_view name, const std::string& value, const Choices& choices);
// Checks that every value is a choice and occurs only once.
Status check_choices(std::string_view name, const std::vector<std::string>& values,
                     const Choices& choices);
Status range_error(std::string_view name, const std::string& value_text, const Range& range);

template <class T>
Status check_range(std::string_view name, const T& value, const Range& range) {
  const double number = static_cast<double>(value);
  if (number >= range.low && number <= range.high) return {};
  return range_error(name, to_text(value), range);
}

// Sets the field called `key`.
struct Setter {
  std::string_view key;
  std::string_view text;
  bool found = false;
  Status status;

  template <class T>
  void operator()(const char* name, T& field, const Range& range, const char*) {
    if (key != name) return;
    found = true;
    T value{};
    status = parse_text(text, value);
    if (!status.ok()) {
      status = field_error(name, status, range);
      return;
    }
    status = check_range(name, value, range);
    if (status.ok()) field = value;
  }
  template <class T>
  void operator()(const char* name, T& field, const char*) {
    if (key != name) return;
    found = true;
    status = parse_text(text, field);
    if (!status.ok()) status = field_error(name, status);
  }
  void operator()(const char* name, std::string& field, const Choices& choices, const char*) {
    if (key != name) return;
    found = true;
    std::string value(text);
    status = check_choice(name, value, choices);
    if (status.ok()) field = std::move(value);
  }
  void operator()(const char* name, std::vector<std::string>& field, const Choices& choices,
                  const char*) {
    if (key != name) return;
    found = true;
    std::vector<std::string> values;
    status = parse_text(text, values);
    status = status.ok() ? check_choices(name, values, choices) : field_error(name, status);
    if (status.ok()) field = std::move(values);
  }
};

// Lists every field with its present value. list_fields() adds the default texts.
struct Lister {
  std::vector<FieldInfo> fields;

  template <class T>
  void operator()(const char* name, T& field, const Range& range, const char* doc) {
    fields.push_back({name, type_name<T>(), to_text(field), "", range_text(range), doc, {}});
  }
  template <class T>
  void operator()(const char* name, T& field, const char* doc) {
    fields.push_back({name, type_name<T>(), to_text(field), "", "", doc, {}});
  }
  void operator()(const char* name, std::string& field, const Choices& choices, const char* doc) {
    fields.push_back({name, "choice", field, "", range_text(choices), doc, {}});
  }
  void operator()(const char* name, std::vector<std::string>& field, const Choices& choices,
                  const char* doc) {
    fields.push_back({name, "names", to_text(field), "", range_text(choices), doc, {}});
  }
  // Adds facts to the last listed field.
  void describe(const KeyFacts& facts) { fields.back().facts = facts; }
};

// Keeps the first field whose value is outside its range.
struct Checker {
  Status status;

  template <class T>
  void operator()(const char* name, T& field, const Range& range, const char*) {
    if (status.ok()) status = check_range(name, field, range);
  }
  template <class T>
  void operator()(const char*, T&, const char*) {}
  void operator()(const char* name, std::string& field, const Choices& choices, const char*) {
    if (status.ok()) status = check_choice(name, field, choices);
  }
  void operator()(const char* name, std::vector<std::string>& field, const Choices& choices,
                  const char*) {
    if (status.ok()) status = check_choices(name, field, choices);
  }
};

}  // namespace config_table_detail

// Says what the field just visited needs (Need, broadloom/core/key_role.h), to visitors that ask
// for it.
template <class Visitor>
void last_needs(Visitor& visitor, const char* keys, const char* values) {
  if constexpr (requires { visitor.describe(KeyFacts{}); }) {
    KeyFacts facts;
    facts.needs[0] = {keys, values};
    visitor.describe(facts);
  }
}

// Options::aliases(), or none if the table has no such member.
template <class Options>
std::span<const Alias> aliases_of() {
  if constexpr (requires { Options::aliases(); }) return Options::aliases();
  return {};
}

// Name, type, value, default, range and doc of every field, in declared order.
template <class Options>
std::vector<FieldInfo> list_fields(const Options& options) {
  config_table_detail::Lister values;
  Options copy = options;
  copy.visit_fields(values);
  config_table_detail::Lister defaults;
  Options fresh{};
  fresh.visit_fields(defaults);
  for (std::size_t i = 0; i < values.fields.size(); ++i) {
    values.fields[i].default_text = defaults.fields[i].value_text;
  }
  return std::move(values.fields);
}

// Names of the fields, in declared order.
template <class Options>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const FieldInfo& field : list_fields(Options{})) names.push_back(field.name);
  return names;
}

// Sets the field called `key` from text.
//
// Returns kInvalidConfig if there is no such field, if the text is not of the field's type, or if
// the value is outside its range. The struct is then unchanged, and the message names the nearest
// key or the range. `what` is the message's word for a field: "key", "option".
template <class Options>
Status set_field(Options& options, std::string_view key, std::string_view text,
                 std::string_view what = "key") {
  config_table_detail::Setter setter{key, text, false, {}};
  options.visit_fields(setter);
  if (!setter.found) {
    return unknown_key_error(what, key, field_names<Options>(), aliases_of<Options>());
  }
  return setter.status;
}

// kInvalidConfig for the first field whose value is outside its declared range; otherwise ok.
template <class Options>
Status check_fields(const Options& options) {
  config_table_detail::Checker checker;
  Options copy = options;
  copy.visit_fields(checker);
  return checker.status;
}

}  // namespace broadloom
