#include "research/figure/figure_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/core/config_table.h"

namespace broadloom {
namespace {

using Kind = TomlNode::Kind;
using Keys = std::vector<std::string>;

const Keys kFigureKeys = {"title", "note", "columns", "width", "panel_height", "labels", "panels"};
const Keys kPanelKeys = {"kind",      "x_scale",   "y_scale", "x_title",  "y_title",  "x_include",
                         "y_include", "x_order",   "y_order", "x_labels", "y_labels", "lines",
                         "series",    "intervals", "digits",  "best",     "best_by"};
const Keys kSeriesKeys = {"data", "where", "x",         "y",           "value",
                          "low",  "high",  "series_by", "series_names"};
const Keys kLineKeys = {"x", "y", "label"};

Keys together(std::initializer_list<Keys> lists) {
  Keys all;
  for (const Keys& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Status check_keys(const std::string& file, const TomlNode& table, const Keys& keys) {
  for (const TomlNode& node : table.all) {
    if (std::find(keys.begin(), keys.end(), node.key) != keys.end()) continue;
    return toml_error(file, node.line, unknown_key_error("key", node.key, keys).message());
  }
  return {};
}

// The tables of an array of tables, where the key is there at all.
Status check_tables(const std::string& file, const TomlNode& parent, const char* key,
                    const Keys& keys) {
  const TomlNode* list = parent.find(key);
  if (list == nullptr) return {};
  if (!list->is(Kind::kArray)) {
    return toml_error(
        file, list->line,
        fmt::format("{0}: got {1}, expected tables under [[{0}]]", key, kind_words(*list)));
  }
  for (const TomlNode& item : list->all) {
    if (!item.is(Kind::kTable)) {
      return toml_error(file, item.line,
                        fmt::format("{}: got {}, expected a table", key, kind_words(item)));
    }
    BROADLOOM_TRY(check_keys(file, item, keys));
  }
  return {};
}

Status check_panel(const std::string& file, const TomlNode& panel) {
  BROADLOOM_TRY(check_tables(file, panel, "lines", kLineKeys));
  return check_tables(file, panel, "series", together({kSeriesKeys, {"name"}}));
}

Result<double> number_of(const TomlNode& node) {
  double value = 0.0;
  if (!(node.is(Kind::kInt) || node.is(Kind::kFloat)) || !parse_text(node.text, value).ok()) {
    return invalid(fmt::format("got {}, expected a number",
                               node.is_scalar() ? "'" + node.text + "'" : kind_words(node)));
  }
  return value;
}

Result<std::vector<std::string>> texts_of(const TomlNode& node) {
  if (node.is_scalar()) return std::vector<std::string>{node.text};
  std::vector<std::string> out;
  if (node.is(Kind::kArray)) {
    for (const TomlNode& item : node.all) {
      if (!item.is_scalar()) break;
      out.push_back(item.text);
    }
  }
  if (out.empty() || out.size() != node.all.size()) {
    return invalid(fmt::format("got {}, expected a value or a list of values", kind_words(node)));
  }
  return out;
}

}  // namespace

FigureScope FigureScope::inside(const TomlNode& node) const {
  FigureScope inner = *this;
  inner.nodes_.insert(inner.nodes_.begin(), &node);
  return inner;
}

const TomlNode* FigureScope::find(std::string_view key) const {
  for (const TomlNode* node : nodes_) {
    if (const TomlNode* found = node->find(key)) return found;
  }
  return nullptr;
}

Status FigureScope::error(std::string_view key, const std::string& what) const {
  const TomlNode* node = find(key);
  const unsigned line = node != nullptr ? node->line : nodes_.front()->line;
  return toml_error(file_, std::max(line, 1U), fmt::format("{}: {}", key, what));
}

Result<std::string> FigureScope::text(std::string_view key, const std::string& fallback) const {
  const TomlNode* node = find(key);
  if (node == nullptr) return fallback;
  if (!node->is_scalar()) {
    return error(key, fmt::format("got {}, expected a text", kind_words(*node)));
  }
  return node->text;
}

Result<double> FigureScope::number(std::string_view key, double fallback) const {
  const TomlNode* node = find(key);
  if (node == nullptr) return fallback;
  const Result<double> value = number_of(*node);
  if (!value.ok()) return error(key, value.status().message());
  return value.value();
}

Result<std::vector<std::string>> FigureScope::texts(std::string_view key) const {
  const TomlNode* node = find(key);
  if (node == nullptr) return std::vector<std::string>{};
  Result<std::vector<std::string>> values = texts_of(*node);
  if (!values.ok()) return error(key, values.status().message());
  return values;
}

Result<std::vector<double>> FigureScope::numbers(std::string_view key) const {
  std::vector<double> values;
  const TomlNode* node = find(key);
  if (node == nullptr) return values;
  const std::vector<TomlNode> one = {*node};
  for (const TomlNode& item : node->is(Kind::kArray) ? node->all : one) {
    const Result<double> value = number_of(item);
    if (!value.ok()) return error(key, value.status().message());
    values.push_back(value.value());
  }
  return values;
}

Result<FigureScope::Words> FigureScope::words(std::string_view key) const {
  Words out;
  const TomlNode* node = find(key);
  if (node == nullptr) return out;
  for (const TomlNode& item : node->all) {
    if (node->is(Kind::kTable) && item.is_scalar()) out.emplace_back(item.key, item.text);
  }
  if (!node->is(Kind::kTable) || out.size() != node->all.size()) {
    return error(key,
                 fmt::format("got {}, expected words for words, such as {{ \"false\" = \"off\" }}",
                             kind_words(*node)));
  }
  return out;
}

Result<std::vector<FigureScope::Filter>> FigureScope::filters() const {
  std::vector<Filter> out;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const TomlNode* where = nodes_[i]->find("where");
    if (where == nullptr) continue;
    if (!where->is(Kind::kTable)) {
      return toml_error(file_, where->line,
                        fmt::format("where: got {}, expected columns and their values, such as {{ "
                                    "task = \"CartPole-v1\" }}",
                                    kind_words(*where)));
    }
    for (const TomlNode& item : where->all) {
      Result<std::vector<std::string>> values = texts_of(item);
      if (!values.ok()) {
        return toml_error(file_, item.line,
                          fmt::format("where: '{}': {}", item.key, values.status().message()));
      }
      const auto same = std::find_if(out.begin(), out.end(),
                                     [&](const Filter& f) { return f.column == item.key; });
      if (same != out.end()) out.erase(same);
      out.push_back({item.key, values.take(), item.line});
    }
  }
  return out;
}

Status check_figure_keys(const std::string& file, const TomlNode& root) {
  BROADLOOM_TRY(check_keys(file, root, together({kFigureKeys, kPanelKeys, kSeriesKeys})));
  BROADLOOM_TRY(check_panel(file, root));
  BROADLOOM_TRY(check_tables(file, root, "panels", together({kPanelKeys, kSeriesKeys, {"title"}})));
  const TomlNode* panels = root.find("panels");
  if (panels == nullptr) return {};
  for (const TomlNode& panel : panels->all) BROADLOOM_TRY(check_panel(file, panel));
  return {};
}

}  // namespace broadloom
