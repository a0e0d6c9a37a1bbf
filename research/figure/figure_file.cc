#include "research/figure/figure_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "broadloom/core/config_table.h"
#include "research/figure/figure_rows.h"
#include "research/figure/figure_spec.h"

namespace broadloom {
namespace {

template <class T>
struct Choice {
  const char* word;
  T value;
};

template <class T, std::size_t n>
Status choose(const FigureScope& scope, const char* key, const Choice<T> (&choices)[n], T& out) {
  const Result<std::string> word = scope.text(key);
  if (!word.ok()) return word.status();
  if (word.value().empty()) return {};
  std::vector<std::string> words;
  for (const Choice<T>& choice : choices) {
    if (word.value() == choice.word) {
      out = choice.value;
      return {};
    }
    words.emplace_back(choice.word);
  }
  return scope.error(key, unknown_key_error("word", word.value(), words).message());
}

constexpr Choice<FigureKind> kKinds[] = {
    {"lines", FigureKind::kLines}, {"points", FigureKind::kPoints}, {"heat", FigureKind::kHeat}};
constexpr Choice<FigureScale> kScales[] = {{"linear", FigureScale::kLinear},
                                           {"log2", FigureScale::kLog2},
                                           {"log10", FigureScale::kLog10},
                                           {"categories", FigureScale::kCategories}};
constexpr Choice<FigureIntervals> kIntervals[] = {{"bars", FigureIntervals::kBars},
                                                  {"band", FigureIntervals::kBand},
                                                  {"none", FigureIntervals::kNone}};
constexpr Choice<FigureLabels> kLabels[] = {
    {"ends", FigureLabels::kEnds}, {"top", FigureLabels::kTop}, {"none", FigureLabels::kNone}};

// Categories of an axis: those of the order that is asked for, or as they come.
class Categories {
 public:
  Status read(const FigureScope& scope, const std::string& axis) {
    order_key_ = axis + "_order";
    const Result<std::vector<std::string>> order = scope.texts(order_key_);
    if (!order.ok()) return order.status();
    cells_ = order.value();
    fixed_ = !cells_.empty();
    Result<FigureScope::Words> labels = scope.words(axis + "_labels");
    if (!labels.ok()) return labels.status();
    labels_ = labels.take();
    return {};
  }

  Result<std::size_t> index(const std::string& cell, const FigureScope& scope) {
    const auto at = std::find(cells_.begin(), cells_.end(), cell);
    if (at != cells_.end()) return static_cast<std::size_t>(at - cells_.begin());
    if (fixed_) {
      return scope.error(order_key_,
                         fmt::format("lacks '{}', which a row has; add it, or leave the "
                                     "row out with 'where'",
                                     cell));
    }
    cells_.push_back(cell);
    return cells_.size() - 1;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const std::string& cell : cells_) {
      const auto label = std::find_if(labels_.begin(), labels_.end(),
                                      [&](const auto& entry) { return entry.first == cell; });
      out.push_back(label != labels_.end() ? label->second : cell);
    }
    return out;
  }

 private:
  std::string order_key_;
  std::vector<std::string> cells_;
  FigureScope::Words labels_;
  bool fixed_ = false;
};

// One panel, from its scope.
class PanelReader {
 public:
  PanelReader(const FigureScope& scope, FigureTables& tables, std::vector<std::string>& notes)
      : scope_(scope), tables_(tables), notes_(notes) {}

  Result<FigurePanel> read(const TomlNode& node) {
    if (const TomlNode* title = node.find("title")) panel_.title = title->text;
    BROADLOOM_TRY(choose(scope_, "kind", kKinds, panel_.kind));
    BROADLOOM_TRY(choose(scope_, "intervals", kIntervals, panel_.intervals));
    if (panel_.kind == FigureKind::kHeat) {
      panel_.x.scale = panel_.y.scale = FigureScale::kCategories;
    }
    BROADLOOM_TRY(read_axis("x", panel_.x));
    BROADLOOM_TRY(read_axis("y", panel_.y));
    BROADLOOM_TRY(read_lines());
    BROADLOOM_TRY(x_categories_.read(scope_, "x"));
    BROADLOOM_TRY(y_categories_.read(scope_, "y"));
    BROADLOOM_TRY(panel_.kind == FigureKind::kHeat ? read_cells() : read_all_series());
    if (panel_.x.scale == FigureScale::kCategories) panel_.x.categories = x_categories_.names();
    if (panel_.kind == FigureKind::kHeat) panel_.y.categories = y_categories_.names();
    return std::move(panel_);
  }

