// Reads config overrides from TOML.
#include <algorithm>
#include <map>
#include <tuple>

#include "broadloom/config/config.h"
#include "broadloom/core/toml_tree.h"

namespace broadloom {
namespace {

struct Entry {
  std::string key;
  std::string text;
  bool is_string = false;
  unsigned line = 0, column = 0;
};

Status add_table(const TomlNode& table, const std::string& prefix, const std::string& name,
                 std::vector<Entry>& entries);

// [strata] is a table of non-empty tables.
Status add_strata(const TomlNode& strata, const std::string& name, std::vector<Entry>& entries) {
  for (const TomlNode& stratum : strata.all) {
    if (!stratum.is(TomlNode::Kind::kTable) || stratum.all.empty()) {
      return toml_error(name, stratum.line,
                        "strata." + stratum.key + ": got " +
                            (stratum.is(TomlNode::Kind::kTable) ? std::string("an empty table")
                                                                : kind_words(stratum)) +
                            ", expected a table [strata." + stratum.key +
                            "] with ranges of constants, such as half_length = [0.4, 0.6]");
    }
    BROADLOOM_TRY(add_table(stratum, "strata." + stratum.key + ".", name, entries));
  }
  return {};
}

Status add_table(const TomlNode& table, const std::string& prefix, const std::string& name,
                 std::vector<Entry>& entries) {
  for (const TomlNode& node : table.all) {
    const std::string full = prefix + node.key;
    const bool is_prefix = full == "env" || full == "disturb";
    if (prefix.empty() && is_prefix && node.is(TomlNode::Kind::kTable)) {
      BROADLOOM_TRY(add_table(node, full + ".", name, entries));
      continue;
    }
    if (prefix.empty() && full == "strata" && node.is(TomlNode::Kind::kTable)) {
      BROADLOOM_TRY(add_strata(node, name, entries));
      continue;
    }
    const std::optional<std::string> text = value_text(node, name);
    if (!text) {
      std::string message = full + ": got " + kind_words(node);
      message += ", expected a boolean, a number, a string or a flat array of them";
      if (node.is(TomlNode::Kind::kTable))
        message += "; the only tables are [env], [disturb] and [strata.<name>]";
      return toml_error(name, node.line, message);
    }
    entries.push_back({full, *text, node.is(TomlNode::Kind::kString), node.line, node.column});
  }
  return {};
}

// A quoted number is a mistake that TOML's types reveal.
Status check_quotes(const Entry& entry, const std::map<std::string, std::string>& types) {
  const auto found = types.find(entry.key);
  if (!entry.is_string || found == types.end()) return {};
  for (const char* text_type :
       {"text", "choice", "names", ShapeSchedule::kTypeName, OptionalNumber::kTypeName}) {
    if (found->second == text_type) return {};
  }
  return {ErrorKind::kInvalidConfig, entry.key + ": got the string \"" + entry.text +
                                         "\", expected " + found->second +
                                         " without quotation marks"};
}

Result<TomlOverrides> checked_overrides(std::vector<Entry> entries, const std::string& name) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  std::map<std::string, std::string> types = {{"anneal_lr", "bool"}};
  for (const FieldInfo& field : list_fields(Config{})) types[field.name] = field.type;
  TomlOverrides checked;
  Config scratch;
  for (Entry& entry : entries) {
    Status status = check_quotes(entry, types);
    if (status.ok()) status = set_config(scratch, entry.key, entry.text);
    if (!status.ok()) return toml_error(name, entry.line, status.message());
    checked.overrides.emplace_back(std::move(entry.key), std::move(entry.text));
    checked.lines.push_back(entry.line);
  }
  return checked;
}

Result<TomlOverrides> table_overrides(const TomlNode& table, const std::string& name) {
  std::vector<Entry> entries;
  BROADLOOM_TRY(add_table(table, "", name, entries));
  return checked_overrides(std::move(entries), name);
}

Result<Overrides> without_lines(Result<TomlOverrides> checked) {
  if (!checked.ok()) return checked.status();
  return std::move(checked.value().overrides);
}

}  // namespace

Result<Overrides> toml_overrides(const TomlNode& table, const std::string& name) {
  return without_lines(table_overrides(table, name));
}

Result<Overrides> parse_toml_overrides(std::string_view text, const std::string& name) {
  const Result<TomlNode> table = parse_toml(text, name);
  if (!table.ok()) return table.status();
  return toml_overrides(table.value(), name);
}

Result<TomlOverrides> read_toml_lines(const std::string& path) {
  const Result<TomlNode> table = read_toml(path, "config file");
  if (!table.ok()) return table.status();
  return table_overrides(table.value(), path);
}

Result<Overrides> read_toml_overrides(const std::string& path) {
  return without_lines(read_toml_lines(path));
}

}  // namespace broadloom
