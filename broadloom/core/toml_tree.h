// TOML as a plain tree, which hides the parser's own types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct TomlNode {
  enum class Kind { kTable, kArray, kString, kBool, kInt, kFloat, kDate };

  Kind kind = Kind::kTable;
  std::string key;            // set if the parent is a table
  std::string text;           // value of a string, boolean or number, as parse_text() reads it
  std::vector<TomlNode> all;  // members of a table in the file's order, items of an array
  unsigned line = 0, column = 0;

  bool is_scalar() const {
    return kind != Kind::kTable && kind != Kind::kArray && kind != Kind::kDate;
  }
  bool is(Kind other) const { return kind == other; }
  // The member called `name`; null if there is none.
  const TomlNode* find(std::string_view name) const;
};

// A message's word for the node: "a table", "an array", "a date or time", "a value".
const char* kind_words(const TomlNode& node);

// The path that a string of a TOML file means. One that begins with "./" or "../" is beside this
// file if something is there; otherwise, and for all other strings, the string as it is.
std::string path_in(const std::string& file, const std::string& text);

// The text of a scalar, or of a flat array of scalars as a comma-separated list: [64, 64] is
// "64,64". Strings are read by path_in(). Nothing for other nodes.
std::optional<std::string> value_text(const TomlNode& node, const std::string& file);

// kInvalidConfig, "name:line: message".
Status toml_error(const std::string& name, unsigned line, const std::string& message);

// name: stands for the file name in messages: "name:line: not valid TOML: ...".
Result<TomlNode> parse_toml(std::string_view text, const std::string& name);

// Parses a file of at most 1 MiB. what: the message's word for it, such as "config file". Returns
// kNotFound, kIo or kInvalidConfig.
Result<TomlNode> read_toml(const std::string& path, const std::string& what);

}  // namespace broadloom