 private:
  Status read_axis(const std::string& name, FigureAxis& axis) {
    BROADLOOM_TRY(choose(scope_, (name + "_scale").c_str(), kScales, axis.scale));
    const bool heat = panel_.kind == FigureKind::kHeat;
    if (heat != (axis.scale == FigureScale::kCategories) && (heat || name == "y")) {
      return scope_.error(name + "_scale",
                          "got a scale that this kind of panel does not have; expected "
                          "'categories' in heat maps and a scale of numbers for y elsewhere");
    }
    const Result<std::string> title = scope_.text(name + "_title");
    if (!title.ok()) return title.status();
    axis.title = title.value();
    Result<std::vector<double>> include = scope_.numbers(name + "_include");
    if (!include.ok()) return include.status();
    axis.include = include.take();
    for (const double value : axis.include) {
      BROADLOOM_TRY(check_scale(axis.scale, value, scope_.error(name + "_include", "")));
    }
    return {};
  }

  // A logarithmic axis has no place for what is not positive. place: where the value stands.
  static Status check_scale(FigureScale scale, double value, const Status& place) {
    if ((scale != FigureScale::kLog2 && scale != FigureScale::kLog10) || value > 0.0) return {};
    return invalid(fmt::format("{}got {:g}, expected more than 0 on a logarithmic axis",
                               place.message(), value));
  }

  Status read_lines() {
    const TomlNode* lines = scope_.find("lines");
    if (lines == nullptr) return {};
    for (const TomlNode& node : lines->all) {
      const FigureScope line(scope_.file(), node);
      FigureLine out;
      out.vertical = node.find("x") != nullptr;
      if (out.vertical == (node.find("y") != nullptr)) {
        return toml_error(scope_.file(), node.line,
                          "lines: expected one of x = (upright) and y = (level) for each");
      }
      const Result<double> at = line.number(out.vertical ? "x" : "y", 0.0);
      if (!at.ok()) return at.status();
      const Result<std::string> label = line.text("label");
      if (!label.ok()) return label.status();
      out.at = at.value();
      const FigureScale scale = (out.vertical ? panel_.x : panel_.y).scale;
      BROADLOOM_TRY(check_scale(scale, out.at, line.error(out.vertical ? "x" : "y", "")));
      out.label = label.value();
      panel_.lines.push_back(out);
    }
    return {};
  }

  Status read_all_series() {
    const TomlNode* list = scope_.find("series");
    if (list == nullptr) return read_series(scope_, "");
    for (const TomlNode& node : list->all) {
      const TomlNode* name = node.find("name");
      BROADLOOM_TRY(read_series(scope_.inside(node), name != nullptr ? name->text : ""));
    }
    return {};
  }

  Status read_series(const FigureScope& scope, const std::string& name) {
    Result<FigureRows> picked = pick(scope);
    if (!picked.ok()) return picked.status();
    const Result<FigureScope::Words> names = scope.words("series_names");
    if (!names.ok()) return names.status();
    std::map<std::string, std::vector<const FigureRow*>> groups;
    std::vector<std::string> order;
    for (const auto& entry : names.value()) order.push_back(entry.first);
    for (const FigureRow& row : picked.value().rows) {
      if (std::find(order.begin(), order.end(), row.series) == order.end()) {
        order.push_back(row.series);
      }
      groups[row.series].push_back(&row);
    }
    for (const std::string& group : order) {
      if (groups[group].empty()) continue;
      BROADLOOM_TRY(add_series(scope, series_name(name, group, names.value()), groups[group]));
    }
    return {};
  }

