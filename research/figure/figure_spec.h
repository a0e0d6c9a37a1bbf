// What a TOML file says of a figure. Keys of a series are looked for in it, then in its panel, then
// at the top of the file, so that what all share is said once; 'where' of all three holds together.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/toml_tree.h"

namespace broadloom {

// A node and those around it, nearest first.
class FigureScope {
 public:
  FigureScope(const std::string& file, const TomlNode& root) : file_(file), nodes_{&root} {}
  FigureScope inside(const TomlNode& node) const;

  // The nearest node that has the key; null where none has it.
  const TomlNode* find(std::string_view key) const;
  // The same of the innermost node alone.
  const TomlNode* own(std::string_view key) const { return nodes_.front()->find(key); }

  // "file:line: ..."; where the key stands nowhere, the line of the innermost node.
  Status error(std::string_view key, const std::string& what) const;

  // Values of keys, or the default where the key stands nowhere. kInvalidConfig: of another kind.
  Result<std::string> text(std::string_view key, const std::string& fallback = "") const;
  Result<double> number(std::string_view key, double fallback) const;
  // A string or number alone is a list of one.
  Result<std::vector<std::string>> texts(std::string_view key) const;
  Result<std::vector<double>> numbers(std::string_view key) const;
  // A table of words: {"0.00025" = "2.5e-4"}, in its order.
  using Words = std::vector<std::pair<std::string, std::string>>;
  Result<Words> words(std::string_view key) const;

  // {column, values} from 'where' of all nodes, the outermost first; a nearer one's column
  // replaces.
  struct Filter {
    std::string column;
    std::vector<std::string> values;
    unsigned line = 0;
  };
  Result<std::vector<Filter>> filters() const;

  const std::string& file() const { return file_; }

 private:
  const std::string& file_;
  std::vector<const TomlNode*> nodes_;
};

// kInvalidConfig, with the line and the nearest key: a key that figures, panels, series or lines do
// not have, and tables where values belong.
Status check_figure_keys(const std::string& file, const TomlNode& root);

}  // namespace broadloom
