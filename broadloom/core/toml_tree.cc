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
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/read_file.h"
#include "broadloom/core/toml_tree.h"

namespace broadloom {
namespace {

// toml++ bounds how deep values nest, and not how many parts a key has. Tables within tables are
// destroyed one within another, and so are ours: far too many would overflow the stack.
constexpr int kMostParts = 64;

// Follows a text as far as it takes to count the dots of its keys.
class DotCounter {
 public:
  explicit DotCounter(std::string_view text) : text_(text) {}

  // The first line on which a key, with those around it, has more than kMostParts; 0: none has.
  unsigned line_too_deep() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        take(c);
        ++at_;
      }
      if (static_cast<int>(around_.size()) + dots_ + before_ > kMostParts) return line_;
    }
    return 0;
  }

 private:
  void take(char c) {
    if (c == '\n') ++line_;
    if (c == '.') ++dots_;
    if (c == '\n' || c == ',') dots_ = 0;
    if (c == '{' || c == '[') {
      around_.push_back(dots_);
      before_ += std::exchange(dots_, 0);
    } else if ((c == '}' || c == ']') && !around_.empty()) {
      before_ -= around_.back();
      dots_ = 0;
      around_.pop_back();
    }
  }

  // To behind its end; one of a single line ends with that at the latest.
  void skip_string(char quote) {
    const bool escapes = quote == '"';
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_, 3) == three;
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n' && !is_long) return;
      if (text_[at_] == '\n') ++line_;
      if (escapes && text_[at_] == '\\') {
        if (++at_ < text_.size() && text_[at_] == '\n') --at_;  // a line's end counts above
        continue;
      }
      if (text_[at_] != quote || (is_long && text_.substr(at_, 3) != three)) continue;
      at_ += is_long ? 3 : 1;
      // Up to two more of them belong to the string.
      for (int more = 0; is_long && more < 2 && text_.substr(at_, 1) == three.substr(0, 1);
           ++more) {
        ++at_;
      }
      return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  int dots_ = 0, before_ = 0;  // of the present key, and of those around it
  std::vector<int> around_;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view line_of(std::string_view text, unsigned line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

// The advice for a line whose value is a text without quotes, or a truth with a capital; "" for
// others. toml++ describes them without a cure.
std::string advice_for_bare_text(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string key(trimmed(line.substr(0, equals)));
  std::string_view value = line.substr(equals + 1);
  value = trimmed(value.substr(0, value.find('#')));
  const std::string_view first = trimmed(value.substr(value.starts_with('[') ? 1 : 0)).substr(0, 1);
  const bool is_text = !first.empty() && first.find_first_of("/~_") == 0;
  const bool is_word = !first.empty() && ((first[0] | 0x20) >= 'a' && (first[0] | 0x20) <= 'z');
  if (!is_text && !is_word) return "";
  for (const std::string_view good : {"true", "false", "inf", "nan"}) {
    if (value == good) return "";  // the error is another
  }
  const std::string got = key + ": got " + std::string(value) + ", expected ";
  if (value == "True" || value == "False") {
    return got + (value == "True" ? "true" : "false") + ", without a capital";
  }
  if (value.starts_with('[')) return got + "each text in quotes, as in [\"a\", \"b\"]";
  return got + "a text in quotes: " + key + " = \"" + std::string(value) + "\"";
}

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

std::string path_in(const std::string& file, const std::string& text) {
  const bool is_same_folder = text.starts_with("./");
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty() || (!is_same_folder && !text.starts_with("../"))) return text;
  const std::string path = folder + (is_same_folder ? text.substr(1) : "/" + text);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return text;
  return path.starts_with('/') || path.starts_with('.') ? path : "./" + path;
}

std::optional<std::string> value_text(const TomlNode& node, const std::string& file) {
  if (node.is(TomlNode::Kind::kString)) return path_in(file, node.text);
  if (node.is_scalar()) return node.text;
  if (!node.is(TomlNode::Kind::kArray)) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < node.all.size(); ++i) {
    if (!node.all[i].is_scalar()) return std::nullopt;
    out += (i > 0 ? "," : "") + *value_text(node.all[i], file);
  }
  return out;
}

Status toml_error(const std::string& name, unsigned line, const std::string& message) {
  return {ErrorKind::kInvalidConfig, name + ":" + std::to_string(line) + ": " + message};
}

Result<TomlNode> parse_toml(std::string_view text, const std::string& name) {
  if (const unsigned line = DotCounter(text).line_too_deep(); line > 0) {
    return toml_error(name, line,
                      "got a key of too many parts or too deep a value, expected at most " +
                          std::to_string(kMostParts) + " within each other");
  }
  try {
    return tree_of(toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    const unsigned line = error.source().begin.line;
    const std::string advice = advice_for_bare_text(line_of(text, line));
    return toml_error(
        name, line,
        advice.empty() ? "not valid TOML: " + std::string(error.description()) : advice);
  }
}

Result<TomlNode> read_toml(const std::string& path, const std::string& what) {
  constexpr std::int64_t kLargest = 1 << 20;
  const Result<std::string> text = read_file(path, kLargest, what);
  return text.ok() ? parse_toml(text.value(), path) : text.status();
}

}  // namespace broadloom