  static std::string series_name(const std::string& name, const std::string& group,
                                 const FigureScope::Words& names) {
    std::string word = group;
    for (const auto& [cell, said] : names) {
      if (cell == group) word = said;
    }
    if (name.empty() || word.empty()) return name + word;
    return name + ", " + word;
  }

  Status add_series(const FigureScope& scope, const std::string& name,
                    const std::vector<const FigureRow*>& rows) {
    FigureSeries series;
    series.name = name;
    std::map<double, const FigureRow*> at;
    for (const FigureRow* row : rows) {
      const Result<double> x = x_of(scope, *row);
      if (!x.ok()) return x.status();
      const auto [before, is_new] = at.emplace(x.value(), row);
      if (!is_new && panel_.kind == FigureKind::kLines) {
        return twice(scope, *before->second, *row,
                     fmt::format("series '{}' at x = {}", name, row->x));
      }
      BROADLOOM_TRY(check_scale(panel_.y.scale, row->value.low,
                                invalid(fmt::format("{}:{}: ", row->file, row->line))));
      series.points.push_back({x.value(), row->value});
    }
    if (panel_.kind == FigureKind::kLines) {
      std::sort(series.points.begin(), series.points.end(),
                [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
    }
    panel_.series.push_back(std::move(series));
    return {};
  }

  Result<double> x_of(const FigureScope& scope, const FigureRow& row) {
    if (panel_.x.scale == FigureScale::kCategories) {
      const Result<std::size_t> index = x_categories_.index(row.x, scope);
      if (!index.ok()) return index.status();
      return static_cast<double>(index.value());
    }
    Result<double> value = cell_number(row.x, scope.text("x").value(), row.file, row.line);
    if (!value.ok()) return value.status();
    BROADLOOM_TRY(check_scale(panel_.x.scale, value.value(),
                              invalid(fmt::format("{}:{}: ", row.file, row.line))));
    return value;
  }

  static Status twice(const FigureScope& scope, const FigureRow& first, const FigureRow& second,
                      const std::string& place) {
    return scope.error(
        "where", fmt::format("two rows for {}: {}:{} and {}:{}; leave one out with 'where' or "
                             "part them with 'series_by'",
                             place, first.file, first.line, second.file, second.line));
  }

  Result<FigureRows> pick(const FigureScope& scope) {
    Result<FigureRows> picked = pick_rows(scope, tables_, panel_.kind);
    if (picked.ok()) {
      for (const std::string& note : picked.value().notes) {
        if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      }
    }
    return picked;
  }

  Status read_cells() {
    const Result<FigureRows> picked = pick(scope_);
    if (!picked.ok()) return picked.status();
    const Result<double> digits = scope_.number("digits", 0.0);
    if (!digits.ok()) return digits.status();
    if (digits.value() < 0.0 || digits.value() > 9.0) {
      return scope_.error("digits", "expected 0 to 9");
    }
    panel_.digits = static_cast<int>(digits.value());
    std::map<std::pair<std::size_t, std::size_t>, const FigureRow*> at;
    for (const FigureRow& row : picked.value().rows) {
      const Result<std::size_t> column = x_categories_.index(row.x, scope_);
      if (!column.ok()) return column.status();
      const Result<std::size_t> line = y_categories_.index(row.y, scope_);
      if (!line.ok()) return line.status();
      const auto [before, is_new] = at.emplace(std::pair(column.value(), line.value()), &row);
      if (!is_new) {
        return twice(scope_, *before->second, row, fmt::format("the cell {} / {}", row.x, row.y));
      }
      panel_.cells.push_back({column.value(), line.value(), row.value});
    }
    return mark_best();
  }

  // The best of all cells, of each column (best_by = "x") or of each row ("y").
  Status mark_best() {
    enum class Best { kNone, kLargest, kSmallest } best = Best::kNone;
    enum class By { kAll, kX, kY } by = By::kAll;
    const Choice<Best> bests[] = {
        {"none", Best::kNone}, {"largest", Best::kLargest}, {"smallest", Best::kSmallest}};
    const Choice<By> groups[] = {{"all", By::kAll}, {"x", By::kX}, {"y", By::kY}};
    BROADLOOM_TRY(choose(scope_, "best", bests, best));
    BROADLOOM_TRY(choose(scope_, "best_by", groups, by));
    if (best == Best::kNone) return {};
    std::map<std::size_t, std::vector<FigureCell*>> parts;
    for (FigureCell& cell : panel_.cells) {
      parts[by == By::kX ? cell.column : by == By::kY ? cell.row : 0].push_back(&cell);
    }
    const double sign = best == Best::kLargest ? 1.0 : -1.0;
    for (const auto& [part, cells] : parts) {
      FigureCell* first = cells.front();
      for (FigureCell* cell : cells) {
        if (sign * cell->value.value > sign * first->value.value) first = cell;
      }
      for (FigureCell* cell : cells) {
        cell->best = cell->value.value == first->value.value;
        cell->level = !cell->best && cell->value.low <= first->value.high &&
                      first->value.low <= cell->value.high;
      }
    }
    return {};
  }

  const FigureScope& scope_;
  FigureTables& tables_;
  std::vector<std::string>& notes_;
  FigurePanel panel_;
  Categories x_categories_, y_categories_;
};

Status read_head(const FigureScope& scope, Figure& figure) {
  const Result<std::string> title = scope.text("title"), note = scope.text("note");
  if (!title.ok()) return title.status();
  if (!note.ok()) return note.status();
  if (title.value().empty()) {
    return scope.error("title", "is missing; expected the sentence that the figure shows");
  }
  figure.title = title.value();
  figure.note = note.value();
  const Result<double> columns = scope.number("columns", figure.columns);
  const Result<double> width = scope.number("width", figure.width);
  const Result<double> height = scope.number("panel_height", figure.panel_height);
  for (const Status& status : {columns.status(), width.status(), height.status()}) {
    BROADLOOM_TRY(status);
  }
  if (columns.value() < 1.0 || columns.value() > 12.0) {
    return scope.error("columns", "expected 1 to 12 panels side by side");
  }
  if (width.value() < 200.0 || width.value() > 4000.0) {
    return scope.error("width", "expected 200 to 4,000 pixels");
  }
  if (height.value() < 100.0 || height.value() > 2000.0) {
    return scope.error("panel_height", "expected 100 to 2,000 pixels");
  }
  if (width.value() / columns.value() < 150.0) {
    return scope.error("columns",
                       fmt::format("{} panels side by side would have less than 150 of {} "
                                   "pixels each",
                                   columns.value(), width.value()));
  }
  figure.columns = static_cast<int>(columns.value());
  figure.width = width.value();
  figure.panel_height = height.value();
  return choose(scope, "labels", kLabels, figure.labels);
}

}  // namespace

Result<FigureFile> read_figure(const std::string& path) {
  const Result<TomlNode> root = read_toml(path, "figure");
  if (!root.ok()) return root.status();
  BROADLOOM_TRY(check_figure_keys(path, root.value()));
  const FigureScope scope(path, root.value());
  FigureFile file;
  BROADLOOM_TRY(read_head(scope, file.figure));
  FigureTables tables(path);
  const TomlNode* panels = root.value().find("panels");
  const std::vector<TomlNode> one(1);  // without [[panels]] the top of the file is the only one
  for (const TomlNode& node : panels != nullptr ? panels->all : one) {
    const FigureScope inner = scope.inside(node);
    Result<FigurePanel> panel = PanelReader(inner, tables, file.notes).read(node);
    if (!panel.ok()) return panel.status();
    file.figure.panels.push_back(panel.take());
  }
  const Status styles = set_styles(file.figure);
  if (!styles.ok()) return scope.error("series", styles.message());
  return file;
}

}  // namespace broadloom
