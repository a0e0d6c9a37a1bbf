// The only file that knows toml++.
// toml++ 3.3, where it is compiled from its headers, asserts that a '[' is followed by a key; bad
// input such as "[=" breaks that. Without the assertion, its own check below reports the error.
// clang-format off
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expr) static_assert(true)
#include <toml++/toml.h>
// clang-format on

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <tuple>
#include <utility>

#include "broadloom/core/config_table.h"
#include "broadloom/core/toml_tree.h"

namespace broadloom {
namespace {

TomlNode tree_of(const toml::node& node, const std::string& key);

void add_members(const toml::table& table, TomlNode& out) {
  for (const auto& [key, member] : table) out.all.push_back(tree_of(member, std::string(key)));
  // toml++ sorts by key, but people read their errors from the top.
  std::stable_sort(out.all.begin(), out.all.end(), [](const TomlNode& a, const TomlNode& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
}

TomlNode tree_of(const toml::node& node, const std::string& key) {
  using Kind = TomlNode::Kind;
  TomlNode out;
  out.key = key;
  out.line = node.source().begin.line;
  out.column = node.source().begin.column;
  if (const auto* table = node.as_table()) {
    add_members(*table, out);
  } else if (const auto* array = node.as_array()) {
    out.kind = Kind::kArray;
    for (const toml::node& item : *array) out.all.push_back(tree_of(item, ""));
  } else if (const auto* truth = node.as_boolean()) {
    out.kind = Kind::kBool;
    out.text = to_text(truth->get());
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Kind::kInt;
    out.text = to_text(std::int64_t{integer->get()});
  } else if (const auto* number = node.as_floating_point()) {
    out.kind = Kind::kFloat;
    out.text = to_text(number->get());
  } else if (const auto* text = node.as_string()) {
    out.kind = Kind::kString;
    out.text = text->get();
  } else {
    out.kind = Kind::kDate;
  }
  return out;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view name) const {
  for (const TomlNode& member : all) {
    if (kind == Kind::kTable && member.key == name) return &member;
  }
  return nullptr;
}

const char* kind_words(const TomlNode& node) {
  switch (node.kind) {
    case TomlNode::Kind::kTable:
      return "a table";
    case TomlNode::Kind::kArray:
      return "an array";
    case TomlNode::Kind::kDate:
      return "a date or time";
    default:
      return "a value";
  }
}

std::optional<std::string> value_text(const TomlNode& node) {
  if (node.is_scalar()) return node.text;
  if (!node.is(TomlNode::Kind::kArray)) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < node.all.size(); ++i) {
    if (!node.all[i].is_scalar()) return std::nullopt;
    out += (i > 0 ? "," : "") + node.all[i].text;
  }
  return out;
}

Status toml_error(const std::string& name, unsigned line, const std::string& message) {
  return {ErrorKind::kInvalidConfig, name + ":" + std::to_string(line) + ": " + message};
}

Result<TomlNode> parse_toml(std::string_view text, const std::string& name) {
  try {
    return tree_of(toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    return toml_error(name, error.source().begin.line,
                      "not valid TOML: " + std::string(error.description()));
  }
}

Result<TomlNode> read_toml(const std::string& path, const std::string& what) {
  constexpr std::size_t kLargest = 1 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
    return Status(kind, "cannot open the " + what + " '" + path + "': " + std::strerror(errno));
  }
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof())) {
    return Status(ErrorKind::kIo, "cannot read the " + what + " '" + path + "'");
  }
  if (text.size() > kLargest) {
    return Status(
        ErrorKind::kInvalidConfig,
        "the " + what + " '" + path + "' is larger than 1 MiB, expected a few lines of TOML");
  }
  return parse_toml(text, path);
}

}  // namespace broadloom
