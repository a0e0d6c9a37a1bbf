// The TOML face of the config; the only file that knows toml++.
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
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "broadloom/train/config.h"

namespace broadloom {
namespace {

struct Entry {
  unsigned line = 0;
  unsigned column = 0;
  std::string key;
  std::string text;
  bool is_string = false;
};

Status at(const std::string& name, unsigned line, const std::string& message) {
  return {ErrorKind::kInvalidConfig, name + ":" + std::to_string(line) + ": " + message};
}

const char* type_words(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    default:
      return "a value";
  }
}

// Text of a boolean, integer, float or string; nothing for the other kinds.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return to_text(value->get());
  if (const auto* value = node.as_integer()) return to_text(std::int64_t{value->get()});
  if (const auto* value = node.as_floating_point()) return to_text(value->get());
  if (const auto* value = node.as_string()) return value->get();
  return std::nullopt;
}

// Arrays become comma-separated lists: [64, 64] is "64,64".
std::optional<std::string> node_text(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return scalar_text(node);
  std::string out;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::optional<std::string> item = scalar_text((*array)[i]);
    if (!item) return std::nullopt;
    out += (i > 0 ? "," : "") + *item;
  }
  return out;
}

Status add_table(const toml::table& table, const std::string& prefix, const std::string& name,
                 std::vector<Entry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string full = prefix + std::string(key.str());
    const auto where = node.source().begin;
    if (prefix.empty() && full == "env" && node.is_table()) {
      BROADLOOM_TRY(add_table(*node.as_table(), "env.", name, entries));
      continue;
    }
    const std::optional<std::string> text = node_text(node);
    if (!text) {
      std::string message = full + ": got " + type_words(node);
      message += ", expected a boolean, a number, a string or a flat array of them";
      if (node.is_table()) message += "; the only table is [env]";
      return at(name, where.line, message);
    }
    entries.push_back({where.line, where.column, full, *text, node.is_string()});
  }
  return {};
}

// A quoted number is a slip that TOML's own types let us see.
Status check_quotes(const Entry& entry, const std::map<std::string, std::string>& types) {
  const auto found = types.find(entry.key);
  if (!entry.is_string || found == types.end()) return {};
  if (found->second == "text" || found->second == "choice" || found->second == "names") return {};
  return {ErrorKind::kInvalidConfig, entry.key + ": got the string \"" + entry.text +
                                         "\", expected " + found->second +
                                         " without quotation marks"};
}

Result<Overrides> checked_overrides(std::vector<Entry> entries, const std::string& name) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  std::map<std::string, std::string> types = {{"anneal_lr", "bool"}};
  for (const FieldInfo& field : list_fields(Config{})) types[field.name] = field.type;
  Overrides overrides;
  Config scratch;
  for (Entry& entry : entries) {
    Status status = check_quotes(entry, types);
    if (status.ok()) status = set_config(scratch, entry.key, entry.text);
    if (!status.ok()) return at(name, entry.line, status.message());
    overrides.emplace_back(std::move(entry.key), std::move(entry.text));
  }
  return overrides;
}

}  // namespace

Result<Overrides> parse_toml_overrides(std::string_view text, const std::string& name) {
  std::vector<Entry> entries;
  try {
    const toml::table table = toml::parse(text);
    BROADLOOM_TRY(add_table(table, "", name, entries));
  } catch (const toml::parse_error& error) {
    return at(name, error.source().begin.line,
              "not valid TOML: " + std::string(error.description()));
  }
  return checked_overrides(std::move(entries), name);
}

Result<Overrides> read_toml_overrides(const std::string& path) {
  constexpr std::size_t kLargest = 1 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
    return Status(kind, "cannot open the config file '" + path + "': " + std::strerror(errno));
  }
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof())) {
    return Status(ErrorKind::kIo, "cannot read the config file '" + path + "'");
  }
  if (text.size() > kLargest) {
    return Status(
        ErrorKind::kInvalidConfig,
        "the config file '" + path + "' is larger than 1 MiB, expected a few lines of TOML");
  }
  return parse_toml_overrides(text, path);
}

}  // namespace broadloom
